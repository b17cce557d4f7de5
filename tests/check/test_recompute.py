"""Recordings of all portable programs: every synchronisation point is computed again from the file, to the bit.

Clauses: T-6
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.check.outcome import program_folder, run_program
from simstrategy.check.recompute import recompute

sys.path.insert(0, str(Path(__file__).parents[1] / "programs"))

from every_program import EVERY

WHOLE = 1 << 20


def recorded(program, file, replicas, backend="sim"):
    """Runs a program and returns its recording, from a file."""
    recorder = ss.trace.Recorder(file, root=program_folder(program), whole_bytes=WHOLE)
    strategy = ss.Strategy.mirrored(backend, replicas=replicas, trace=recorder)
    run_program(program, strategy, recorder)
    recorder.close()
    return ss.trace.read(file)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EVERY)
def test_every_point_of_a_program_is_computed_again_from_its_file(name, tmp_path):
    for replicas in (1, 2, 3):
        found = recorded(EVERY[name], tmp_path / "a.jsonl", replicas)
        computed = recompute(found)
        assert computed.different == ()
        assert found.complete
        assert computed.equal + sum(computed.left.values()) == len(found.points)
        assert "a value was too large to be kept whole" not in computed.left


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EVERY)
def test_every_point_of_a_cluster_is_computed_again(name):
    recorder = ss.trace.Recorder(root=program_folder(EVERY[name]), whole_bytes=WHOLE)
    ss.sim.Cluster(2, 2, trace=recorder).outcomes(lambda strategy: run_program(EVERY[name], strategy, recorder))
    assert recompute(recorder.recording()).different == ()


def sums(strategy):
    """Values that are rounded another way in each order of additions."""
    numbers = np.float32([1e8, 1.0, -1e8, 3.0, 0.1])
    with strategy.scope():
        total = ss.Variable(np.float32(0.3), aggregation=ss.VariableAggregation.MEAN, name="total")

    def step():
        context = ss.get_replica_context()
        mine = numbers[context.replica_id_in_sync_group] * np.ones(7, np.float32)
        context.all_gather(mine, 0)
        total.assign_add(mine[0])
        return context.all_reduce("SUM", mine)

    return strategy.reduce("MEAN", strategy.run(step), axis=0)


@pytest.mark.parametrize("order", ["linear", "ring", "tree"])
def test_the_order_of_additions_is_found(order, tmp_path):
    found = recorded(sums, tmp_path / "a.jsonl", 5, ss.backend("sim", replicas=5, order=order))
    assert "order" not in found.header
    computed = recompute(found)
    assert (computed.order, computed.different, computed.equal) == (order, (), 5)
    stated = found._replace(header={**found.header, "order": "ring" if order == "linear" else "linear"})
    assert recompute(stated).different != ()


@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "assign_add", "reduce", "variable"])
def test_a_point_whose_output_does_not_follow_from_its_inputs_is_named(kind, tmp_path):
    found = recorded(sums, tmp_path / "a.jsonl", 5)
    number, point = next((number, one) for number, one in enumerate(found.points) if one.kind == kind)
    value = point.outputs[3][0]
    wrong = np.nextafter(value.array, np.float32(np.inf))
    rows = list(point.outputs)
    rows[3] = (value._replace(array=wrong),)
    points = list(found.points)
    points[number] = point._replace(outputs=tuple(rows))
    (line,) = recompute(found._replace(points=tuple(points))).different
    assert line.startswith(f"point {point.number}, {kind} at test_recompute.py:")


def test_what_was_not_kept_whole_is_counted_and_its_digest_compared(tmp_path):
    def program(strategy):
        def step():
            context = ss.get_replica_context()
            context.all_reduce("SUM", np.ones(9, np.float32))
            return context.all_gather(np.ones(2, np.float32), 0)

        strategy.run(step)

    recorder = ss.trace.Recorder(whole_bytes=8)
    program(ss.Strategy.mirrored("sim", replicas=2, trace=recorder))
    computed = recompute(recorder.recording())
    assert computed.left["a value was too large to be kept whole"] == 1
    assert computed.equal == 1
    found = recorder.recording()
    gather = found.points[-1]
    rows = ((gather.outputs[0][0]._replace(digest="0" * 24),), gather.outputs[1])
    points = (*found.points[:-1], gather._replace(outputs=rows))
    assert "has another digest" in recompute(found._replace(points=points)).different[0]


def test_runs_that_differ_in_results_have_recordings_that_differ(tmp_path):
    def mean_of_means(strategy):
        data = [np.float32([72, 73]), np.float32([1])]
        means = []
        for batch in strategy.experimental_distribute_dataset(data):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                means.append(strategy.reduce("MEAN", strategy.run(strategy.xp.mean, (batch,)), axis=None))
        return means

    files = [tmp_path / "two.jsonl", tmp_path / "three.jsonl"]
    found = [recorded(mean_of_means, file, replicas) for file, replicas in zip(files, (2, 3), strict=True)]
    assert found[0].results != found[1].results
    assert found[0].parts[0].rows == ((0, 1), (1, 1))
    assert found[1].parts[0].rows == ((0, 1), (1, 1), (2, 0))
    assert found[1].points[-1].outputs[0][0].not_finite == 1


NUMBERS = {
    "float16": [1.0, np.inf, -0.0],
    "bfloat16": [1.0, 3.0, 0.1],
    "float64": [0.1, np.nan, 1e300],
    "complex64": [1 + 2j, 0.1j, 3.0],
    "int8": [127, 1, -128],
    "uint64": [2**63 - 1, 2**63 - 2, 3],
    "bool": [True, False, True],
}


@pytest.mark.parametrize("dtype", NUMBERS)
def test_numbers_of_every_kind_are_computed_again(dtype, tmp_path):
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")

    def program(strategy):
        def step():
            context = ss.get_replica_context()
            mine = context.xp.asarray(NUMBERS[dtype], dtype=dtype)
            context.all_gather(mine, 0)
            context.all_gather(mine[:0], 0)
            if dtype != "bool":
                context.all_reduce("SUM", mine)
                context.all_reduce("MEAN", mine)

        strategy.run(step)

    found = recorded(program, tmp_path / "a.jsonl", 3)
    computed = recompute(found)
    assert computed.different == ()
    assert computed.equal == (2 if dtype == "bool" else 4)
    assert found.points[1].inputs[0][0].dtype == dtype
