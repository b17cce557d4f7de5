"""Losses of a replica as its share of the whole batch's.  Clauses: X-14, X-15."""

import numpy as np
import pytest
from vocabulary import ctx

import simstrategy as ss
from simstrategy.errors import ContextError, InvalidArgument, InvalidType
from simstrategy.nn import compute_average_loss, scale_regularization_loss

LOSSES = np.float32([1, 2, 3])


def test_a_replicas_losses_are_divided_by_all_replicas_examples(mirrored, same, executor):
    strategy = mirrored(2, executor=executor)
    for batch, wanted in ((None, 1), (12, 0.5), (np.int64(12), 0.5), (np.array(12), 0.5)):
        result = strategy.run(lambda batch=batch: compute_average_loss(LOSSES, global_batch_size=batch))
        for value in result.values:
            same(value, np.float32(wanted))
        assert [value.placement for value in result.values] == ["sim:0", "sim:1"]
    array = strategy.run(lambda: compute_average_loss(LOSSES, global_batch_size=ctx().xp.asarray(12)))
    same(array.values[1], np.float32(0.5))


def test_the_sum_over_the_replicas_is_the_mean_of_the_whole_batch(mirrored, same):
    strategy = mirrored(3)
    rows = ss.PerReplica([np.float32([1, 2]), np.float32([3, 4]), np.float32([5, 6])])
    shares = strategy.run(compute_average_loss, args=(rows,))
    same(strategy.reduce("SUM", shares), np.float32(3.5))
    partial = ss.PerReplica([np.float32([1, 2]), np.float32([3]), np.float32([])])
    shares = strategy.run(lambda row: compute_average_loss(row, global_batch_size=3), args=(partial,))
    same(strategy.reduce("SUM", shares), np.float32(2))


@pytest.mark.parametrize(
    ("losses", "wanted"),
    [
        ([1.0, 2.0], np.float32(1.5)),
        (np.float64([1, 2]), np.float64(1.5)),
        (np.float16([1, 2]), np.float16(1.5)),
        (np.float16([60000, 60000]), np.float16(np.inf)),
        (np.int32([1, 2]), np.float64(1.5)),
        (np.int64([1, 2]), np.float64(1.5)),
        (np.uint8([200, 200]), np.float32(72)),
        (np.complex64([1 + 1j, 2]), np.complex64(1.5 + 0.5j)),
        (np.ones((2, 3), np.float32), np.float32(3)),
        (np.ones((2, 3, 4), np.float32), np.float32(12)),
        (np.zeros(0, np.float32), np.float32(0)),
        (np.zeros(0, np.int32), np.float64(0)),
        (np.float32([np.nan, 1]), np.float32(np.nan)),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_a_table_of_losses_without_weights_where_no_strategy_is_current(same, losses, wanted):
    same(compute_average_loss(losses), wanted)


def test_no_examples_at_all_have_no_loss_even_if_it_is_not_finite(same):
    same(compute_average_loss(np.float32([np.inf]), global_batch_size=0), np.float32(0))


@pytest.mark.parametrize(
    ("losses", "weights", "wanted"),
    [
        (LOSSES, [1.0, 0.0, 2.0], np.float32(7 / 3)),
        (LOSSES, [1, 0, 2], np.float32(7 / 3)),
        (LOSSES, np.float64([1, 0, 2]), np.float32(7 / 3)),
        (LOSSES, np.array([True, False, True]), np.float32(4 / 3)),
        (LOSSES, 2.0, np.float32(4)),
        (LOSSES, [2.0], np.float32(4)),
        (LOSSES, [[1.0], [2.0], [3.0]], np.float32(14 / 3)),
        (np.float32([[1, 2, 3], [4, 5, 6]]), [1.0, 2.0], np.float32(18)),
        (np.float32([[1, 2, 3], [4, 5, 6]]), [[1.0], [2.0]], np.float32(18)),
        (np.float32([[1, 2], [4, 5]]), [1.0, 10.0], np.float32(46.5)),
        (np.ones((2, 3, 4), np.float32), [[1.0, 10.0, 1.0], [1.0, 1.0, 1.0]], np.float32(30)),
        (np.ones((2, 3, 4), np.float32), [[1.0], [10.0]], np.float32(66)),
        (np.ones((2, 3), np.float32), np.ones((2, 3, 1)), np.float32(3)),
        (np.float16([1, 2]), np.float32([1, 2]), np.float16(2.5)),
        (np.float64([1 / 3, 2 / 3]), [1.0, 1.0], np.float64(0.5)),
        (np.int32([1, 2]), [0.5, 0.5], np.float64(0.75)),
        (np.complex64([1 + 1j, 2]), [1.0, 2.0], np.complex64(2.5 + 0.5j)),
        (np.float32([np.inf, 1]), [0.0, 1.0], np.float32(np.nan)),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_table_of_weights(same, losses, weights, wanted):
    same(compute_average_loss(losses, sample_weight=weights), wanted)


def site(raised):
    return f"test_nn.py:{raised.traceback[0].lineno + 1}"


@pytest.mark.parametrize(("losses", "weights"), [(3, 4), ((2, 3), 3), ((2, 3, 4), 2), ((2, 3), (2, 3, 4)), (3, (1, 3))])
def test_weights_that_fit_no_example_are_refused(losses, weights):
    losses, weights = np.ones(losses, np.float32), np.ones(weights, np.float32)
    with pytest.raises(InvalidArgument) as raised:
        compute_average_loss(losses, weights)
    assert str(raised.value) == (
        f"compute_average_loss at {site(raised)} got sample_weight of shape {list(weights.shape)} for losses of shape "
        f"{list(losses.shape)}. Give one weight per example."
    )


@pytest.mark.parametrize("scalar", [2.0, np.float32(2), 2])
def test_losses_have_a_dimension_of_examples(scalar):
    with pytest.raises(InvalidArgument) as raised:
        compute_average_loss(scalar, global_batch_size=4)
    assert str(raised.value) == (
        f"compute_average_loss at {site(raised)} takes one loss per example, at least of rank 1, and got a scalar. Do "
        f"not average before: pass the losses of all examples."
    )


@pytest.mark.parametrize("call", [compute_average_loss, scale_regularization_loss])
def test_truth_values_texts_and_distributed_values_are_no_losses(call):
    with pytest.raises(InvalidArgument) as raised:
        call(np.array([True]))
    assert str(raised.value) == (
        f"{call.__name__} at {site(raised)} got bool, which has no sum. Cast it first: xp.astype(x, 'float32')."
    )
    for wrong in ("a", None, ["a"]):
        with pytest.raises(InvalidType, match="Expected an array, a number or a nest of them"):
            call(wrong)
    with pytest.raises(InvalidArgument, match="Give rows of equal length"):
        call([[1.0], [1.0, 2.0]])
    with pytest.raises(InvalidType, match="It looks like you are using a PerReplica object"):
        call(ss.PerReplica([np.ones(1)]))


@pytest.mark.parametrize(
    ("batch", "error", "text"),
    [
        (12.0, InvalidType, "global_batch_size must be an integer: compute_average_loss at {} got 12.0. Pass one int."),
        ("12", InvalidType, "global_batch_size must be an integer: compute_average_loss at {} got '12'. Pass one int."),
        (True, InvalidType, "global_batch_size must be an integer: compute_average_loss at {} got True. Pass one int."),
        ([12], InvalidType, "global_batch_size must be an integer: compute_average_loss at {} got [12]. Pass one int."),
        (
            -1,
            InvalidArgument,
            "global_batch_size must be non-negative: compute_average_loss at {} got -1. Pass the number of examples.",
        ),
    ],
)
def test_a_global_batch_size_is_an_int_that_is_not_negative(batch, error, text):
    with pytest.raises(error) as raised:
        compute_average_loss(LOSSES, global_batch_size=batch)
    assert str(raised.value) == text.format(site(raised))


def test_a_global_batch_size_is_a_scalar(mirrored):
    with mirrored(1).scope() as strategy, pytest.raises(InvalidArgument) as raised:
        compute_average_loss(LOSSES, global_batch_size=strategy.xp.asarray([12]))
    assert str(raised.value) == (
        f"global_batch_size must be scalar: compute_average_loss at {site(raised)} got int32[1]. Pass one int."
    )


@pytest.mark.parametrize("call", [compute_average_loss, scale_regularization_loss])
def test_shares_are_taken_in_replica_contexts(mirrored, call):
    strategy = mirrored(2)
    with strategy.scope(), pytest.raises(ContextError) as raised:
        call(LOSSES)
    assert str(raised.value) == (
        f"You are calling `{call.__name__}` in cross replica context, while it was expected to be called in replica "
        f"context ({site(raised)}). Call it in the function that run is given."
    )
    with pytest.raises(ContextError, match="in cross replica context"):
        strategy.run(lambda: ctx().merge_call(lambda merging: call(LOSSES)))


def test_a_batch_size_makes_a_scope_no_obstacle(mirrored, same):
    with mirrored(2).scope():
        same(compute_average_loss(LOSSES, global_batch_size=4), np.float32(1.5))


@pytest.mark.parametrize(
    ("loss", "wanted"),
    [
        (np.float32([1, 2]), np.float32(1.5)),
        (np.float32(3), np.float32(1.5)),
        ([1.0, 2.0], np.float32(1.5)),
        (3.0, np.float32(1.5)),
        (np.int32([1, 2]), np.float64(1.5)),
        (np.float64([1, 2]), np.float64(1.5)),
        (np.float16([1, 2]), np.float16(1.5)),
        (np.ones((2, 2), np.float32), np.float32(2)),
        (np.zeros(0, np.float32), np.float32(0)),
    ],
)
def test_a_regularization_loss_is_shared_by_the_replicas(mirrored, same, loss, wanted):
    for value in mirrored(2).run(lambda: scale_regularization_loss(loss)).values:
        same(value, wanted)


def test_a_list_of_arrays_is_one_regularization_loss(mirrored, same):
    result = mirrored(2).run(lambda: scale_regularization_loss([ctx().xp.asarray(1.0), 2.0]))
    same(result.values[0], np.float32(1.5))
    same(scale_regularization_loss(np.float32([1, 2])), np.float32(3))


def test_variables_and_captured_values_are_the_replicas_own(mirrored, same):
    strategy = mirrored(2)
    with strategy.scope():
        weights = ss.Variable(np.float32([1, 2]))
    same(strategy.run(lambda: scale_regularization_loss(weights)).values[1], np.float32(1.5))


def test_workers_count_all_replicas(same):
    for values in ss.sim.Cluster(2, 2).run(lambda strategy: strategy.run(lambda: compute_average_loss(LOSSES)).values):
        same(values[0], np.float32(0.5))
