"""Modes: which strategy is current where, and whether a replica runs.

A mode has a strategy and, where a replica runs, its context: then the mode is that context. Where no mode was
entered, the default strategy is current: `current.py` makes it. What replicas do is in `context.py`.
"""

from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Final, final

from simstrategy.errors import ContextError
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.values import MODE as CURRENT

if TYPE_CHECKING:
    from simstrategy.strategy.context import Mode
    from simstrategy.strategy.engine import Engine
    from simstrategy.strategy.strategy import Strategy

__all__ = [
    "MODE",
    "CrossReplica",
    "Scope",
    "current_mode",
    "engine_here",
    "enter_mode",
    "leave_mode",
    "require_cross_replica",
    "require_library_context",
]


@final
class CrossReplica:
    """The mode of a strategy's scope, of merge functions and of updates: no replica runs."""

    __slots__ = ("engine", "index", "permanent", "strategy", "updating")
    replica = None
    takes_captured = False

    def __init__(
        self,
        strategy: "Strategy",
        *,
        engine: "Engine | None" = None,
        permanent: bool = False,
        updating: int | None = None,
    ) -> None:
        self.strategy = strategy
        self.engine = strategy.extended.engine if engine is None else engine
        self.permanent = permanent
        """Whether it was set, and not entered: it ends only where another is set."""
        self.updating = updating
        """In the function of an update, the local replica whose component is updated."""
        self.index = 0 if updating is None else updating


MODE: Final[ContextVar["Mode | None"]] = CURRENT
"""The one contextvar: hot paths ask it themselves."""


def current_mode() -> "Mode | None":
    """Returns the current mode, or None where no strategy is current."""
    return MODE.get()


def enter_mode(mode: "Mode | None") -> "Token[Mode | None]":
    """Makes a mode, or none, current until `leave_mode` gets the token back."""
    return MODE.set(mode)


def leave_mode(token: "Token[Mode | None]") -> None:
    """Goes back to the mode before `enter_mode`."""
    MODE.reset(token)


def engine_here(engine: "Engine") -> "Engine":
    """Returns the engine that traces a step of this one's strategy, where one does, else itself."""
    mode = MODE.get()
    tracing = None if mode is None else mode.engine.tracing
    return engine if tracing is None or tracing.origin is not engine else tracing.engine


@final
class Scope:
    """What `strategy.scope()` returns: inside, the strategy is current, in its cross-replica context."""

    __slots__ = ("_entered", "_strategy")

    def __init__(self, strategy: "Strategy") -> None:
        self._strategy = strategy
        self._entered: list[tuple[CrossReplica, Token[Mode | None], AbstractContextManager[None]]] = []

    def __enter__(self) -> "Strategy":
        require_cross_replica(self._strategy, "scope")
        # The default strategy is what is current without a scope: its own scope changes nothing.
        mode = CrossReplica(self._strategy)
        token = MODE.set(MODE.get() if mode.engine.kind is DEFAULT else mode)
        framework = mode.engine.framework.scope()
        framework.__enter__()
        self._entered.append((mode, token, framework))
        return self._strategy

    def __exit__(self, *_: object) -> None:
        if not self._entered:
            raise ContextError(f"The scope of {self._strategy!r} was left and not entered. Use it in a with statement.")
        mode, token, framework = self._entered[-1]
        current = MODE.get()
        if mode.engine.kind is not DEFAULT and current is not mode:
            raise ContextError(
                f"Scope nesting error: the scope of {self._strategy!r} was left while "
                f"{'nothing' if current is None else repr(current.strategy)} is current. Leave what was entered inside "
                f"it first, in the thread that entered it."
            )
        self._entered.pop()
        framework.__exit__(None, None, None)
        MODE.reset(token)


def require_cross_replica(strategy: "Strategy", method: str) -> None:
    """Raises ContextError inside a replica function, and under another strategy."""
    mode = MODE.get()
    if mode is None:
        return
    if mode.strategy is not strategy:
        raise ContextError(
            f"Mixing different strategies: {method} of {strategy!r} was called while {mode.strategy!r} is current. "
            f"Leave the other strategy's scope first."
        )
    if mode.replica is not None:
        raise ContextError(
            f"Method requires being in cross-replica context: {method} was called inside replica "
            f"{mode.replica.replica_id_in_sync_group}. Use get_replica_context().merge_call()."
        )


def require_library_context(strategy: "Strategy", method: str) -> None:
    """Raises ContextError like `require_cross_replica`, and outside a scope where the semantics want one."""
    require_cross_replica(strategy, method)
    if MODE.get() is None and strategy.extended.engine.semantics.outside_scope == "refuse":
        raise ContextError(
            f'Need to be inside "with strategy.scope()" for {strategy!r}: {method} was called outside. Enter the '
            f"scope, or use Semantics.TF1_15 or TF2, which do not ask for it."
        )
