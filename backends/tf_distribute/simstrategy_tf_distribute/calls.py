"""What each replica of one `strategy.run` calls at its synchronisation points, and whether these calls are equal.

TensorFlow takes the merge function of replica 0 and combines whatever the others bring. Here the calls are compared
before that, as those of simstrategy's strategies are: kind, operation, structure, shapes and dtypes.
"""

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Final, NamedTuple, final

import tensorflow as tf

from simstrategy.errors import ReplicasDisagree
from simstrategy.run.functions import function_key
from simstrategy.run.status import disagreement
from simstrategy.trace import describe_site
from simstrategy_tf_distribute.forms import Form, form_of, written
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


class _Call(NamedTuple):
    """One call of one replica.  what: kind and operation. forms: of its values; a size is None where it may differ."""

    what: str
    forms: tuple[Form, ...]
    site: Site

    def text(self) -> str:
        values = ", ".join(map(written, self.forms[:_SHOWN_MAX]))
        more = f" and {len(self.forms) - _SHOWN_MAX} more" if len(self.forms) > _SHOWN_MAX else ""
        return f"{self.what} {values}{more} at {describe_site(self.site)}"


_SHOWN_MAX: Final = 3
_WRITE: Final = "write of a variable"


@final
class Calls:
    """The calls of the replicas of one `strategy.run`.

    count: the number of replicas. function: the replica function. lines: finds call sites, and receives that of the
    calls that are being combined. site: of the `run`, for calls that libraries make.
    """

    def __init__(self, count: int, function: Callable[..., Any], lines: Lines, site: Site) -> None:
        self._function = function
        self._lines = lines
        self._site = site
        self._last: list[_Call | None] = [None] * count
        self._returned = [False] * count
        self._waiting = [False] * count
        self._raised = False
        self._named: list[_Call | None] = [None] * count
        """The collective that a replica has called, and that makes a merge call."""

    def watched(self) -> Callable[..., Any]:
        """Returns the replica function, which notes its calls."""
        function = _converted(self._function)

        def replica(*args: Any, **settings: Any) -> Any:
            context = tf.distribute.get_replica_context()
            rank = int(tf.get_static_value(context.replica_id_in_sync_group))
            self._attach(context, rank)
            try:
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
        if self._raised or all(_alike(calls[0], one) for one in calls):
            return None
        returned = f"returned from {function_key(self._function)}"
        texts = [returned if call is None else call.text() for call in calls]
        return ReplicasDisagree(disagreement([f"replica {rank}: {text}" for rank, text in enumerate(texts)]))

    def _attach(self, context: Any, rank: int) -> None:
        """Puts this object's functions in front of those of a replica context, which belongs to one replica and run."""
        all_reduce, all_gather, merge_call = context.all_reduce, context.all_gather, context.merge_call

        def reduced(reduce_op: Any, value: Any, options: Any = None) -> Any:
            op = reduce_op.upper() if isinstance(reduce_op, str) else reduce_op.name
            forms = tuple(map(form_of, tf.nest.flatten(value)))
            call = _Call(f"all_reduce {op}", forms, self._place(sys._getframe(1)))
            return self._by_name(rank, call, lambda: all_reduce(reduce_op, value, options))

        def gathered(value: Any, axis: int, options: Any = None) -> Any:
            forms = tuple([_any_size(form_of(one), axis) for one in tf.nest.flatten(value)])
            call = _Call(f"all_gather axis {axis}", forms, self._place(sys._getframe(1)))
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

    def _by_name(self, rank: int, call: _Call, make: Callable[[], Any]) -> Any:
        self._named[rank] = call
        result = make()
        self._named[rank] = None
        return result

    def _place(self, frame: FrameType) -> Site:
        return self._lines.users(frame) or self._site

    def _merge(self, function: Callable[..., Any], arguments: Any, frame: FrameType) -> _Call:
        given = [one for one in tf.nest.flatten(arguments) if isinstance(one, (tf.Tensor, tf.IndexedSlices))]
        library = getattr(function, "__module__", "").startswith("tensorflow.")
        what = _WRITE if library else f"merge_call {getattr(function, '__name__', '')}".rstrip()
        return _Call(what, tuple(map(form_of, given)), self._place(frame))

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


def _alike(one: _Call | None, other: _Call | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.what == other.what and _same_forms(one.forms, other.forms)


def _same_forms(one: Sequence[Form], other: Sequence[Form]) -> bool:
    return len(one) == len(other) and all(
        left[1] == right[1]
        and (left[0] is None or right[0] is None or len(left[0]) == len(right[0]))
        and all(a is None or b is None or a == b for a, b in zip(left[0] or (), right[0] or (), strict=False))
        for left, right in zip(one, other, strict=True)
    )


def _any_size(form: Form, axis: int) -> Form:
    shape, dtype = form
    if shape is None or not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
        return form
    return tuple([None if place == axis % len(shape) else size for place, size in enumerate(shape)]), dtype
