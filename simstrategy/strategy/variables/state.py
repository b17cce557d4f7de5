"""The state of a variable, which everything that reads or writes one shares.

`variable.py` has the public face; what may be done with a state is in `policies.py`, `cross_replica.py` and
`write_checks.py`.
"""

from typing import Final, NoReturn, final

from simstrategy.device import Array, Cell
from simstrategy.errors import ContextError
from simstrategy.strategy.enums import VariableAggregation, VariableSynchronization
from simstrategy.strategy.group import Group
from simstrategy.strategy.modes import current_mode
from simstrategy.strategy.reductions.arithmetic import MEAN_DTYPES
from simstrategy.strategy.variables.identity import VariableIdentity
from simstrategy.strategy.variables.policies import Policy
from simstrategy.strategy.variables.storage import Storage
from simstrategy.trace import Request, Site

__all__ = ["VariableState", "expose", "refuse_copy", "variable_request"]

_KINDS: Final = ("assign", "assign_add", "assign_sub")


@final
class VariableState:
    """The settings of one variable, and its storage.

    policy, name, synchronization, aggregation, trainable, shape, dtype: as the variable was made. cells: its storage on
    this process's devices, in rank order; one cell where the replicas share it. identity: what requests name it by.
    """

    __slots__ = (
        *(
            "aggregation",
            "dtype",
            "forms",
            "group",
            "home",
            "identity",
            "is_reducible",
            "name",
            "policy",
            "requests",
            "shape",
            "storage",
        ),
        *("synchronization", "trainable"),
    )

    def __init__(
        self,
        group: Group,
        policy: Policy,
        name: str,
        synchronization: VariableSynchronization,
        aggregation: VariableAggregation,
        trainable: bool,
        shape: tuple[int, ...],
        dtype: str,
        cells: tuple[Cell, ...],
        identity: VariableIdentity,
    ) -> None:
        self.group = group
        self.policy = policy
        self.name = name
        self.identity = identity
        self.synchronization = synchronization
        self.aggregation = aggregation
        self.trainable = trainable
        self.shape = shape
        self.dtype = dtype
        self.storage = Storage(group, cells, identity)
        self.home = None if policy.layout == "shared" else group
        """The group whose replicas each have a component; None where they share one."""
        self.forms = self._plain_forms()
        """The form of the array that each local replica may write without further checks, or None for none; see
        docs/caches.md."""
        alone = len(group.backend.devices) == 1
        self.is_reducible = dtype != "bool" and (
            aggregation is not VariableAggregation.MEAN or alone or dtype not in MEAN_DTYPES
        )
        """Whether the sum or mean of replicas' values has the variable's dtype."""
        self.requests = {kind: variable_request(self, kind, aggregation.value) for kind in _KINDS}
        """The request of a write in a replica function, by its kind: one object, quickly compared."""

    @property
    def components(self) -> tuple[Array, ...]:
        """The components of this process's replicas, [shape] each, in rank order; one, where the replicas share it."""
        return tuple(cell.read() for cell in self.storage.cells)

    @property
    def cell(self) -> Cell:
        """The running replica's storage, outside replicas the first one's: for frontends, which write by `assign`."""
        mode = current_mode()
        return self.storage.cells[0 if mode is None or self.home is None or mode.home is not self.home else mode.index]

    def description(self) -> str:
        """Returns the text that names the variable: its repr."""
        devices = self.group.local_devices[: len(self.storage.cells)]
        return (
            f"<Variable {self.name!r} {self.dtype}{list(self.shape)} {self.synchronization.name}, aggregation "
            f"{self.aggregation.name}, on {', '.join(device.placement for device in devices[:4])}"
            f"{', …' if len(devices) > 4 else ''}>"
        )

    def on(self, group: Group, cell: Cell) -> "VariableState":
        """Returns the state of a variable that stands for this one while a step is traced.

        group: the one that traces. cell: holds every rank's component.
        """
        settings = (self.synchronization, self.aggregation, self.trainable, self.shape, self.dtype)
        other = VariableState(group, self.policy, self.name, *settings, (cell,), self.identity)
        other.home = group
        return other

    def _plain_forms(self) -> tuple[object, ...]:
        group, cells = self.group, self.storage.cells
        if self.policy.replica_write != "reduce" or len(cells) != len(group.local_devices):
            return (None,) * len(group.local_devices)
        if group.form != group.spec:
            return tuple([group.form(cell.read()) for cell in cells])
        return tuple([(self.shape, self.dtype, device.placement) for device in group.local_devices])


def refuse_copy(state: VariableState) -> NoReturn:
    """Raises ContextError: a variable is one object of its strategy."""
    raise ContextError(
        f"Variable {state.name!r} is its strategy's, and is neither copied nor pickled. Make another one that begins "
        f"with its value, Variable(variable), or keep its value: strategy.save([variable])."
    )


def expose(state: VariableState, cell: Cell, site: Site) -> None:
    """Notes that a program takes a component's variable of the framework, which it may write to.

    A cell whose `native` is its value, of a kind that cannot be written to, changes nothing. site: the program's.
    """
    group = state.group
    is_value = not group.backend.capabilities.mutable_arrays and cell.native is cell.read()
    if state.policy.layout == "mirrored" and group.num_replicas > 1 and not is_value:
        state.storage.expose()
        group.variables.expose(state, site)


def variable_request(state: VariableState, kind: str, op: str | None = None) -> Request:
    """Returns the request of a call on a variable."""
    return Request(kind, op, None, state.identity, None, ((state.shape, state.dtype),))
