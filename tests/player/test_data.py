"""What a page has of a recording: stops, captions, marks, variables and values."""

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.player.data import run_data

context = ss.get_replica_context


def data_of(recording):
    return run_data(recording, name="run", sources={})


def brought(data):
    """Returns the first value that replica 0 brought to an all_reduce."""
    event = next(event for event in data["events"] if event.get("kind") == "all_reduce")
    return data["values"][event["in"][0][0]]


def lines(data):
    """Returns each stop as its label and phase."""
    return [(data["events"][event]["label"].split(" (")[0], phase) for event, phase, _ in data["stops"]]


def trained(strategy):
    with strategy.scope():
        total = ss.Variable(np.float32(0.1), aggregation=ss.VariableAggregation.SUM, name="total")

    def step(rows):
        total.assign_add(context().xp.sum(rows))
        return context().all_reduce("MEAN", np.float32(0.7))

    rows = ss.data.Dataset.from_tensor_slices(np.arange(5, dtype=np.float32)).batch(3)
    for part in strategy.experimental_distribute_dataset(rows):
        strategy.run(step, args=(part,))


def test_a_run_has_a_beginning_and_an_end_and_what_is_inside_stands_between(record):
    step = [("run trained.<locals>.step", 1), ("assign_add total SUM", 0), ("all_reduce MEAN", 0)]
    found = lines(data_of(record(trained)))
    names = [(label.replace("run step", "run trained.<locals>.step"), phase) for label, phase in found]
    assert names == [
        ("variable total ON_WRITE trainable SUM", 0),
        ("parts of a step, 3 rows", 0),
        *step,
        ("run trained.<locals>.step", 2),
        ("parts of a step, 2 rows", 0),
        *step,
        ("run trained.<locals>.step", 2),
        ("the program returned", 0),
    ]


def test_values_are_the_texts_of_their_own_dtype(record):
    data = data_of(record(lambda strategy: strategy.run(lambda: context().all_reduce("SUM", np.float32(0.1)))))
    point = next(event for event in data["events"] if event.get("kind") == "all_reduce")
    (brought,), (got,) = point["in"][0], point["out"][0]
    assert data["values"][brought] == {"dtype": "float32", "shape": [], "texts": ["0.1"], "known": True}
    assert data["values"][got]["texts"] == [str(np.float32(0.1) + np.float32(0.1))]


def test_large_values_have_their_first_elements_and_their_range(record):
    large = np.arange(2000, dtype=np.float32)
    large[70] = np.nan
    data = data_of(record(lambda strategy: strategy.run(lambda: context().all_reduce("SUM", large))))
    value = brought(data)
    assert value["texts"] == [f"{number}.0" for number in range(8)]
    assert value["range"] == ["0.0", "1999.0"]
    assert (value["not_finite"], value.get("not_finite_at")) == (1, None)


def test_of_a_whole_value_the_place_of_the_first_element_that_is_not_finite_is_known(record):
    whole = np.arange(100, dtype=np.float32)
    whole[70:] = np.nan
    data = data_of(record(lambda strategy: strategy.run(lambda: context().all_reduce("SUM", whole))))
    value = brought(data)
    assert (value["not_finite"], value["not_finite_at"], value["range"]) == (30, 70, ["0.0", "69.0"])


def test_marks_lead_to_unequal_parts_and_values_that_are_not_finite(record):
    def program(strategy):
        trained(strategy)
        strategy.run(lambda: context().all_reduce("SUM", np.float32(np.inf)))

    data = data_of(record(program))
    assert data["marks"]["unequal"] == [1]
    assert data["stops"][1][2].endswith("The parts are not equal: replica 0 gets 2, replica 1 gets 1.")
    first, *_ = data["marks"]["not_finite"]
    assert lines(data)[first] == ("all_reduce SUM", 0)
    assert data["marks"]["error"] == data["marks"]["diverged"] == []


def test_an_infinite_value_that_a_variable_begins_with_is_no_place_to_jump_to(record):
    def program(strategy):
        with strategy.scope():
            ss.Variable(np.float32(np.inf), name="least")
            largest = ss.Variable(np.float32(-np.inf), name="largest")
            ss.Variable(np.float32([0, np.nan]), name="wrong")
        for value in (3, np.inf):
            largest.assign(np.float32(value))

    data = data_of(record(program))
    found = [lines(data)[at][0] for at in data["marks"]["not_finite"]]
    assert found == ["variable wrong ON_WRITE trainable NONE", "assign largest"]
    assert data["marks"]["not_finite"][1] == len(data["stops"]) - 2


def test_an_empty_part_is_named(record):
    def program(strategy):
        rows = ss.data.Dataset.from_tensor_slices(np.arange(1.0)).batch(4)
        next(iter(strategy.experimental_distribute_dataset(rows)))

    assert data_of(record(program, 3))["stops"][0][2].endswith("Replicas 1 and 2 have got no row.")


def test_a_disagreement_has_what_each_replica_was_doing(record):
    def program(strategy):
        def step():
            if context().replica_id_in_sync_group < 2:
                context().all_reduce("SUM", np.float32(1))

        strategy.run(step)

    data = data_of(record(program, 3))
    at = data["marks"]["error"][0]
    event = data["events"][data["stops"][at][0]]
    assert [text.partition(" at ")[0] for text in event["requests"]] == ["all_reduce SUM float32[]"] * 2 + [
        "had returned"
    ]
    assert event["error"][0] == "ReplicasDisagree"
    assert data["stops"][at][2].startswith("The replicas do not all make the same call here")


def test_what_replicas_brought_to_a_disagreement_stands_beside_those_that_came(record):
    def step():
        rank = context().replica_id_in_sync_group
        if rank:
            context().all_reduce("SUM", np.float32(rank))

    data = data_of(record(lambda strategy: strategy.run(step), 3, schedule=ss.schedules.Seeded(0)))
    event = data["events"][data["stops"][data["marks"]["error"][0]][0]]
    assert [[data["values"][value]["texts"] for value in row] for row in event["in"]] == [[], [["1.0"]], [["2.0"]]]


def test_a_variable_diverges_where_the_run_ends_and_not_before(record, recwarn):
    def program(strategy):
        with strategy.scope():
            kept = ss.Variable(np.float32(0), name="kept")
            own = ss.Variable(
                np.float32(0),
                name="own",
                synchronization=ss.VariableSynchronization.ON_READ,
                aggregation=ss.VariableAggregation.SUM,
                trainable=False,
            )

        def step(is_equal):
            rank = np.float32(context().replica_id_in_sync_group)
            own.assign_add(rank)
            kept.assign_add(np.float32(1) if is_equal else rank)

        strategy.run(step, args=(True,))
        strategy.run(step, args=(False,))

    data = data_of(record(program, semantics=ss.Semantics.TF2))
    assert [str(one.category.__name__) for one in recwarn] == ["MirroredDiverged"]
    (at,) = data["marks"]["diverged"]
    assert data["stops"][at][1] == 2
    assert sum(phase == 2 for _, phase, _ in data["stops"][: at + 1]) == 2
    kept, own = data["variables"]
    assert (kept["name"], kept["apart"], own["apart"]) == ("kept", False, True)
    assert [operation for _, operation, _ in kept["writes"]] == ["create", *["assign_add"] * 4]
    texts = [[(rank, data["values"][value]["texts"]) for rank, value in changed] for _, _, changed in kept["writes"]]
    assert texts[1:] == [[(0, ["1.0"])], [(1, ["1.0"])], [(0, ["1.0"])], [(1, ["2.0"])]]


def test_workers_wait_for_each_other_and_have_columns_of_their_own(record):
    recorder = ss.trace.Recorder()
    cluster = ss.sim.Cluster(2, 2, trace=recorder)
    cluster.run(lambda strategy: strategy.run(lambda: context().all_reduce("SUM", np.float32(1))))
    data = data_of(recorder.recording())
    assert data["columns"] == [[0, 1], [2, 3]]
    captions = [text for _, _, text in data["stops"]]
    assert "Replicas 0 and 1 have arrived at all_reduce SUM at test_data.py" in " ".join(captions)
    sums = [event["additions"]["sums"] for event in data["events"] if event.get("kind") == "all_reduce"]
    assert [len(one[0]["steps"]) for one in sums] == [3, 3]


def test_a_replica_function_that_raises_is_no_disagreement(record):
    def step():
        if context().replica_id_in_sync_group == 1:
            raise ss.errors.InvalidArgument("of the program")
        context().all_reduce("SUM", np.float32(1))

    data = data_of(record(lambda strategy: strategy.run(step)))
    texts = " ".join(data["stops"][at][2] for at in data["marks"]["error"])
    assert "all_reduce SUM ends with InvalidArgument at test_data.py" in texts
    assert "do not all make the same call" not in texts


def test_rows_that_two_replicas_have_are_counted(record):
    def program(strategy):
        rows = ss.data.Dataset.from_tensor_slices(np.float32([1, 2, 1, 3])).batch(4)
        next(iter(strategy.experimental_distribute_dataset(rows)))

    (event,) = [event for event in data_of(record(program))["events"] if event["is"] == "parts"]
    assert event["repeated"] == [1, 1]


def test_a_recording_without_an_end_is_walked_to_where_it_stops(record):
    whole = record(trained)
    points = (*whole.points[:-1], whole.points[-1]._replace(ended=False, until=None, outputs=()))
    data = data_of(whole._replace(points=points, results=(), complete=False))
    assert not data["complete"]
    assert data["stops"][-2][2].endswith("The recording stops here, before this has ended.")


def test_an_empty_recording_has_one_stop_that_states_it(record):
    data = data_of(ss.trace.Recorder().recording())
    assert [text.partition(":")[0] for _, _, text in data["stops"]] == ["Nothing was recorded"]


@pytest.mark.parametrize(
    ("replicas", "others"), [(1, "."), (2, ", so the other replicas cannot make their next call.")]
)
def test_who_waits_for_a_replica_that_raised_is_stated_where_there_is_another(replicas, others):
    recorder = ss.trace.Recorder()

    def program():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        ss.Strategy.mirrored("sim", replicas=replicas, trace=recorder).run(program)
    assert f"A replica function raised ValueError{others}" in str(data_of(recorder.recording()))
