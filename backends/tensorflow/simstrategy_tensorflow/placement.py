"""Where things are created: `tf.device`, and the graph being traced, carried into a lane's thread.  No strategies."""

from contextlib import ExitStack
from contextvars import ContextVar, Token
from typing import Any, final

import tensorflow as tf

__all__ = ["On", "current_placement"]

_PLACEMENT: ContextVar[str | None] = ContextVar("simstrategy.tensorflow.placement", default=None)
current_placement = _PLACEMENT.get
"""Returns the placement that `On` chose, or None outside: TensorFlow does not tell its own."""


@final
class On:
    """A context manager, made in the caller's thread and entered once, in any thread."""

    __slots__ = ("_graph", "_placement", "_stack", "_token")
    _token: Token[str | None]

    def __init__(self, placement: str) -> None:
        self._placement = placement
        self._stack = ExitStack()
        self._graph: Any = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()

    def __enter__(self) -> None:
        if self._graph is not None and tf.compat.v1.get_default_graph() is not self._graph:
            self._stack.enter_context(self._graph.as_default())
        self._stack.enter_context(tf.device(self._placement))
        self._token = _PLACEMENT.set(self._placement)

    def __exit__(self, *_: object) -> None:
        _PLACEMENT.reset(self._token)
        self._stack.close()
