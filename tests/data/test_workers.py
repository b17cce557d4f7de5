"""Datasets on several workers: who reads what under each policy, and how iteration ends for all at once.

# Clauses: D-4, D-5, D-6, D-7, D-8, D-10
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simstrategy as ss
from simstrategy.data import (
    SHARD_HINT,
    AutoShardPolicy,
    Dataset,
    ElementSpec,
    Options,
    ShardedByElement,
    TextLineDataset,
)
from simstrategy.errors import InvalidArgument, PeerFailed, ReplicasDisagree
from simstrategy.strategy import group_of

OFF, AUTO, FILE, DATA, HINT = (AutoShardPolicy[name] for name in ("OFF", "AUTO", "FILE", "DATA", "HINT"))
TF2 = {"semantics": ss.Semantics.TF2}


def by(policy, rule=None):
    return ss.InputOptions(auto_shard_policy=policy, split_rule=rule)


def flat(steps):
    return [one for step in steps for part in step for one in part]


# By element.


@pytest.mark.parametrize("policy", [AUTO, DATA])
def test_data_without_files_is_dealt_by_element_whatever_the_profile(on_workers, policy):
    for profile in (ss.Semantics.TF1_13, ss.Semantics.TF1_15, ss.Semantics.TF2):
        first, second = on_workers(2, 2, Dataset.range(16).batch(8), by(policy), semantics=profile)
        assert first == [[[0, 1], [4, 5]], [[8, 9], [12, 13]]]
        assert second == [[[2, 3], [6, 7]], [[10, 11], [14, 15]]]


def test_the_last_batch_may_leave_whole_workers_empty(on_workers):
    assert on_workers(3, 1, Dataset.range(8).batch(4)) == (
        [[[0, 1]], [[4, 5]]],
        [[[2, 3]], [[6, 7]]],
        [[[]], [[]]],
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 15), st.integers(1, 6), st.integers(1, 3), st.integers(1, 3), st.sampled_from(ss.data.SplitRule))
def test_every_element_reaches_exactly_one_replica_of_all_workers(size, batch, workers, replicas, rule):
    def main(strategy):
        distributed = strategy.experimental_distribute_dataset(Dataset.range(size).batch(batch), by(DATA, rule))
        return [np.concatenate([[], *strategy.experimental_local_results(step)]).tolist() for step in distributed]

    found = ss.sim.Cluster(workers, replicas).run(main)
    assert sorted(one for steps in found for step in steps for one in step) == list(range(size))
    assert len({len(steps) for steps in found}) == 1


# Everything to everyone.


def test_off_gives_every_worker_everything(on_workers):
    ten = Dataset.range(10).batch(4)
    for found in on_workers(2, 1, ten, by(OFF)):
        assert found == [[[0, 1]], [[2, 3]], [[4, 5]], [[6, 7]], [[8]], [[9]]]
    assert on_workers(3, 1, ten, by(OFF), **TF2) == (
        [[[0, 1]], [[2]], [[3]], [[4, 5]], [[6]], [[7]], [[8, 9]], [[]]],
        [[[0]], [[1]], [[2, 3]], [[4]], [[5]], [[6, 7]], [[8]], [[9]]],
        [[[0]], [[1, 2]], [[3]], [[4]], [[5, 6]], [[7]], [[8]], [[9]]],
    )


def test_a_stream_has_steps_of_nothing_where_the_batch_is_smaller_than_the_replicas(on_workers):
    first, second = on_workers(2, 3, Dataset.range(4).batch(2), by(OFF), **TF2)
    nothing = [[], [], []]
    assert first == [[[0], [1], []], nothing, [[2], [3], []], nothing, nothing]
    assert second == [nothing, [[0], [1], []], nothing, [[2], [3], []], nothing]


def test_a_hint_says_where_the_shard_goes_and_without_one_everyone_has_everything(on_workers):
    hinted = Dataset.range(8).shard(SHARD_HINT, 0).map(lambda x: x * 10).batch(2)
    for settings_ in ({}, TF2):
        first, second = on_workers(2, 1, hinted, by(HINT), **settings_)
        assert flat(first) == [0, 20, 40, 60]
        assert flat(second) == [10, 30, 50, 70]
    assert [flat(one) for one in on_workers(2, 1, Dataset.range(3).batch(2), by(HINT))] == [[0, 1, 2]] * 2
    assert flat(on_workers(1, 2, hinted, by(HINT))[0]) == list(range(0, 80, 10))
    few = Dataset.range(2).shard(SHARD_HINT, 0).batch(2)
    for outcome in ss.sim.Cluster(3, 1).outcomes(lambda s: list(s.experimental_distribute_dataset(few, by(HINT)))):
        assert isinstance(outcome.error, InvalidArgument)
        assert "only 2 element(s) before shard(SHARD_HINT, 0), which is not enough for 3" in str(outcome.error)
    assert on_workers(3, 1, few.take(0), by(HINT)) == ([], [], [])
    assert on_workers(3, 1, Dataset.range(0).shard(SHARD_HINT, 0).batch(2), by(HINT)) == ([], [], [])
    with pytest.raises(InvalidArgument, match=r"shard\(SHARD_HINT, 0\) has no number of shards before"):
        on_workers(2, 1, hinted, by(OFF))


# By file.


def test_a_worker_reads_every_so_manyth_file_and_runs_the_users_steps_on_them(on_workers, text_files):
    names = text_files(3, 1, 2)
    for dataset in (
        TextLineDataset(names),
        Dataset.from_tensor_slices(names).flat_map(TextLineDataset),
        Dataset.from_tensor_slices(names).interleave(TextLineDataset, 1),
        Dataset.from_tensor_slices(names).flat_map(lambda name: Dataset.from_tensors(name).flat_map(TextLineDataset)),
    ):
        for profile in (ss.Semantics.TF1_15, ss.Semantics.TF2):
            first, second = on_workers(2, 1, dataset.take(4).batch(2), semantics=profile)
            assert flat(first) == [b"f0-0", b"f0-1", b"f0-2", b"f2-0"]
            assert flat(second) == [b"f1-0"]
            assert len(first) == len(second)


def test_batches_of_files_are_a_stream_in_tf2_and_cut_one_by_one_before(on_workers, text_files):
    dataset = TextLineDataset(text_files(7, 7)).batch(7)
    first, second = on_workers(2, 2, dataset, **TF2)
    assert [[len(part) for part in step] for step in first] == [[2, 2], [2, 1]]
    assert [[len(part) for part in step] for step in second] == [[2, 1], [2, 2]]
    first, second = on_workers(2, 2, dataset)
    assert [[len(part) for part in step] for step in first] == [[2, 2], [2, 1]]
    assert [[len(part) for part in step] for step in second] == [[2, 2], [2, 1]]


def test_names_that_are_repeated_are_dealt_after_repeating(on_workers, text_files):
    names = Dataset.from_tensor_slices(text_files(1, 1, 1)).repeat(2)
    first, second = on_workers(2, 1, TextLineDataset(names).batch(1), **TF2)
    assert [one for one in flat(first) if one] == [b"f0-0", b"f2-0", b"f1-0"]
    assert [one for one in flat(second) if one] == [b"f1-0", b"f0-0", b"f2-0"]


def test_fewer_files_than_workers_are_sharded_by_element_with_a_warning_or_refused(on_workers, text_files):
    dataset = TextLineDataset(text_files(2, 2)).batch(3)
    with pytest.warns(
        ShardedByElement, match=r"reads 2 file\(s\), fewer than the 3 workers, .* Write at least 3"
    ) as got:
        found = on_workers(3, 1, dataset)
    assert [flat(one) for one in found] == [[b"f0-0", b"f1-1"], [b"f0-1"], [b"f1-0"]]
    assert all(warning.filename.endswith("conftest.py") for warning in got)
    for policy in (AUTO, FILE):
        options = by(policy)
        outcomes = ss.sim.Cluster(3, 1, **TF2).outcomes(
            lambda strategy, options=options: list(strategy.experimental_distribute_dataset(dataset, options))
        )
        for outcome in outcomes:
            assert isinstance(outcome.error, InvalidArgument)
            assert "Could not apply FILE based sharding: the dataset only has 2 file(s)" in str(outcome.error)


@pytest.mark.parametrize("call", ["experimental_distribute_dataset", "make_dataset_iterator"])
def test_the_warning_names_the_line_of_the_users_call(call, text_files):
    dataset = TextLineDataset(text_files(2, 2)).batch(3)

    def main(strategy):
        getattr(strategy, call)(dataset)

    with pytest.warns(ShardedByElement) as got:
        ss.sim.Cluster(3, 1).run(main)
    assert {(warning.filename, warning.lineno) for warning in got} == {(__file__, main.__code__.co_firstlineno + 1)}


def test_no_files_at_all_are_no_elements_at_all(on_workers):
    assert on_workers(2, 1, TextLineDataset([]).batch(2), by(FILE), **TF2) == ([], [])


def test_files_without_lines_count_as_files(on_workers, text_files):
    first, second = on_workers(2, 1, TextLineDataset(text_files(2, 0)).batch(2), by(FILE), **TF2)
    assert flat(first) == [b"f0-0", b"f0-1"]
    assert second == [[[]]] * len(first)


def test_files_to_deal_are_wanted_only_where_there_are_several_workers(on_workers):
    ten = Dataset.range(10).batch(4)
    with pytest.raises(
        InvalidArgument, match=r"Found an unshardable source dataset: AutoShardPolicy\.FILE distributes"
    ):
        on_workers(2, 1, ten, by(FILE))
    assert flat(on_workers(1, 2, ten, by(FILE))[0]) == list(range(10))


def test_a_zip_is_dealt_by_file_only_if_all_its_branches_read_files(on_workers, text_files):
    lines = TextLineDataset(text_files(2, 2))
    both = Dataset.zip((lines, lines)).map(lambda one, _: one).batch(1)
    assert [flat(one) for one in on_workers(2, 1, both)] == [[b"f0-0", b"f0-1"], [b"f1-0", b"f1-1"]]
    # TensorFlow 2.21.0 shards twice here, and half of the data never arrives.
    mixed = Dataset.zip((lines, Dataset.range(4))).map(lambda one, _: one).batch(2)
    for settings_ in ({}, TF2):
        found = on_workers(2, 1, mixed, **settings_)
        assert sorted(flat(found[0]) + flat(found[1])) == [b"f0-0", b"f0-1", b"f1-0", b"f1-1"]


def test_a_datasets_own_policy_holds_unless_the_call_says_otherwise(on_workers):
    off = Dataset.range(4).batch(2).with_options(Options(auto_shard_policy=OFF))
    assert [flat(one) for one in on_workers(2, 1, off)] == [[0, 1, 2, 3]] * 2
    assert [flat(one) for one in on_workers(2, 1, off, by(DATA))] == [[0, 2], [1, 3]]


# Steps that all workers take.


def test_iteration_goes_on_until_every_worker_is_out_of_data_and_empties_keep_their_form(text_files):
    dataset = Dataset.zip((TextLineDataset(text_files(1, 5)), TextLineDataset(text_files(1, 5)))).batch(2)

    def main(strategy):
        distributed = strategy.experimental_distribute_dataset(dataset.map(lambda one, _: np.ones((len(one), 3), "i1")))
        return [(step.shape, step.dtype.name, step.placement) for step in distributed]

    first, second = ss.sim.Cluster(2, 1).run(main)
    assert [shape for shape, _, _ in first] == [(1, 3), (0, 3), (0, 3), (0, 3), (0, 3), (0, 3)]
    assert [shape for shape, _, _ in second] == [(1, 3), (1, 3), (1, 3), (1, 3), (1, 3), (0, 3)]
    assert {dtype for _, dtype, _ in first + second} == {"int8"}
    assert {place for _, _, place in first} == {"sim:0"}


def test_a_worker_that_never_has_an_element_knows_the_form_of_empties_from_the_dataset(text_files):
    dataset = TextLineDataset(text_files(3, 0)).map(lambda line: np.float16([len(line.item())] * 2)).batch(2)

    def main(strategy):
        steps = list(strategy.experimental_distribute_dataset(dataset))
        return [(step.shape, step.dtype.name) for step in steps]

    first, second = ss.sim.Cluster(2, 1).run(main)
    assert second == [((0, 2), "float16")] * len(first)


def test_reduce_over_all_workers_is_right_while_some_are_out_of_data():
    def main(strategy):
        own = Dataset.range(1 + 4 * group_of(strategy).coordinator.worker).map(np.float32).batch(1)
        distributed = strategy.distribute_datasets_from_function(lambda context: own)
        return [float(strategy.reduce("MEAN", step, axis=0)) for step in distributed]

    assert ss.sim.Cluster(2, 1).run(main) == ([0.0, 1.0, 2.0, 3.0, 4.0],) * 2


def test_get_next_as_optional_agrees_like_next():
    def main(strategy):
        rows = 2 - group_of(strategy).coordinator.worker
        iterator = iter(strategy.distribute_datasets_from_function(lambda context: Dataset.range(rows).batch(1)))
        found = [iterator.get_next_as_optional() for _ in range(3)]
        return [np.asarray(one.get_value()).tolist() if one.has_value() else None for one in found]

    assert ss.sim.Cluster(2, 1).run(main) == ([[0], [1], None], [[0], [], None])


def test_a_worker_that_asks_for_no_step_where_another_does_is_named_to_both():
    def main(strategy):
        iterator = iter(strategy.experimental_distribute_dataset(Dataset.range(4).batch(2)))
        if group_of(strategy).coordinator.worker == 1:
            return strategy.reduce("SUM", np.float32(1))
        return next(iterator)

    for outcome in ss.sim.Cluster(2, 1).outcomes(main):
        assert isinstance(outcome.error, ReplicasDisagree)
        assert "worker 0: next at test_workers.py:" in str(outcome.error)


def test_a_worker_whose_source_fails_is_named_to_the_others():
    def main(strategy):
        def batches():
            yield np.arange(2)
            if group_of(strategy).coordinator.worker == 1:
                raise OSError("disk")
            yield np.arange(2)

        return list(strategy.experimental_distribute_dataset(batches()))

    waiting, failing = ss.sim.Cluster(2, 1).outcomes(main)
    assert isinstance(failing.error, OSError)
    assert isinstance(waiting.error, PeerFailed)
    assert "replica 1: OSError(disk)" in str(waiting.error)
    assert "worker 0: next at test_workers.py:" in str(waiting.error)


def test_the_steps_of_several_workers_are_in_the_trace_and_those_of_one_are_not():
    def main(strategy):
        return len(list(strategy.experimental_distribute_dataset(Dataset.range(4).batch(2))))

    for workers, wanted in ((2, {"next": 6}), (1, {})):
        trace = ss.trace.Trace()
        ss.sim.Cluster(workers, 1, trace=trace).run(main)
        assert Counter(event.kind for event in trace.events()) == wanted


# What workers do not share.


def test_each_worker_has_a_cache_and_draws_of_its_own():
    cached = Dataset.range(6).shuffle(6).cache().batch(6)

    def main(strategy):
        distributed = strategy.experimental_distribute_dataset(cached, by(OFF))
        return [flat([[part.tolist() for part in [step]] for step in distributed]) for _ in range(2)]

    schedule = ss.schedules.Recorded(ss.schedules.Seeded(3))
    first, second = ss.sim.Cluster(2, 1, schedule=schedule).run(main)
    assert first[0] == first[1] != second[0] == second[1]
    labels = {label for label, _, _ in schedule.draws if label != "task"}
    assert labels == {"shuffle of worker 0", "shuffle of worker 1"}
    assert next(iter(cached)).tolist() == list(range(6))


def test_with_several_workers_the_size_of_a_part_is_never_fixed():
    def main(strategy):
        dataset = Dataset.range(8).batch(4, drop_remainder=True)
        return strategy.experimental_distribute_dataset(dataset).element_spec

    assert ss.sim.Cluster(2, 1).run(main) == (ElementSpec((None,), "int64"),) * 2


def test_a_signature_tells_the_form_of_empties_that_come_before_any_element(on_workers):
    dataset = Dataset.from_generator(lambda: iter(()), ElementSpec((3,), "float32")).batch(1)

    def main(strategy):
        return [step.shape for step in strategy.experimental_distribute_dataset(dataset, by(OFF))]

    assert ss.sim.Cluster(2, 1, **TF2).run(main) == ([(0, 3)], [(0, 3)])
