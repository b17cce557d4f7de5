"""What is recorded beside the reductions of a run, where no kind of cause is found in them alone.

After each step what it changed in variables, what `strategy.run` returned, what was gathered, and the named values of
replica functions. Functions of such a run are not compiled: each replica runs them line by line.
"""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, final

import numpy as np
import tensorflow as tf

from simstrategy.check.causes.watching import NamedValue, Watch
from simstrategy.trace import Recorder, Request
from simstrategy.trace.recording import STEP_CHANGES
from simstrategy_tf_distribute.lines import Site
from simstrategy_tf_distribute.variables import Variables, is_own

__all__ = ["Closely", "StepsEnded", "line_by_line"]

Host = np.ndarray[Any, Any]

_BYTES_MAX: Final = 256 * 2**20
"""The most bytes that are recorded here of one run; later values are not."""
_ENDED_MAX: Final = 3
"""How often a run is ended that goes on."""
_TEXTLIKE: Final = "OSU"
"""The kinds of dtypes of texts in NumPy."""


@contextmanager
def line_by_line() -> Iterator[None]:
    """Runs what `tf.function` has made as the Python that it was made from, inside this context.

    TensorFlow's remarks on it are left out: the program has not chosen it.
    """
    before, logger = tf.config.functions_run_eagerly(), tf.get_logger()
    level = logger.level
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*run_functions_eagerly")
        tf.config.run_functions_eagerly(True)
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(level)
            tf.config.run_functions_eagerly(before)


class StepsEnded(BaseException):
    """Ends a program before the step after the last one that is recorded."""


@final
class Closely:
    """Records one run.  variables: those that its program makes. last: the last step that is run; None for all."""

    def __init__(self, recorder: Recorder, variables: Variables, last: int | None = None) -> None:
        self._recorder, self._variables, self._last = recorder, variables, last
        self._known: list[list[Host]] = []
        """The components of each variable, as the step before has left them."""
        self._names: list[str] = []
        self._ended = 0
        """How often the run was ended: a program may catch that, and try again until its step is made."""
        self._site: Site | None = None
        """Of the step."""
        self._sites: dict[int, Site] = {}
        """At which line each variable was written last in the step, where that is known."""
        self._bytes = 0
        eager = type(tf.constant(0))  # starts TensorFlow, which the import of this file must not do
        self._watch = Watch(lambda: recorder.position(0), _host, (eager,), _replica)

    @property
    def named(self) -> list[NamedValue]:
        """The named values of replica functions, in order."""
        return self._watch.values

    def on(self) -> Any:
        """Returns a context in which the thread of a replica collects the named values of functions."""
        return self._watch.on()

    def begins(self, site: Site) -> int:
        """Records what the step before has changed, and that the next one begins; returns how many points are open.

        The next record of a `run` is its point, which is open until `returns`. Raises StepsEnded after the last step.
        """
        self.changes()
        if self._last is not None and self._recorder.position(0)[0] >= self._last and self._ended < _ENDED_MAX:
            self._ended += 1
            raise StepsEnded
        self._site = site
        self._sites.clear()
        return self._recorder.expect(0, ())

    def returns(self, depth: int, result: Any, replicas: int) -> None:
        """Records what a `run` returned, a nest with a value of each replica."""
        leaves: list[list[Host]] = []
        for leaf in tf.nest.flatten(result):
            parts = leaf.values if isinstance(leaf, tf.distribute.DistributedValues) else (leaf,) * replicas
            hosts = [_host(part) for part in parts if _has_value(part)]
            if len(hosts) == replicas and hosts[0].dtype.kind not in _TEXTLIKE:
                leaves.append(hosts)
        rows = [[hosts[replica] for hosts in leaves] for replica in range(replicas)]
        self._recorder.leave(0, depth, rows if self._fits(*rows) else ())

    def writes(self, component: Any, site: Site | None) -> None:
        """Notes the line that writes a component of a variable; None for one that libraries write alone."""
        for number, variable in enumerate(self._variables.made):
            if site is not None and any(component is one for one in variable.values):
                self._sites[number] = site

    def gathers(self, value: Any, axis: int, gathered: Any, site: Site) -> None:
        """Records a `strategy.gather`.  value: arrays [..., n, ...] of each replica, n along the axis."""
        for leaf, whole in zip(tf.nest.flatten(value), tf.nest.flatten(gathered), strict=True):
            parts = leaf.values if isinstance(leaf, tf.distribute.DistributedValues) else (leaf,)
            rows = [[_host(part)] for part in parts]
            if rows[0][0].dtype.kind not in _TEXTLIKE and self._fits(*rows):
                depth = self._recorder.depth(0)
                self._recorder.begin(0, Request("gather", None, axis, None, None, ()), (None,), (site,), rows)
                self._recorder.leave(0, depth, [[_host(whole)]] * len(rows))

    def changes(self) -> None:
        """Records what changed in variables since the last call, if only by 0, and those that were made since then."""
        for number, variable in enumerate(self._variables.made):
            found = [np.array(_host(component)) for component in variable.values]
            if not self._fits(found):
                return
            if number == len(self._known):
                self._made(variable, self._variables.made_at[number], found)
            else:
                self._changed(variable, number, found)
            self._known[number] = found

    def _made(self, variable: Any, site: Site | None, found: list[Host]) -> None:
        name = self._variables.title(variable)
        self._names.append(name)
        self._known.append(found)
        words = f"{name} {variable.synchronization.name}"
        request = Request("variable", variable.aggregation.name, None, words, None, ())
        depth = self._recorder.depth(0)
        self._recorder.begin(0, request, (None,), (site or self._site or ("", 0),), ())
        self._recorder.wrote(0, None, name, "create", (), found, None)
        self._recorder.leave(0, depth)

    def _changed(self, variable: Any, number: int, found: list[Host]) -> None:
        known, name, site = self._known[number], self._names[number], self._sites.get(number) or self._site
        if is_own(variable):
            for replica, (old, new) in enumerate(zip(known, found, strict=True)):
                self._recorder.wrote(0, replica, name, STEP_CHANGES, [old], [new], site)
        else:
            self._recorder.wrote(0, None, name, STEP_CHANGES, known, found, site)

    def _fits(self, *rows: Sequence[Host]) -> bool:
        self._bytes += sum(value.nbytes for row in rows for value in row)
        return self._bytes <= _BYTES_MAX


def _host(value: Any) -> Host:
    """Returns a number, tensor [any shape] or variable [any shape] as an array; an empty one for what is none."""
    if not isinstance(value, (tf.Tensor, tf.Variable)):
        return np.asarray(value)
    return np.asarray(value.numpy()) if value.dtype.is_numpy_compatible else np.empty(0, object)


def _has_value(value: Any) -> bool:
    """Returns whether something is a number, or a tensor [any shape] that is not one of a graph."""
    return isinstance(value, (float, int)) or (isinstance(value, tf.Tensor) and not tf.is_symbolic_tensor(value))


def _replica() -> int | None:
    """Returns the number of the replica that this thread runs; None outside of replica functions."""
    context = tf.distribute.get_replica_context()
    known = None if context is None else tf.get_static_value(context.replica_id_in_sync_group)
    return None if known is None else int(known)
