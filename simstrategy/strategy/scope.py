"""`strategy.scope()`: makes a strategy current, in its cross-replica context."""

from contextlib import AbstractContextManager
from contextvars import Token
from types import TracebackType
from typing import Any, Generic, TypeVar, final

from simstrategy.errors import ContextError
from simstrategy.not_copied import SCOPE, NotCopied
from simstrategy.strategy.group import Group
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.strategy.modes import MODE, CrossReplica, require_cross_replica

__all__ = ["Scope"]

S = TypeVar("S")


@final
class Scope(NotCopied, Generic[S]):
    """What `strategy.scope()` returns: inside, the strategy is current, in its cross-replica context.

    May be entered again while it is entered. Raises ContextError inside a replica function or another strategy, and
    where it is left before what was entered inside it.
    """

    __slots__ = ("_entered", "_group", "_strategy")
    not_copied = SCOPE

    def __init__(self, strategy: S, group: Group) -> None:
        self._strategy = strategy
        self._group = group
        self._entered: list[tuple[CrossReplica, Token[Any], AbstractContextManager[None]]] = []

    def __enter__(self) -> S:
        require_cross_replica(self._group, "scope")
        # The default strategy is current without a scope: its scope changes nothing.
        mode = CrossReplica(self._group)
        token = MODE.set(MODE.get() if self._group.kind is DEFAULT else mode)
        framework = self._group.frontend.scope()
        framework.__enter__()
        self._entered.append((mode, token, framework))
        return self._strategy

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if not self._entered:
            raise ContextError(f"The scope of {self._strategy!r} was left and not entered. Use it in a with statement.")
        mode, token, framework = self._entered[-1]
        current = MODE.get()
        if self._group.kind is not DEFAULT and current is not mode:
            raise ContextError(
                f"Scope nesting error: the scope of {self._strategy!r} was left while "
                f"{'nothing' if current is None else repr(current.group.owner)} is current. Leave what was entered "
                f"inside it first, in the thread that entered it."
            )
        self._entered.pop()
        framework.__exit__(None, None, None)
        MODE.reset(token)
