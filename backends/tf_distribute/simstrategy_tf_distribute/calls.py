"""What each replica of one `strategy.run` calls at its synchronisation points, and whether these calls are equal.

TensorFlow takes the merge function of replica 0 and combines whatever the others bring. Here the calls are compared
before that, as those of simstrategy's strategies are: kind, operation, structure, shapes and dtypes.
"""

import sys
from collections.abc import Callable
from contextlib import nullcontext
from types import FrameType
from typing import Any, Final, final

import tensorflow as tf

from simstrategy.errors import ReplicasDisagree
from simstrategy.launch.calls import Call, alike, any_size
from simstrategy.run.functions import function_key
from simstrategy.run.status import disagreement
from simstrategy_tf_distribute.forms import form_of
from simstrategy_tf_distribute.lines import Lines, Site

__all__ = ["Calls", "unconverted"]


def unconverted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function that AutoGraph does not convert, and returns it."""
    setattr(function, "autograph_info__", {})  # noqa: B010 - a mark that TensorFlow reads
    return function


def _converted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function as AutoGraph converts it where a graph is traced; unchanged outside of a graph."""
    graph = tf.__internal__.autograph
    made: Callable[..., Any] = graph.tf_convert(function, graph.control_status_ctx(), convert_by_default=False)
    return made


_WRITE: Final = "write of a variable"


@final
class Calls:
    """The calls of the replicas of one `strategy.run`.

    count: the number of replicas in this process. function: the replica function. lines: finds call sites, and receives
    that of the calls that are being combined. site: of the `run`, for calls that libraries make. first: the number of
    this process's first replica. watch: makes a context in which each replica runs the function, or None.
    """

    def __init__(
        self,
        count: int,
        function: Callable[..., Any],
        lines: Lines,
        site: Site,
        *,
        first: int = 0,
        watch: Callable[[], Any] | None = None,
    ) -> None:
        self._function = function
        self._first = first
        self._watch = nullcontext if watch is None else watch
        self._lines = lines
        self._site = site
        self._last: list[Call | None] = [None] * count
        self._returned = [False] * count
        self._waiting = [False] * count
        self._raised = False
        self._named: list[Call | None] = [None] * count
        """The collective that a replica has called, and that makes a merge call."""

    def watched(self) -> Callable[..., Any]:
        """Returns the replica function, which notes its calls."""
        function = _converted(self._function)

        def replica(*args: Any, **settings: Any) -> Any:
            context = tf.distribute.get_replica_context()
            rank = int(tf.get_static_value(context.replica_id_in_sync_group)) - self._first
            self._attach(context, rank)
            try:
                with self._watch():
                    result = function(*args, **settings)
            except BaseException:
                # A replica that waits is stopped by an exception as well, after another one has failed.
                self._raised = self._raised or not self._waiting[rank]
                raise
            self._returned[rank] = True
            return result

        return unconverted(replica)

    def disagreement(self) -> ReplicasDisagree | None:
        """Returns the error for calls that differ; None where they are equal, or where a replica raised."""
        calls = [None if done else call for done, call in zip(self._returned, self._last, strict=True)]
        if self._raised or all(alike(calls[0], one) for one in calls):
            return None
        returned = f"returned from {function_key(self._function)}"
        texts = [returned if call is None else call.text() for call in calls]
        lines = [f"replica {rank}: {text}" for rank, text in enumerate(texts, self._first)]
        return ReplicasDisagree(disagreement(lines))

    def _attach(self, context: Any, rank: int) -> None:
        """Puts this object's functions in front of those of a replica context, which belongs to one replica and run."""
        all_reduce, all_gather, merge_call = context.all_reduce, context.all_gather, context.merge_call

        def reduced(reduce_op: Any, value: Any, options: Any = None) -> Any:
            op = reduce_op.upper() if isinstance(reduce_op, str) else reduce_op.name
            forms = tuple(map(form_of, tf.nest.flatten(value)))
            call = Call(f"all_reduce {op}", forms, self._place(sys._getframe(1)))
            return self._by_name(rank, call, lambda: all_reduce(reduce_op, value, options))

        def gathered(value: Any, axis: int, options: Any = None) -> Any:
            forms = tuple([any_size(form_of(one), axis) for one in tf.nest.flatten(value)])
            call = Call(f"all_gather axis {axis}", forms, self._place(sys._getframe(1)))
            return self._by_name(rank, call, lambda: all_gather(value, axis, options))

        def merged(merge_fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
            self._last[rank] = self._named[rank] or self._merge(merge_fn, (args, kwargs or {}), sys._getframe(1))
            self._waiting[rank] = True
            result = merge_call(self._combined(_converted(merge_fn)), args, kwargs)
            self._waiting[rank] = False
            return result

        context.all_reduce = unconverted(reduced)
        context.all_gather = unconverted(gathered)
        context.merge_call = unconverted(merged)

    def _by_name(self, rank: int, call: Call, make: Callable[[], Any]) -> Any:
        self._named[rank] = call
        result = make()
        self._named[rank] = None
        return result

    def _place(self, frame: FrameType) -> Site:
        return self._lines.users(frame) or self._site

    def _merge(self, function: Callable[..., Any], arguments: Any, frame: FrameType) -> Call:
        given = [one for one in tf.nest.flatten(arguments) if isinstance(one, (tf.Tensor, tf.IndexedSlices))]
        library = getattr(function, "__module__", "").startswith("tensorflow.")
        what = _WRITE if library else f"merge_call {getattr(function, '__name__', '')}".rstrip()
        return Call(what, tuple(map(form_of, given)), self._place(frame))

    def _combined(self, merge_fn: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a merge function that compares the calls first.  TensorFlow runs replica 0's, for all of them."""

        def combined(*args: Any, **settings: Any) -> Any:
            found = self.disagreement()
            if found is not None:
                raise found
            first = self._last[0]
            self._lines.combined = None if first is None else first.site
            try:
                return merge_fn(*args, **settings)
            finally:
                self._lines.combined = None

        return unconverted(combined)
