"""Input functions and input iterators: their arguments, the elements of a step, and the end.

# Clauses: D-2, D-12, D-13, D-14
"""

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.data import Dataset, ElementSpec
from simstrategy.errors import ContextError, InvalidArgument, InvalidType, OutOfRangeError
from simstrategy.strategy import group_of

PER_REPLICA = ss.InputOptions(experimental_replication_mode=ss.InputReplicationMode.PER_REPLICA)
PROFILES = [ss.Semantics.TF1_13, ss.Semantics.TF1_15, ss.Semantics.TF2]


def test_a_context_tells_the_batch_size_for_one_replica():
    context = ss.InputContext(4, 1, 8)
    assert context.get_per_replica_batch_size(32) == context.get_per_replica_batch_size(np.int64(32)) == 4
    assert context.get_per_replica_batch_size(0) == 0
    assert str(context) == "InputContext(input pipeline id 1, total: 4)"
    assert ss.InputContext() == ss.InputContext(num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=1)
    with pytest.raises(InvalidArgument, match="`global_batch_size` 9 is not divisible by `num_replicas_in_sync` 8"):
        context.get_per_replica_batch_size(9)
    for wrong in (8.0, True, "8"):
        with pytest.raises(InvalidType, match="global batch size is an int"):
            context.get_per_replica_batch_size(wrong)


# Functions that make datasets.


def test_a_dataset_function_is_called_at_once_for_each_worker_and_nothing_is_split(steps_of):
    def main(strategy):
        contexts = []

        def dataset_fn(context):
            contexts.append(context)
            return Dataset.range(context.input_pipeline_id * 10, context.input_pipeline_id * 10 + 6).batch(2)

        distributed = strategy.distribute_datasets_from_function(dataset_fn)
        assert len(contexts) == 1
        return contexts[0], steps_of(strategy, distributed)

    (first, one), (second, two) = ss.sim.Cluster(2, 2).run(main)
    assert (first, second) == (ss.InputContext(2, 0, 4), ss.InputContext(2, 1, 4))
    assert one == [[[0, 1], [2, 3]], [[4, 5], []]]
    assert two == [[[10, 11], [12, 13]], [[14, 15], []]]


@pytest.mark.parametrize(
    ("drop", "last"), [(False, [[[0, 1, 2], [3, 4, 5]], [[6], []]]), (True, [[[0, 1, 2], [3, 4, 5]]])]
)
def test_an_incomplete_step_has_empties_unless_all_elements_are_of_one_form(mirrored, steps_of, drop, last):
    strategy = mirrored(2)
    for name in ("distribute_datasets_from_function", "experimental_distribute_datasets_from_function"):
        distribute = getattr(strategy, name)
        dataset = Dataset.range(7).batch(3, drop_remainder=drop)
        for one in (dataset, dataset.map(lambda x: x + 0)):
            assert steps_of(strategy, distribute(lambda context, one=one: one)) == last


def test_scalars_have_no_empties_so_an_incomplete_step_is_dropped_everywhere(mirrored, steps_of):
    strategy = mirrored(3)
    assert steps_of(strategy, strategy.distribute_datasets_from_function(lambda context: Dataset.range(10))) == [
        [0, 1, 2],
        [3, 4, 5],
        [6, 7, 8],
    ]

    def main(strategy):
        count = 3 + 2 * group_of(strategy).coordinator.worker
        return steps_of(strategy, strategy.distribute_datasets_from_function(lambda context: Dataset.range(count)))

    assert ss.sim.Cluster(2, 2).run(main) == ([[0, 1]], [[0, 1]])


def test_with_several_workers_even_batches_of_one_form_have_empties(steps_of):
    def main(strategy):
        count = 2 + 4 * group_of(strategy).coordinator.worker
        dataset = Dataset.range(count).batch(2, drop_remainder=True)
        return steps_of(strategy, strategy.distribute_datasets_from_function(lambda context: dataset))

    assert ss.sim.Cluster(2, 2).run(main) == ([[[0, 1], []], [[], []]], [[[0, 1], [2, 3]], [[4, 5], []]])


def test_per_replica_the_function_is_called_for_each_replica_of_all_workers(mirrored, steps_of):
    def main(strategy):
        contexts = []

        def dataset_fn(context):
            contexts.append(context)
            start = context.input_pipeline_id * 10
            return Dataset.range(start, start + 1 + context.input_pipeline_id).batch(1)

        steps = steps_of(strategy, strategy.distribute_datasets_from_function(dataset_fn, PER_REPLICA))
        return [(one.num_input_pipelines, one.input_pipeline_id, one.num_replicas_in_sync) for one in contexts], steps

    (first, one), (second, two) = ss.sim.Cluster(2, 2).run(main)
    assert first == [(4, 0, 4), (4, 1, 4)]
    assert second == [(4, 2, 4), (4, 3, 4)]
    assert one == [[[0], [10]], [[], [11]], [[], []], [[], []]]
    assert two == [[[20], [30]], [[21], [31]], [[22], [32]], [[], [33]]]
    strategy = mirrored(2)
    uneven = strategy.distribute_datasets_from_function(
        lambda context: Dataset.range(1 + context.input_pipeline_id), PER_REPLICA
    )
    assert steps_of(strategy, uneven) == [[0, 0]]


def test_what_a_function_returns_may_be_any_iterable_of_batches(mirrored, steps_of):
    strategy = mirrored(2)
    for made in ([np.arange(2), np.arange(1)], (np.arange(n) for n in (2, 1))):
        distributed = strategy.distribute_datasets_from_function(lambda context, made=made: made)
        assert steps_of(strategy, distributed) == [[[0, 1], [0]]]
    scalars = strategy.distribute_datasets_from_function(lambda context: iter([1, 2, 3]))
    assert steps_of(strategy, scalars) == [[1, 2]]


def test_the_form_of_dealt_elements_is_the_datasets_own(mirrored):
    distributed = mirrored(2).distribute_datasets_from_function(
        lambda context: Dataset.range(7).batch(3, drop_remainder=True)
    )
    assert distributed.element_spec.values == (ElementSpec((3,), "int64"),) * 2


def test_what_is_no_function_or_makes_no_dataset_is_refused(mirrored):
    strategy = mirrored(2)
    with pytest.raises(InvalidType, match="dataset_fn is a function of an InputContext that returns a dataset, got"):
        strategy.distribute_datasets_from_function(Dataset.range(2))
    with pytest.raises(InvalidType, match="Expected a dataset or an iterable of batches, got a int"):
        strategy.distribute_datasets_from_function(lambda context: 3)
    with pytest.raises(InvalidType, match="input_fn is a function of an InputContext, got 3"):
        strategy.make_input_fn_iterator(3)
    with pytest.raises(InvalidArgument, match="input_fn must return a dataset or a callable; it returned 3"):
        strategy.make_input_fn_iterator(lambda context: 3)
    for mode in (ss.InputReplicationMode.PER_REPLICA, "PER_WORKER"):
        with pytest.raises(InvalidArgument, match="Input replication mode not supported: "):
            strategy.make_input_fn_iterator(lambda context: Dataset.range(2), mode)


# Input iterators.


def test_an_input_iterator_begins_anew_and_ends_like_any_other(mirrored, steps_of):
    strategy = mirrored(2)
    for iterator in (
        strategy.make_dataset_iterator(Dataset.range(4).batch(2)),
        strategy.make_input_fn_iterator(lambda context: Dataset.range(4).batch(1)),
    ):
        wanted = [[[0], [1]], [[2], [3]]]
        assert steps_of(strategy, iterator) == wanted
        assert iterator.initialize() == []
        assert steps_of(strategy, [iterator.get_next(), next(iterator)]) == wanted
        with pytest.raises(OutOfRangeError, match=r"no further step\. Call initialize\(\)"):
            iterator.get_next()
        assert not iterator.get_next_as_optional().has_value()
        with pytest.raises(ContextError, match="outside of the replica function"):
            strategy.run(iterator.get_next)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
@pytest.mark.parametrize(("total", "wanted"), [(5, [[0, 1], [2, 3]]), (4, [[0, 1], [2, 3]]), (1, [])])
def test_an_input_function_deals_scalars_and_drops_an_incomplete_step_in_every_profile(
    mirrored, steps_of, profile, total, wanted
):
    strategy = mirrored(2, semantics=profile)
    assert steps_of(strategy, strategy.make_input_fn_iterator(lambda context: Dataset.range(total))) == wanted


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
@pytest.mark.parametrize("drop", [False, True])
def test_an_incomplete_step_of_an_input_function_is_filled_up_in_tf1_15_and_dropped_before_and_after(
    mirrored, steps_of, profile, drop
):
    strategy = mirrored(2, semantics=profile)

    def steps(total):
        dataset = Dataset.range(total).batch(3, drop_remainder=drop)
        return steps_of(strategy, strategy.make_input_fn_iterator(lambda context: dataset))

    whole = [[[0, 1, 2], [3, 4, 5]]]
    assert steps(7) == ([*whole, [[6], []]] if profile is ss.Semantics.TF1_15 and not drop else whole)
    if profile is ss.Semantics.TF1_13 and not drop:
        with pytest.raises(InvalidArgument) as raised:
            steps(11)
        assert str(raised.value) == (
            "Cannot batch tensors with different shapes in component 0. First element had shape [3] and element 1 had "
            "shape [2]: TensorFlow 1.13 stacks the parts of a step. Drop the remainder in batch, or use "
            "Semantics.TF1_15 or TF2, which deliver such a step."
        )
    else:
        assert steps(11) == (whole if drop else [*whole, [[6, 7, 8], [9, 10]]])


def test_an_input_function_may_return_a_function_that_is_called_for_every_element(mirrored, steps_of):
    for error in (StopIteration, OutOfRangeError("end")):
        calls = []

        def element(error=error, calls=calls):
            calls.append(1)
            if len(calls) > 5:
                raise error
            return len(calls), "text"

        strategy = mirrored(2)
        iterator = strategy.make_input_fn_iterator(lambda context, element=element: element)
        assert steps_of(strategy, iterator, lambda step: step[0]) == [[1, 2], [3, 4]]
        with pytest.raises(InvalidArgument, match="The spec of the elements cannot be determined"):
            _ = iterator.element_spec


def test_tf1_13_shares_batches_out_evenly_and_drops_the_rest(mirrored, steps_of):
    strategy = mirrored(2, semantics=ss.Semantics.TF1_13)
    eleven = Dataset.range(11).batch(4)
    iterator = strategy.make_dataset_iterator(eleven.prefetch(1))
    assert [[part.tolist() for part in iterator.get_next().values] for _ in range(2)] == [
        [[0, 1], [2, 3]],
        [[4, 5], [6, 7]],
    ]
    with pytest.raises(InvalidArgument, match=r"First element had shape \[2\] and element 1 had shape \[1\]"):
        iterator.get_next()
    assert len(steps_of(strategy, strategy.make_dataset_iterator(Dataset.range(10).batch(4)))) == 2
    with pytest.raises(InvalidArgument, match="Batch size 3 cannot be sharded evenly across replicas 2"):
        strategy.make_dataset_iterator(Dataset.range(9).batch(3))
    for unbatched in (Dataset.range(9), eleven.repeat(2), eleven.map(lambda x: x), [np.arange(4)]):
        with pytest.raises(InvalidArgument, match="Unable to get batched dataset from the input dataset"):
            strategy.make_dataset_iterator(unbatched)
        with pytest.raises(InvalidArgument, match="Unable to get batched dataset from the input dataset"):
            mirrored(1, semantics=ss.Semantics.TF1_13).make_dataset_iterator(unbatched)
    alone = mirrored(1, semantics=ss.Semantics.TF1_13)
    assert steps_of(alone, alone.make_dataset_iterator(eleven))[-1] == [[8, 9, 10]]
    spec = strategy.make_dataset_iterator(Dataset.range(8).batch(4, drop_remainder=True)).element_spec
    assert spec.values == (ElementSpec((2,), "int64"),) * 2


def test_tf1_13_deals_even_parts_to_workers_by_turns(steps_of):
    def main(strategy):
        return steps_of(strategy, strategy.make_dataset_iterator(Dataset.range(12).batch(8)))

    cluster = ss.sim.Cluster(2, 2, semantics=ss.Semantics.TF1_13)
    assert cluster.run(main) == ([[[0, 1], [4, 5]]], [[[2, 3], [6, 7]]])


@pytest.mark.parametrize("profile", PROFILES[1:], ids=lambda profile: profile.name)
def test_later_profiles_split_as_ever(mirrored, steps_of, profile):
    strategy = mirrored(2, semantics=profile)
    dataset = Dataset.range(11).batch(3)
    found = steps_of(strategy, strategy.make_dataset_iterator(dataset))
    assert found == steps_of(strategy, strategy.experimental_distribute_dataset(dataset))
    assert found[-1] == [[9], [10]]


# NumPy data, and the default strategy.


def test_a_numpy_dataset_has_the_rows_of_a_nest(mirrored):
    strategy = mirrored(2)
    dataset = strategy.experimental_make_numpy_dataset({"x": np.arange(3), "y": [np.ones(2), np.ones(2), np.zeros(2)]})
    assert [one["y"].tolist() for one in dataset] == [[1, 1], [1, 1], [0, 0]]
    with pytest.raises(InvalidArgument, match="all need the same number"):
        strategy.experimental_make_numpy_dataset((np.arange(2), np.arange(3)))


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.experimental_make_numpy_dataset(np.arange(2)),
        lambda s: s.distribute_datasets_from_function(lambda context: []),
        lambda s: s.experimental_distribute_datasets_from_function(lambda context: []),
        lambda s: s.make_dataset_iterator([]),
        lambda s: s.make_input_fn_iterator(lambda context: []),
    ],
)
def test_data_comes_to_a_strategy_outside_replica_functions(mirrored, call):
    strategy = mirrored(2)
    with pytest.raises(ContextError, match="cross-replica context"):
        strategy.run(lambda: call(strategy))


def test_the_default_strategy_hands_a_dataset_back_as_it_is():
    strategy, dataset = ss.get_strategy(), Dataset.range(3)
    assert strategy.experimental_distribute_dataset(dataset) is dataset
    assert strategy.distribute_datasets_from_function(lambda context: (context, dataset)) == (
        ss.InputContext(),
        dataset,
    )
    assert [type(one) for one in strategy.make_dataset_iterator(dataset)] == [np.ndarray] * 3
