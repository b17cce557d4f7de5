"""Runs the body of a test on every replica of a simulated strategy.

Of a test that Hypothesis draws for, the inner function is run so: each example is drawn once, and all replicas get it.
"""

import functools
import inspect
from collections.abc import Callable
from contextlib import closing
from types import TracebackType
from typing import Any, cast

import pytest

from simstrategy import PerReplica, Strategy
from simstrategy.testing import World

__all__ = ["call_on_replicas"]


def call_on_replicas(item: pytest.Function, parameter: str) -> None:
    """Calls the test's function on each replica of as many as its parameter `world` names.

    The exception of a replica is raised, with the note that names the replica and without the frames of the strategy.
    """
    __tracebackhide__ = True
    body = item.obj
    given = {name: item.funcargs[name] for name in inspect.signature(body).parameters if name in item.funcargs}
    handle = getattr(body, "hypothesis", None)
    if handle is None:
        _spread(body, parameter)(**given)
        return
    inner = handle.inner_test
    handle.inner_test = _spread(inner, parameter)
    try:
        body(**given)
    finally:
        handle.inner_test = inner


def _spread(body: Callable[..., Any], parameter: str) -> Callable[..., None]:
    """Returns a function that calls a body on every replica, in place of calling it once."""

    @functools.wraps(body)
    def on_every_replica(*positional: Any, **arguments: Any) -> None:
        __tracebackhide__ = True
        count = arguments.pop(parameter)
        worlds = PerReplica(tuple(World(rank, count) for rank in range(count)))
        with closing(Strategy.mirrored("sim", replicas=count, checks="paths")) as strategy:
            try:
                # Bound, and not given to `run`: that takes nests apart, and what a test receives stays one object.
                bound = functools.partial(body, *positional, **arguments)
                returned = strategy.run(bound, kwargs={parameter: worlds})
            except Exception as error:  # noqa: BLE001 - whatever the body raises goes on
                raise error.with_traceback(_from(body, error.__traceback__)) from error.__cause__
        if returned is not None:
            pytest.fail(f"The test returned {returned!r}: a test returns nothing.", pytrace=False)

    return on_every_replica


def _from(body: Callable[..., Any], trace: TracebackType | None) -> TracebackType | None:
    """Returns the part of a traceback that begins in the body's file; None where no part does."""
    file = cast("Any", inspect.unwrap(body)).__code__.co_filename
    while trace is not None and trace.tb_frame.f_code.co_filename != file:
        trace = trace.tb_next
    return trace
