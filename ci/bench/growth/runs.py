"""Long programs: steps, recorded events, recordings that are read, and many programs in one process."""

import tempfile
import weakref
from pathlib import Path

import numpy as np

import simstrategy as ss
from ci.bench.growth.style import Sizes, Style
from simstrategy.check.recompute import recompute

__all__ = ["STYLES"]

_STEPS = Sizes((64, 256, 1024), (512, 4096, 32_768))
_EVENTS = Sizes((64, 256, 1024), (256, 2048, 16_384))
_PROGRAMS = Sizes((1, 2, 4), (2, 8, 32))


def _of_steps(step, **settings):
    """Returns the style of so many runs, one after the other."""

    def make(count):
        made = {name: value() for name, value in settings.items()}
        strategy = ss.Strategy.mirrored("sim", replicas=2, **made)
        with strategy.scope():
            variable = ss.Variable(np.zeros(4, np.float32), aggregation=ss.VariableAggregation.SUM)

        def loop():
            for number in range(count):
                step(strategy, variable, number)

        return loop

    return Style("steps", make, _STEPS)


def _written(strategy, variable, number):
    strategy.run(lambda: variable.assign_add(ss.get_replica_context().xp.ones((4,))))


def _with_new_numbers(strategy, variable, number):
    strategy.run(lambda x: ss.get_replica_context().all_reduce("SUM", x), (np.float32(number),))


def _recorded(count, file=None):
    """Records so many collectives of two replicas."""
    recorder = ss.trace.Recorder() if file is None else ss.trace.Recorder(file)
    strategy = ss.Strategy.mirrored("sim", replicas=2, trace=recorder)

    def replica():
        ctx = ss.get_replica_context()
        for number in range(count):
            ctx.all_reduce("SUM", np.full(4, number, np.float32))

    strategy.run(replica)
    return recorder


def _of_a_file(action):
    """Returns the style of an action with the file of a recording of so many collectives."""

    def make(count):
        folder = tempfile.TemporaryDirectory()
        file = Path(folder.name) / "run.jsonl"
        _recorded(count, file).close()

        def act():
            return action(file)

        weakref.finalize(act, folder.cleanup)  # it is there as long as this function
        return act

    return Style("events", make, _EVENTS)


def _traced(count):
    trace = ss.trace.Trace()
    strategy = ss.Strategy.mirrored("sim", replicas=2, trace=trace)
    strategy.run(lambda: [ss.get_replica_context().all_reduce("SUM", 1.0) for _ in range(count)])
    return trace


def _program(strategy):
    dataset = ss.data.Dataset.from_tensor_slices(np.arange(8, dtype=np.float32)).batch(4)
    step = lambda x: ss.get_replica_context().all_reduce("SUM", ss.get_replica_context().xp.sum(x))  # noqa: E731
    return [strategy.run(step, (batch,)) for batch in strategy.experimental_distribute_dataset(dataset)]


def _checks(count):
    def act():
        for _ in range(count):
            ss.check(_program, replicas=(1, 2))

    return act


STYLES = {
    "runs that write a variable": _of_steps(_written),
    "runs with new numbers": _of_steps(_with_new_numbers),
    "runs, traced": _of_steps(_written, trace=ss.trace.Trace),
    "runs, recorded": _of_steps(_with_new_numbers, trace=ss.trace.Recorder),
    "collectives of one run, recorded": Style("events", lambda count: lambda: _recorded(count), _EVENTS),
    "a recording that is read": _of_a_file(ss.trace.read),
    "a recording that is computed again": _of_a_file(lambda file: recompute(ss.trace.read(file))),
    "two traces compared": Style(
        "events",
        lambda count: lambda: ss.trace.first_difference(_traced(count).events(), _traced(count).events()),
        _EVENTS,
    ),
    "programs checked in one process": Style("programs", _checks, _PROGRAMS),
}
