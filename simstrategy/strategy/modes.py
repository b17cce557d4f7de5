"""Modes: which strategy is current where, and whether a replica runs.

A mode belongs to a group. While a replica runs, its context is the mode: see `replica.py`. Where no mode was entered,
the default strategy is current: see `current.py`.
"""

from contextvars import ContextVar, Token
from typing import Final, Protocol, final

from simstrategy.errors import CannotCompile, ContextError
from simstrategy.run import Suspend
from simstrategy.strategy.group import Group
from simstrategy.values import MODE as CURRENT

__all__ = [
    "MODE",
    "CrossReplica",
    "Mode",
    "Replica",
    "active_group",
    "current_mode",
    "enter_mode",
    "leave_mode",
    "require_cross_replica",
    "require_each_replica",
    "require_library_context",
    "stale_context",
    "takes_captured",
]


class Replica(Protocol):
    """A running replica; see `replica.ReplicaContext`."""

    @property
    def group(self) -> Group: ...
    @property
    def index(self) -> int:
        """The replica's place among this process's."""
        ...

    @property
    def suspend(self) -> Suspend: ...
    @property
    def replica_id_in_sync_group(self) -> int: ...


class Mode(Protocol):
    """What is current: `CrossReplica`, or a replica's context."""

    @property
    def group(self) -> Group: ...
    @property
    def home(self) -> Group | None:
        """The group where a replica runs, else None: variables of this group read the replica's component."""
        ...

    @property
    def replica(self) -> Replica | None: ...
    @property
    def suspend(self) -> Suspend | None:
        """The replica's, where one runs."""
        ...

    @property
    def index(self) -> int:
        """The local replica that runs, or whose component is updated; else 0."""
        ...

    @property
    def takes_captured(self) -> bool:
        """Whether a captured PerReplica value stands for this replica's component."""
        ...

    @property
    def updating(self) -> int | None:
        """In the function of an update, the local replica whose component is updated."""
        ...


@final
class CrossReplica:
    """The mode of a strategy's scope, of merge functions and of updates: no replica runs."""

    __slots__ = ("group", "index", "permanent", "updating")
    home = None
    replica = None
    suspend = None
    takes_captured = False

    def __init__(self, group: Group, *, permanent: bool = False, updating: int | None = None) -> None:
        self.group = group
        self.permanent = permanent
        """Whether it was set, and not entered: it ends only where another is set."""
        self.updating = updating
        self.index = 0 if updating is None else updating


MODE: Final[ContextVar[Mode | None]] = CURRENT
"""The one contextvar: hot paths read it directly."""


def current_mode() -> Mode | None:
    """Returns the current mode, or None where no strategy is current."""
    return MODE.get()


def enter_mode(mode: Mode | None) -> Token[Mode | None]:
    """Makes a mode, or none, current until `leave_mode` receives the token."""
    return MODE.set(mode)


def leave_mode(token: Token[Mode | None]) -> None:
    """Restores the mode before `enter_mode`."""
    MODE.reset(token)


def active_group(group: Group) -> Group:
    """Returns the group that traces a step of this one, where one does, else the group itself."""
    mode = MODE.get()
    tracing = None if mode is None else mode.group.tracing
    return group if tracing is None or tracing.origin is not group else tracing.group


def name_of(replica: Replica) -> str:
    """Returns "replica 3", for messages.  While a step is traced, one replica stands for all, and has no number."""
    return f"replica {replica.replica_id_in_sync_group}" if replica.group.tracing is None else "every replica"


def require_cross_replica(group: Group, method: str) -> None:
    """Raises ContextError inside a replica function, and under another strategy."""
    mode = MODE.get()
    if mode is None:
        return
    if mode.group.owner is not group.owner:
        raise ContextError(
            f"Mixing different strategies: {method} of {group.owner!r} was called while {mode.group.owner!r} is "
            f"current. Leave the other strategy's scope first."
        )
    if mode.replica is not None:
        raise ContextError(
            f"Method requires being in cross-replica context: {method} was called inside {name_of(mode.replica)}. "
            f"Use get_replica_context().merge_call()."
        )


def require_library_context(group: Group, method: str) -> None:
    """Raises ContextError like `require_cross_replica`, and outside a scope where the semantics require one."""
    require_cross_replica(group, method)
    if MODE.get() is None and group.semantics.outside_scope == "refuse":
        raise ContextError(
            f'Need to be inside "with strategy.scope()" for {group.owner!r}: {method} was called outside. Enter the '
            f"scope, or use Semantics.TF1_15 or TF2, which do not ask for it."
        )


def require_each_replica(group: Group, what: str) -> None:
    """Raises CannotCompile while a step of a group is traced, which stands for all replicas.

    what: what was asked for, of which each replica has another one.
    """
    if active_group(group) is not group:
        raise CannotCompile(
            f"A compiled step takes {what}, of which each replica has one, and it stands for all replicas. Reduce or "
            f"gather the value, or take them after the run."
        )


def takes_captured(group: Group) -> bool:
    """Returns whether the semantics take a captured PerReplica value for the component of the replica that runs.

    Raises CannotCompile while a step is traced, which stands for all replicas and has no component.
    """
    if group.tracing is not None:
        raise CannotCompile(
            "A compiled step uses a PerReplica value that it has captured, of which each replica has another "
            "component. Pass it as an argument of the step."
        )
    return group.semantics.captured_per_replica == "component"


def stale_context(context: Replica, method: str) -> ContextError:
    """Returns the error for a call on a replica's context that is not the current one."""
    mode = MODE.get()
    if mode is None or mode.replica is None:
        return ContextError(
            f"Need to be inside the replica function: {method} was called on the context of {name_of(context)}, and "
            f"no replica runs here. Ask get_replica_context() inside run."
        )
    if mode.group.owner is not context.group.owner:
        return ContextError(
            f"Mismatching strategies: {method} was called on a context of {context.group.owner!r} inside "
            f"{mode.group.owner!r}. Ask get_replica_context() anew."
        )
    return ContextError(
        f"Mismatching ReplicaContext: {method} was called on the context of {name_of(context)} inside "
        f"{name_of(mode.replica)}. Ask get_replica_context() anew in each replica."
    )
