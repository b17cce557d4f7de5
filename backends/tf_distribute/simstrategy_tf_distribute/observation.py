"""What is observed of a program under one strategy of TensorFlow: its data, steps, reductions and variables.

An observed strategy passes its calls through here. The strategies are in `devices.py` and `multi_worker/`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, final

import tensorflow as tf

from simstrategy.errors import ReplicasDisagree
from simstrategy.launch.calls import written
from simstrategy.trace import Recorder, Request, Trace, describe_site
from simstrategy_tf_distribute.calls import Calls, unconverted
from simstrategy_tf_distribute.closely import Closely
from simstrategy_tf_distribute.forms import form_of
from simstrategy_tf_distribute.iterators import forget, kept, untuned
from simstrategy_tf_distribute.lines import Lines, Site, reads_data
from simstrategy_tf_distribute.observing import Observer, nudged_dataset
from simstrategy_tf_distribute.outside import Outside
from simstrategy_tf_distribute.undistributed import Undistributed, undistributed
from simstrategy_tf_distribute.variables import MOVABLE, Variables

__all__ = ["Observation"]


@final
class Observation:
    """Observes the calls of one strategy.

    replicas: how many this process has. first: the number of the first of them. trace: receives an event for each
    `run`. observer: receives the values; None for no record. pattern: changes the data that the strategy distributes by
    one ulp, in this pattern; None leaves the data. narrow: a dtype of `device.narrow` whose ulp that is, or None.
    """

    def __init__(
        self,
        lines: Lines,
        trace: Trace,
        observer: Observer | None,
        replicas: int,
        *,
        first: int = 0,
        pattern: int | None = None,
        narrow: str | None = None,
    ) -> None:
        self.lines, self.trace, self.observer = lines, trace, observer
        self.variables = Variables(None if observer is None else self._wrote, lines)
        self.outside = Outside(lines)
        self.closely: Closely | None = None
        """What records more of a run, where a cause is looked for; `record_closely` sets it."""
        self.disagreement: ReplicasDisagree | None = None
        """The error for calls of replicas that differ, also where the program has caught it."""
        self.distributes_floats = False
        self.undistributed: list[Undistributed] = []
        """Where runs give all replicas the same examples."""
        self.reduces = False
        """Whether a `strategy.reduce` is being made: what it reduces is recorded here already."""
        self._replicas, self._first, self._pattern, self._narrow = replicas, first, pattern, narrow
        self._data: set[Site] = set()
        forget()

    def record_closely(self, recorder: Recorder, last: int | None) -> Closely:
        """Records more of the run that follows.  last: the last step that is run, or None."""
        closely = self.closely = Closely(recorder, self.variables, last)
        self.variables.on_any_write = lambda *write: closely.writes(write[3], self.lines.users(write[4]))
        return closely

    def record_direct_writes(self) -> None:
        """Records as well what the program itself writes outside of replica functions, where workers may differ."""
        self.variables.on_any_write = self._wrote_directly

    @contextmanager
    def scope(self, entered: Any) -> Iterator[Any]:
        """Returns a strategy's scope in which new variables are noted."""
        with entered as strategy, self.variables.scope():
            yield strategy

    def dataset(self, distribute: Callable[[Any], Any], dataset: Any, frame: FrameType) -> Any:
        """Returns a dataset as `distribute` distributes it."""
        return kept(distribute(self._taken(dataset, frame)))

    def datasets(self, distribute: Callable[[Any], Any], dataset_fn: Any, frame: FrameType) -> Any:
        """Returns what `distribute` makes of a function that makes the dataset of each worker."""
        return kept(distribute(unconverted(lambda context: self._taken(dataset_fn(context), frame))))

    def run(self, run: Callable[[Any], Any], function: Any, arguments: Any, settings: Any, frame: FrameType) -> Any:
        """Runs a replica function, whose calls are compared.  run: takes the function that TensorFlow is to run."""
        site = self.lines.source(frame)
        depth = 0 if self.closely is None else self.closely.begins(site)
        if self.observer is not None:
            data = next(iter(self._data)) if len(self._data) == 1 else None
            self.observer.starts([arguments, settings or {}], self._replicas, site, data)
        self.trace.record(0, Request("run", None, None, None, None, ()), (None,), (site,))
        self._note_undistributed(frame, [arguments, settings or {}], site)
        if isinstance(function, tf.types.experimental.PolymorphicFunction):
            # TensorFlow runs the replicas inside of such a function, and lifts them out of it by its class.
            return self._returned(depth, run(function))
        watch = None if self.closely is None else self.closely.on
        calls = Calls(self._replicas, function, self.lines, site, first=self._first, watch=watch)
        try:
            return self._returned(depth, run(calls.watched()))
        except Exception as error:
            found = error if isinstance(error, ReplicasDisagree) else calls.disagreement()
            if found is None or found is error:
                self.disagreement = self.disagreement or found
                raise
            self.disagreement = found
            raise found from error

    def reduce(self, reduce: Callable[[], Any], reduce_op: Any, value: Any, axis: Any, frame: FrameType) -> Any:
        """Makes a `strategy.reduce`.  Raises ReplicasDisagree for values of unequal shapes."""
        site = self.lines.source(frame)
        op = reduce_op.upper() if isinstance(reduce_op, str) else reduce_op.name
        if axis is None and not reads_data(frame):
            _require_equal_forms(op, value, site)
            for number, leaf in enumerate(tf.nest.flatten(value), 1):
                if isinstance(leaf, tf.Variable):
                    self.variables.reads(leaf, site)
                # The sums of a metric are no results: it divides them.
                known = isinstance(leaf, (tf.Tensor, tf.distribute.DistributedValues))
                if self.observer is not None and known and not self.variables.of_metric(leaf):
                    title = self.variables.title(leaf) if self.variables.has(leaf) else f"value {number}"
                    self.observer.sends("reduce", leaf, op, site, title)
        self.reduces = True
        try:
            return reduce()
        finally:
            self.reduces = False

    def gather(self, value: Any, axis: int, gathered: Any, frame: FrameType) -> Any:
        """Returns what a `strategy.gather` gave."""
        if self.closely is not None:
            self.closely.gathers(value, axis, gathered, self.lines.source(frame))
        return gathered

    def _returned(self, depth: int, result: Any) -> Any:
        if self.closely is not None:
            self.closely.returns(depth, result, self._replicas)
        return result

    def _wrote(self, replica: int, name: str, operation: str, component: Any, frame: FrameType) -> None:
        if self.observer is not None and self.closely is None:  # which records what a step has changed in all
            self.observer.wrote(replica, name, operation, component, frame)

    def _wrote_directly(self, replica: int, name: str, operation: str, component: Any, frame: FrameType) -> None:
        is_direct = tf.distribute.in_cross_replica_context() and self.lines.combined is None
        if is_direct and tf.executing_eagerly() and self.lines.users(frame) is not None:
            self._wrote(replica, name, operation, component, frame)

    def _note_undistributed(self, frame: FrameType, given: Any, site: Site) -> None:
        """Notes where a run of the user's file gives all replicas of this process the same examples."""
        is_users = frame.f_code.co_filename == site[0]
        found = undistributed(frame, given) if self._replicas > 1 and is_users else None
        if found is not None and found not in self.undistributed:
            self.undistributed.append(found)

    def _taken(self, dataset: Any, frame: FrameType) -> Any:
        """Returns a dataset as it is distributed: nudged where that was asked for."""
        self._data.add(self.lines.source(frame))
        specs = tf.nest.flatten(dataset.element_spec)
        self.distributes_floats |= any(isinstance(one, tf.TensorSpec) and one.dtype in MOVABLE for one in specs)
        return untuned(dataset if self._pattern is None else nudged_dataset(dataset, self._pattern, self._narrow))


def _require_equal_forms(op: str, value: Any, site: Site) -> None:
    """Raises ReplicasDisagree for a SUM or MEAN over replicas of values of unequal shapes."""
    for leaf in tf.nest.flatten(value):
        parts = leaf.values if isinstance(leaf, tf.distribute.DistributedValues) else ()
        forms = [form_of(part) for part in parts if isinstance(part, tf.Tensor)]
        if any(form != forms[0] and None not in (*(form[0] or ()), *(forms[0][0] or ())) for form in forms):
            lines = [f"  replica {replica}: {written(form)}" for replica, form in enumerate(forms)]
            raise ReplicasDisagree("\n".join([_UNEQUAL.format(op=op, site=describe_site(site)), *lines, ADVICE]))


_UNEQUAL: Final = "strategy.reduce {op} at {site} got values of unequal shapes, which cannot be added:"
ADVICE: Final = (
    "Reduce over the examples first, or pass axis=0. Keras 3.15 makes such a call in `fit` and `evaluate`, with the "
    "first batch: there, choose a batch size that this number of replicas divides, or leave the number out."
)
