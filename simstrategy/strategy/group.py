"""The group of one strategy: its devices, and what its replicas and its calls share.

It runs nothing (`running.py`), and it imports neither variables nor replicas: those modules import it.
"""

from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, final

import numpy as np

from simstrategy.device import Array, Backend, Strict, host_array
from simstrategy.run import Coordinator, WatchDraws, path_source
from simstrategy.schedules import Schedule
from simstrategy.strategy.frontend import FrontendBinding
from simstrategy.strategy.kinds import Kind
from simstrategy.strategy.reductions.arithmetic import Reductions
from simstrategy.strategy.requests import RequestCache
from simstrategy.strategy.seeds import Seeds
from simstrategy.strategy.semantics import Semantics
from simstrategy.strategy.variables.registry import VariableRegistry
from simstrategy.trace import Site
from simstrategy.values import LocalValue

if TYPE_CHECKING:
    from simstrategy.data import WatchSteps
    from simstrategy.trace import AnyTrace

__all__ = ["Group", "GroupSettings", "Tracing", "Watches"]


class Tracing(Protocol):
    """A compiled step while it is traced: see `compiling.py`."""

    @property
    def origin(self) -> "Group":
        """The group whose step is traced."""
        ...

    @property
    def group(self) -> "Group":
        """The group that traces it: its one local replica stands for every rank."""
        ...

    @property
    def rank(self) -> Array:
        """The replica's rank, an int32 array [] without a value."""
        ...

    def is_shared(self, value: Any) -> bool:
        """Returns whether all replicas give the very same object to be summed: U-3."""
        ...

    def traced_variable(self, variable: Any) -> Any:
        """Returns the variable of `group` that stands for one of `origin`."""
        ...

    def untraced(self, value: Any) -> Any:
        """Returns the variable of `origin` that a traced one stands for; any other value unchanged."""
        ...


@final
class Watches:
    """What watches the runs of a group; None where nothing does.

    data: returns for each dataset that is distributed what receives its steps. draws: receives the states of the random
    generators of each replica before and after a run, where these are isolated.
    """

    __slots__ = ("data", "draws")

    def __init__(self) -> None:
        self.data: Callable[[], WatchSteps] | None = None
        self.draws: WatchDraws | None = None


class GroupSettings(NamedTuple):
    """Everything with which another group of the same kind can be made; see `opening.Settings`."""

    backend: Backend
    """As it was opened, without checks around it.  The group does not close it."""
    kind: Kind
    semantics: Semantics
    schedule: Schedule
    checks: bool | Literal["paths", "strict"]
    executor: Literal["auto", "greenlet", "thread"]
    trace: "AnyTrace | None"
    seed: int
    wait_limit_s: float | None
    isolate: bool
    watches: Watches


@final
class Group:
    """What the modules of a strategy share.  `spec`, `form` and `source` are the calls of the opened backend itself.

    frontend: the framework's part of the backend, attached.
    """

    owner: object = None
    """The `Strategy` of this group: compared by identity, shown in messages, and given to merge functions."""

    def __init__(self, settings: GroupSettings, *, frontend: FrontendBinding, tracing: Tracing | None = None) -> None:
        backend = settings.backend
        self.seeds = Seeds(settings.seed)
        self.settings = settings
        self.tracing = tracing
        """Where this group traces a step of another group."""
        self.kind = settings.kind
        self.semantics = settings.semantics
        self.backend: Backend = Strict(backend) if settings.checks else backend
        self.coordinator = Coordinator(
            self.backend, trace=settings.trace, checks=settings.checks, wait_limit_s=settings.wait_limit_s
        )
        self.reductions = Reductions(self.backend)
        self.variables = VariableRegistry(self.coordinator)
        self.frontend = frontend
        # What hot paths read, in one look-up each.
        self.local_devices = self.backend.local_devices
        self.num_replicas = len(self.backend.devices)
        self.xp = self.backend.xp
        self.array_types = self.backend.array_types
        self.spec = backend.spec
        self.form: Callable[[Array], object] = backend.spec if backend.forms is None else backend.forms.form
        paths = settings.checks in ("paths", "strict")
        self.source: Callable[[FrameType], Site] = path_source(backend.source) if paths else backend.source
        self.requests = RequestCache(backend, self.reductions, has_collectives=settings.kind.has_collectives)

    def adopt(self, value: Any, index: int, *, dtype: str | None = None) -> Array:
        """Returns an array or host data on local replica `index`'s device; host data is copied.

        dtype: of Python numbers, see `host_array`; arrays keep their own. Raises InvalidArgument and InvalidType for a
        value that is no array.
        """
        device = self.local_devices[index]
        if isinstance(value, self.array_types):
            return value if self.spec(value)[2] == device.placement else self.backend.put(value, device)
        if type(value) is not np.ndarray:
            if isinstance(value, LocalValue):
                return self.adopt(value.here(), index, dtype=dtype)
            composites = self.backend.composites
            if composites is not None and isinstance(value, composites.types):
                return self.backend.put(composites.dense(value), device)
            value = host_array(value, dtype)
        return self.backend.put(value, device)
