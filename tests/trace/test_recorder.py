"""Recordings in memory: what each line of a run leaves in one.  Clauses: T-1, T-2, T-3, T-4, T-5, T-7"""

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.errors import InvalidArgument, ReplicasDisagree
from simstrategy.schedules import Replayed, Seeded
from simstrategy.sim import Cluster
from simstrategy.trace import Recorder

FILE = __file__.rpartition("/")[2]


def context():
    found = ss.get_replica_context()
    assert found is not None
    return found


def recorded(program, replicas=2, **settings):
    """Returns the recording of a program on the simulator."""
    recorder = Recorder()
    strategy = ss.Strategy.mirrored("sim", replicas=replicas, trace=recorder, **settings)
    program(strategy)
    return recorder.recording()


def texts(rows):
    return [[value.array.tolist() for value in row] for row in rows]


def test_a_point_has_what_each_replica_brought_and_got_in_rank_order_and_their_order_of_arrival():
    def step():
        rank = context().replica_id_in_sync_group
        return context().all_reduce("MEAN", {"a": np.float32(rank), "b": np.float32([1, rank])})

    point = recorded(lambda strategy: strategy.run(step), schedule=Seeded(1)).points[-1]
    assert (point.kind, point.op, point.step, point.replicas) == ("all_reduce", "MEAN", 1, (1, 0))
    assert texts(point.inputs) == [[0.0, [1.0, 0.0]], [1.0, [1.0, 1.0]]]
    assert texts(point.outputs) == [[0.5, [1.0, 0.5]]] * 2
    assert point.ended
    assert point.error is None
    assert point.requests == ()
    assert len(set(point.sites)) == 1
    assert point.sites[0].startswith(FILE)


def test_a_run_is_a_point_with_its_arguments_and_results_and_steps_are_counted():
    def program(strategy):
        given = ss.PerReplica((np.float32(3), np.float32(4)))
        total = strategy.reduce("SUM", strategy.run(lambda x: x * 2, (given,)), axis=None)
        strategy.run(lambda: None)
        return total

    points = recorded(program).points
    assert [(point.kind, point.step) for point in points] == [("run", 1), ("reduce", 1), ("run", 2)]
    assert (texts(points[0].inputs), texts(points[0].outputs)) == ([[3.0], [4.0]], [[6.0], [8.0]])
    assert (texts(points[1].inputs), texts(points[1].outputs)) == ([[6.0], [8.0]], [[14.0], [14.0]])
    assert points[1].replicas == (None,)


def test_a_merge_call_has_the_arguments_and_the_result_of_each_replica():
    def step():
        rank = context().replica_id_in_sync_group
        given = (np.float32(rank), {"name": "no array", "x": 2.5})
        return context().merge_call(lambda strategy, x, _: (x, np.float32(7)), given)

    point = recorded(lambda strategy: strategy.run(step), schedule=Seeded(1)).points[-1]
    assert point.kind == "merge_call"
    assert texts(point.inputs) == [[0.0, 2.5], [1.0, 2.5]]
    assert texts(point.outputs) == [[0.0, 7.0], [1.0, 7.0]]


def test_the_point_that_failed_has_what_each_replica_did():
    def step():
        if context().replica_id_in_sync_group == 1:
            return context().all_gather(np.ones(2), 0)
        return context().all_reduce("SUM", np.float32(7))

    recorder = Recorder()
    strategy = ss.Strategy.mirrored("sim", replicas=3, trace=recorder)
    with pytest.raises(ReplicasDisagree):
        strategy.run(step)
    point = recorder.recording().points[-1]
    assert point.error is not None
    assert point.error[0] == "ReplicasDisagree"
    assert [text.partition(" at ")[0] for text in point.requests] == [
        "replica 0: all_reduce SUM float32[]",
        "replica 1: all_gather axis=0 float64[?]",
        "replica 2: all_reduce SUM float32[]",
    ]
    assert texts(point.inputs) == [[7.0], [[1.0, 1.0]], [7.0]]
    assert point.outputs == ()


def test_an_exception_of_one_replica_is_a_point_with_those_that_waited():
    def step():
        rank = context().replica_id_in_sync_group
        if rank == 1:
            raise ValueError(f"no rank {rank}")
        context().all_reduce("SUM", np.float32(rank))

    recorder = Recorder()
    strategy = ss.Strategy.mirrored("sim", replicas=3, trace=recorder)
    with pytest.raises(ValueError, match="no rank 1"):
        strategy.run(step)
    run, point = recorder.recording().points
    assert run.error == point.error == ("ValueError", "no rank 1")
    assert point.replicas == (0,)
    assert texts(point.inputs) == [[0.0]]
    assert [text.partition(" at ")[0] for text in point.requests] == [
        "replica 0: all_reduce SUM float32[]",
        "replica 1: raised ValueError",
        "replica 2: had not started this call",
    ]


def test_writes_have_the_components_before_and_after_wherever_they_are_made():
    def program(strategy):
        with strategy.scope():
            mean = ss.Variable([1.0], aggregation=ss.VariableAggregation.MEAN, name="mean")
            own = ss.Variable(0.0, synchronization=ss.VariableSynchronization.ON_READ, name="own", trainable=False)

        def step():
            rank = np.float32(context().replica_id_in_sync_group)
            mean.assign_add([rank])
            if rank:
                own.assign(rank)

        strategy.run(step)
        mean.assign([9.0])
        strategy.restore([mean], {"mean": np.float32([4])})

    found = recorded(program)
    rows = [
        (write.variable, write.operation, write.replica, *texts([write.before, write.after])) for write in found.writes
    ]
    assert rows == [
        ("mean", "create", None, [], [[1.0], [1.0]]),
        ("own", "create", None, [], [0.0, 0.0]),
        ("mean", "assign_add", None, [[1.0], [1.0]], [[1.5], [1.5]]),
        ("own", "assign", 1, [0.0], [1.0]),
        ("mean", "assign", None, [[1.5], [1.5]], [[9.0], [9.0]]),
        ("mean", "assign", None, [[9.0], [9.0]], [[4.0], [4.0]]),
    ]
    assert all(write.site.startswith(FILE) for write in found.writes)
    kinds = {point.number: point.kind for point in found.points}
    assert [kinds.get(write.point) for write in found.writes] == [
        *("variable", "variable", "assign_add", None, "assign", None)
    ]
    numbers = [one.number for one in (*found.points, *found.writes)]
    assert len(set(numbers)) == len(numbers)


def test_parts_have_their_rows_and_equal_rows_have_equal_digests():
    def program(strategy):
        data = [np.float32([[1, 2], [3, 4], [1, 2]]), np.float32([[3, 4]])]
        for batch in strategy.experimental_distribute_dataset(data):
            strategy.run(lambda x: x, (batch,))

    found = recorded(program)
    assert [part.rows for part in found.parts] == [((0, 2), (2, 1)), ((3, 1), (4, 0))]
    (first, second), (third,) = found.parts[0].digests
    assert first == third != second
    assert found.parts[1].digests == ((second,), ())
    # What was drawn is described by its rows, and not once more.
    assert [point.inputs for point in found.points if point.kind == "run"] == [((), ())] * 2


def test_a_cluster_has_one_order_of_all_workers():
    def program(strategy):
        strategy.run(lambda: context().all_reduce("SUM", np.float32(context().replica_id_in_sync_group)))

    recorder = Recorder()
    Cluster(2, 2, trace=recorder).run(program)
    found = recorder.recording()
    reduced = [point for point in found.points if point.kind == "all_reduce"]
    assert [(point.worker, point.replicas, texts(point.inputs)) for point in reduced] == [
        (0, (0, 1), [[0.0], [1.0]]),
        (1, (2, 3), [[2.0], [3.0]]),
    ]
    assert [texts(point.outputs) for point in reduced] == [[[6.0], [6.0]]] * 2
    assert [point.number for point in found.points] == sorted(point.number for point in found.points)
    assert list(found.at(1, 1)) == [point for point in found.points if point.worker == 1]


def test_a_run_of_the_recorded_draws_has_the_same_recording():
    def program(strategy):
        data = ss.data.Dataset.from_tensor_slices(np.arange(7.0)).shuffle(7).batch(3)
        for batch in strategy.experimental_distribute_dataset(data):
            strategy.run(lambda x: context().all_reduce("SUM", x.sum()), (batch,))

    first, other = recorded(program, 3, schedule=Seeded(4)), recorded(program, 3, schedule=Seeded(5))
    again = recorded(program, 3, schedule=Replayed(first.draws))
    assert len(first.draws) > 12
    assert str(again) == str(first)
    assert str(other) != str(first)


def test_values_too_large_to_be_kept_have_digest_range_and_first_elements():
    array = np.float32([np.nan, -2, 5, np.inf] + [0] * 96)

    def found(whole_bytes):
        recorder = Recorder(whole_bytes=whole_bytes)
        strategy = ss.Strategy.mirrored("sim", replicas=1, trace=recorder)
        strategy.run(lambda: context().all_gather(array, 0))
        return recorder.recording().points[-1].inputs[0][0]

    whole, part = found(400), found(399)
    np.testing.assert_array_equal(whole.array, array)
    assert part.array is None
    assert part.first.tolist()[1:3] == [-2.0, 5.0]
    assert len(part.first) < 100
    for value in (whole, part):
        assert (value.dtype, value.shape, value.low, value.high, value.not_finite) == ("float32", (100,), -2.0, 5.0, 2)
    assert whole.digest == part.digest != found(0).digest + "x"


def test_all_values_together_are_kept_whole_up_to_a_limit():
    def program(strategy):
        for number in range(300):
            strategy.run(lambda number=number: context().all_reduce("SUM", np.full(1024, number, np.float32)))

    values = [point.inputs[0][0] for point in recorded(program, 1).points if point.kind == "all_reduce"]
    kept = [value.array is not None for value in values]
    assert kept[:250] == [True] * 250
    assert kept[260:] == [False] * 40


def test_a_large_array_that_is_written_to_is_described_anew():
    recorder = Recorder(whole_bytes=0)
    strategy = ss.Strategy.mirrored("sim", replicas=1, trace=recorder)
    base = np.zeros(4, np.float32)
    shown = strategy.run(lambda: context().xp.asarray(base)).view()
    writeable = np.ndarray.copy(shown).view(type(shown))
    frozen = writeable.view()
    frozen.flags.writeable = False
    for number in range(3):
        writeable[0] = number // 2
        strategy.run(lambda: context().merge_call(lambda _, x: None, (frozen,)))
    digests = [point.inputs[0][0].digest for point in recorder.recording().points if point.kind == "merge_call"]
    assert digests[0] == digests[1] != digests[2]


def test_a_plain_trace_has_no_observer_and_a_recorder_has_the_events_of_a_trace():
    recorder, trace = Recorder(), ss.trace.Trace()
    for one in (recorder, trace):
        ss.Strategy.mirrored("sim", replicas=2, trace=one).run(lambda: context().all_reduce("SUM", 1.0))
    assert list(recorder.events()) == list(trace.events()) != []
    assert ss.strategy.group_of(ss.Strategy.mirrored("sim", trace=trace)).coordinator.observer is None


@pytest.mark.parametrize("whole_bytes", [-1, 1.5, True, "4096"])
def test_a_size_that_is_none_is_refused(whole_bytes):
    with pytest.raises(InvalidArgument, match="whole_bytes is a number of bytes"):
        Recorder(whole_bytes=whole_bytes)
