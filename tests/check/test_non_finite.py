"""The first value that is not finite on its way into a collective or a `reduce` is named by `check`.  Clauses: X-16."""

from contextlib import closing

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.check.outcome import Outcome
from simstrategy.check.probe import GroupCallProbe
from simstrategy.check.processes import load_outcome, save_outcome
from simstrategy.strategy import group_of


def ctx():
    return ss.get_replica_context()


def rank():
    return ctx().replica_id_in_sync_group


def found(program, replicas=2, **settings):
    """Returns what a check of a program on the simulator says, row by row."""
    report = ss.check(program, replicas=[replicas], **settings)
    assert list(report.problems()) == [], str(report)
    return list(report.not_finite())


def line(program, offset):
    return f"test_non_finite.py:{program.__code__.co_firstlineno + offset}"


def test_a_program_of_finite_values_has_no_such_line():
    def program(strategy):
        return strategy.run(lambda: ctx().all_reduce("SUM", ctx().xp.ones(2)))

    report = ss.check(program, replicas=[1, 2])
    assert list(report.not_finite()) == []
    assert "not finite" not in str(report)


def test_step_replica_call_and_elements_of_the_first_one_are_named():
    def program(strategy):
        def replica(bad):
            xp = ctx().xp
            return ctx().all_reduce("SUM", xp.asarray(np.float32([[1, bad], [bad, 2]])))

        for bad in (0, ss.PerReplica([0, np.nan]), np.inf):
            last = strategy.run(replica, args=(bad,))
        return last

    (text,) = found(program)
    assert text == (
        f"sim, replicas 2, InOrder(): step 2, replica 1: float32[2, 2] that entered all_reduce SUM at "
        f"{line(program, 3)} is nan at [0, 1], 2 of 4 elements are not finite"
    )


@pytest.mark.parametrize(("value", "text"), [(np.inf, "inf"), (-np.inf, "-inf"), (np.nan, "nan")])
def test_scalars_have_no_place(value, text):
    def program(strategy):
        return strategy.run(lambda: ctx().all_reduce("MEAN", np.float32(value)))

    assert found(program)[0].endswith(
        f"step 1, replica 0: float32[] that entered all_reduce MEAN at {line(program, 1)} is {text}"
    )


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_reduce_is_looked_at_before_each_replicas_own_sum():
    def program(strategy):
        values = strategy.run(lambda: ctx().xp.asarray(np.float64([[1, 2], [np.inf, -np.inf]])))
        return strategy.reduce("SUM", values, axis=(0, 1))

    assert found(program, replicas=1)[0].endswith(
        f"step 1, replica 0: float64[2, 2] that entered reduce at {line(program, 2)} is inf at [1, 0], 2 of 4 elements "
        f"are not finite"
    )


def test_gathers_and_aggregated_writes_are_looked_at_too():
    def gathered(strategy):
        return strategy.run(lambda: ctx().all_gather(np.complex64([1, complex(0, np.nan)])[: rank() + 1], 0))

    assert "step 1, replica 1: complex64[2] that entered all_gather at" in found(gathered)[0]

    def written(strategy):
        with strategy.scope():
            v = ss.Variable(0.0, aggregation=ss.VariableAggregation.SUM, name="v")
        strategy.run(lambda: v.assign_add(ctx().xp.asarray(np.float32(np.nan if rank() else 1))))

    assert f"replica 1: float32[] that entered assign_add 'v' SUM at {line(written, 3)} is nan" in found(written)[0]

    def outside(strategy):
        return strategy.gather(strategy.run(lambda: ctx().xp.asarray([np.inf])), 0)

    assert f"step 1, replica 0: float32[1] that entered gather at {line(outside, 1)} is inf at [0]" in found(outside)[0]


def test_integers_and_values_that_stay_where_they_are_are_not_looked_at():
    def program(strategy):
        return strategy.run(lambda: (ctx().all_reduce("SUM", ctx().xp.asarray([1])), ctx().xp.asarray([np.nan])))

    assert found(program) == []


def test_every_row_has_its_own_line_and_the_report_shows_them():
    def program(strategy):
        return strategy.run(lambda: ctx().all_reduce("SUM", np.float32(np.nan)))

    report = ss.check(
        program, replicas=[2, 3], schedules=[ss.schedules.InOrder, lambda: ss.schedules.Seeded(1)], without=["replicas"]
    )
    lines = list(report.not_finite())
    assert [text.split(":")[0] for text in lines] == [
        "sim, replicas 2, InOrder()",
        "sim, replicas 2, Seeded(1)",
        "sim, replicas 3, InOrder()",
        "sim, replicas 3, Seeded(1)",
    ]
    shown = str(report).splitlines()
    at = shown.index("First values that are not finite:")
    assert shown[at + 1 : at + 5] == lines
    assert shown[-1].startswith("All runs agree: 3 values; replicas 2, 3, each alone; InOrder(), Seeded(1).")


def test_a_program_that_raises_has_its_line_too():
    def program(strategy):
        strategy.run(lambda: ctx().all_reduce("SUM", np.float32(np.nan)))
        raise KeyError("mine")

    assert len(found(program, allow_errors=True)) == 1


def test_a_cluster_names_the_worker():
    def main(strategy):
        value = np.float32(np.inf if group_of(strategy).coordinator.worker else 1)
        return strategy.run(lambda: ctx().all_reduce("SUM", value))

    from simstrategy.check.clusters import run_cluster
    from simstrategy.check.rows import first_not_finite
    from simstrategy.check.study import Settings, Study

    settings = Settings(ss.Semantics.TF1_15, 60.0, False)
    study = Study(main, ["sim"], [1], [2], [ss.schedules.InOrder], settings)
    outcomes = run_cluster(study, 2)
    study.close()
    assert first_not_finite(outcomes) == (
        f"worker 1: step 1, replica 1: float32[] that entered all_reduce SUM at {line(main, 2)} is inf"
    )


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_broadcasts_are_looked_at_where_they_start():
    trace = ss.trace.Trace()

    def main(strategy):
        with strategy.scope():
            v = ss.Variable(0.0, aggregation=ss.VariableAggregation.ONLY_FIRST_REPLICA, name="v")
        strategy.run(lambda: v.assign(ctx().xp.asarray(np.float32(np.nan))))

    probes = []

    def wrap(backend):
        probes.append(GroupCallProbe(backend, trace))
        return probes[-1]

    ss.sim.Cluster(2, 1, trace=trace, wrap=wrap).run(main)
    assert probes[0].found is not None
    assert "replica 0: float32[] that entered assign 'v' ONLY_FIRST_REPLICA at" in probes[0].found
    assert probes[1].found is None


def test_without_a_check_nothing_looks(mirrored):
    assert group_of(mirrored(2)).reductions.probe is None


def test_values_that_a_framework_has_not_computed_yet_are_passed_by():
    class Tracing:
        """A backend's `get` while its framework traces."""

        def __init__(self, inner):
            self.inner = inner

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def get(self, array):
            raise ss.errors.Unsupported("no value yet")

    with closing(ss.backend("sim", replicas=2)) as backend:
        probe = GroupCallProbe(Tracing(backend), ss.trace.Trace())
        arrays = tuple(backend.put(np.float32([np.nan]), device) for device in backend.devices)
        assert np.isnan(probe.all_reduce(arrays, "SUM")[0]).all()
        assert probe.found is None


def test_what_a_process_found_is_read_back(tmp_path):
    outcome = Outcome((), None, (), not_finite="step 1, replica 0: float32[] that entered reduce at a.py:1 is nan")
    for one in (outcome, outcome._replace(not_finite=None)):
        save_outcome(one, tmp_path / "outcome0")
        assert load_outcome(tmp_path / "outcome0").not_finite == one.not_finite
