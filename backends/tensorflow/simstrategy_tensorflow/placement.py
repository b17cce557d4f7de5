"""The current device and the graph that is being traced, also in the thread of a replica's task."""

from collections.abc import Callable
from contextlib import ExitStack
from contextvars import ContextVar, Token
from typing import Any, Final, final

import tensorflow as tf

from simstrategy.errors import ContextError

__all__ = ["On", "current_placement", "obstacle_from_here", "require_one_graph"]

_PLACEMENT: Final[ContextVar[str | None]] = ContextVar("simstrategy.tensorflow.placement", default=None)
current_placement = _PLACEMENT.get
"""Returns the placement that `On` chose, or None outside; TensorFlow has no public name for it."""
_ANOTHER_GRAPH: Final = (
    "`merge_call` called while defining a new graph or a tf.function: the synchronisation point is inside a tf.cond, "
    "a tf.while_loop or a tf.function of one replica, so no operation can use the values of all. Move the call outside "
    "of it, or put the whole step into one tf.function: tf.function(lambda: strategy.run(step))."
)


@final
class On:
    """A context manager, made in the caller's thread and entered once, in any thread."""

    __slots__ = ("_graph", "_placement", "_stack", "_token")
    _token: Token[str | None]

    def __init__(self, placement: str) -> None:
        self._placement = placement
        self._stack = ExitStack()
        self._graph = _current_graph()

    def __enter__(self) -> None:
        if self._graph is not None and tf.compat.v1.get_default_graph() is not self._graph:
            self._stack.enter_context(self._graph.as_default())
        self._stack.enter_context(tf.device(self._placement))
        self._token = _PLACEMENT.set(self._placement)

    def __exit__(self, *_: object) -> None:
        _PLACEMENT.reset(self._token)
        self._stack.close()


def require_one_graph(arrays: tuple[Any, ...]) -> None:
    """Raises ContextError for a collective inside a tf.cond, a tf.while_loop or a tf.function of one replica.

    That is a graph of its own, whose tensors the operations of other replicas cannot use.
    """
    graphs = [array.graph for array in arrays if tf.is_symbolic_tensor(array)]
    if graphs and any(graph is not tf.compat.v1.get_default_graph() for graph in graphs) and not _is_enclosing(graphs):
        raise ContextError(_ANOTHER_GRAPH)


def obstacle_from_here() -> Callable[[], str | None]:
    """Returns a function that returns a message inside a tf.function that is traced within the current graph.

    While a replica traces it, it holds the function's lock, and a second replica that calls the function waits for it.
    """
    start = _current_graph()

    def obstacle() -> str | None:
        graph = _current_graph()
        while isinstance(graph, tf.__internal__.FuncGraph) and graph is not start:
            # A branch and a loop's body have a class of their own: no lock is held for them.
            if type(graph) is tf.__internal__.FuncGraph:
                return _ANOTHER_GRAPH
            graph = graph.outer_graph
        return None

    return obstacle


def _current_graph() -> Any:
    return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()


def _is_enclosing(graphs: list[Any]) -> bool:
    """Returns whether all graphs enclose the current one, whose operations can then use their tensors."""
    enclosing, graph = [], tf.compat.v1.get_default_graph()
    while graph is not None:
        enclosing.append(graph)
        graph = graph.outer_graph if isinstance(graph, tf.__internal__.FuncGraph) else None
    return all(any(graph is one for one in enclosing) for graph in graphs)
