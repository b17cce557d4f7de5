"""Tables of calls by name, each of which makes what it needs: for misuses and for exercises.  No tests."""

from collections.abc import Callable
from typing import Any

from vocabulary import mirrored_on

import simstrategy as ss

__all__ = ["in_scope", "mirrored", "registering", "using"]

Case = Callable[[], Any]


def registering(cases: dict[str, Case]) -> Callable[[str], Callable[[Case], Case]]:
    """Returns a decorator that takes a name and enters a function under it."""

    def named(name: str) -> Callable[[Case], Case]:
        assert name not in cases, name
        return lambda function: cases.setdefault(name, function)

    return named


def mirrored(replicas: int = 2, **settings: Any) -> ss.Strategy:
    """Returns a strategy on the simulator."""
    return mirrored_on("sim", replicas, **settings)


def using(case: Callable[[ss.Strategy], Any], **settings: Any) -> Case:
    """Returns a case that gets a strategy of its own."""
    return lambda: case(mirrored(**settings))


def in_scope(case: Callable[[ss.Strategy], Any], **settings: Any) -> Case:
    """Returns a case that gets a strategy of its own, whose scope is entered."""

    def entered(strategy: ss.Strategy) -> Any:
        with strategy.scope():
            return case(strategy)

    return using(entered, **settings)
