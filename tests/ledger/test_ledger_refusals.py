"""What cannot be measured is refused with an error that names it, and never given a weight (L-3, L-4)."""

import types

import ledger_steps as steps
import numpy as np
import pytest
from ledger_steps import ctx, distributed, right, total

import simstrategy as ss
from simstrategy.errors import InvalidArgument, InvalidType


def after_reduction(change):
    """Returns a right step whose result is changed by `change(xp, result)`."""
    return distributed(lambda x, y, rows: change(ctx().xp, right(x, y, rows)))


NOT_LINEAR = {
    "clipped": lambda xp, total: xp.clip(total, -1.0, 1.0),
    "clipped by norm": lambda xp, total: (
        total / xp.maximum(xp.sqrt(xp.sum(total * total)), xp.asarray(1.0, dtype="float64"))
    ),
    "normalized": lambda xp, total: total / (xp.sqrt(xp.sum(total * total)) + 1e-12),
    "squared": lambda xp, total: total * total,
    "sizes": lambda xp, total: xp.abs(total),
    "small ones dropped": lambda xp, total: xp.where(xp.abs(total) < 1e-4, xp.zeros_like(total), total),
    "softmax": lambda xp, total: xp.exp(total) / xp.sum(xp.exp(total)),
    "columns mixed": lambda xp, total: total + xp.flip(total),
    "rounded": lambda xp, total: xp.round(total * 1000.0) / 1000.0,
    "sorted": lambda xp, total: xp.sort(total),
}


@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")
@pytest.mark.parametrize("name", NOT_LINEAR)
def test_a_step_that_is_not_linear_is_refused(name):
    with pytest.raises(InvalidArgument, match="is not linear in the probe rows with 1 replicas"):
        ss.ledger(after_reduction(NOT_LINEAR[name]), steps.batch())


def test_a_maximum_over_samples_is_not_linear():
    def replica(_x, _y, rows):
        return ctx().xp.max(rows, axis=0)

    with pytest.raises(InvalidArgument, match="not linear"):
        ss.ledger(distributed(replica), steps.batch())


def test_what_is_not_linear_with_some_numbers_of_replicas_only_is_refused_there():
    def change(xp, result):
        return xp.clip(result, -1.0, 1.0) if ctx().num_replicas_in_sync == 3 else result

    with pytest.raises(InvalidArgument, match="is not linear in the probe rows with 3 replicas"):
        ss.ledger(after_reduction(change), steps.batch())


def test_a_step_that_draws_anew_each_time_is_named_so():
    draws = iter(range(100))

    def change(_xp, result):
        return result * (1.0 + next(draws)) + next(draws)

    with pytest.raises(InvalidArgument, match="gives another result each time with 1 replicas"):
        ss.ledger(after_reduction(change), steps.batch())


def test_a_root_is_no_small_rational_and_its_square_is_named():
    def change(_xp, result):
        return result * ctx().num_replicas_in_sync ** 0.5

    with pytest.raises(
        InvalidArgument, match=r"Sample 0 has 1\.41421356\d+ times .* with 2 replicas.* Its square is 2\."
    ):
        ss.ledger(after_reduction(change), steps.batch())


def test_a_factor_that_float32_cannot_hold_is_refused():
    def replica(_x, _y, rows):
        factor = 1.0 if ctx().num_replicas_in_sync == 1 else 1 / 77
        return ctx().all_reduce("SUM", total(ctx().xp.astype(rows, "float32")) * factor)

    with pytest.raises(InvalidArgument, match="float32 has few bits"):
        ss.ledger(distributed(replica), steps.batch())


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda xp, total: None, "result is None, which is no array of floats"),
        (lambda xp, total: 1.0, "result is 1.0, which is no array of floats"),
        (lambda xp, total: {}, "holds no array"),
        (lambda xp, total: xp.astype(total * 1000.0, "int32"), "result is int32, in which small weights"),
        (lambda xp, total: xp.astype(total, "float16"), "result is float16, in which small weights"),
    ],
)
def test_a_result_that_holds_no_weights_is_refused(change, text):
    with pytest.raises(InvalidType, match=text):
        ss.ledger(after_reduction(change), steps.batch())


@pytest.mark.parametrize(
    ("replica", "shape"),
    [
        (lambda _x, _y, rows: ctx().xp.sum(rows), r"\[\]"),
        (lambda _x, _y, rows: ctx().xp.sum(rows, axis=1), r"\[10\]"),
        (lambda _x, _y, rows: rows, r"\[10, 11\]"),
    ],
)
def test_a_result_of_another_shape_is_refused(replica, shape):
    with pytest.raises(InvalidArgument, match=f"result has shape {shape} .* and probe has 11 columns"):
        ss.ledger(distributed(replica), steps.batch())


def test_a_step_that_does_not_use_the_probe_is_refused():
    with pytest.raises(InvalidArgument, match="With one replica no sample changes the step's result"):
        ss.ledger(after_reduction(lambda xp, total: xp.zeros_like(total)), steps.batch())


def test_nan_in_the_batch_is_named_by_its_row():
    x, y = steps.batch()
    x[6, 1] = np.nan

    def replica(x, y, rows):
        return right(x, y, rows) + ctx().xp.sum(x)

    with pytest.raises(InvalidArgument, match=r"NaN or infinite with one replica.* not finite in row 6"):
        ss.ledger(distributed(replica), (x, y))


@pytest.mark.parametrize(
    ("batch", "error", "text"),
    [
        ([], InvalidArgument, "has no arrays"),
        ({}, InvalidArgument, "has no arrays"),
        (np.zeros((0, 3)), InvalidArgument, "a batch of no samples"),
        (np.float32(1), InvalidType, "arrays"),
        ([1, 2, 3], InvalidType, "got 1 in it"),
        (None, InvalidType, "got None in it"),
        ("text", InvalidType, "got 'text' in it"),
        ((np.zeros((3, 1)), np.zeros(4)), InvalidArgument, "arrays of 3, 4 rows"),
    ],
)
def test_a_batch_that_has_no_samples_is_refused(batch, error, text):
    with pytest.raises(error, match=text):
        ss.ledger(distributed(right), batch)


def generator(_strategy, _batch, _probe):
    yield 1


async def coroutine(_strategy, _batch, _probe):
    return 1


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (None, "got None"),
        (3, "got 3"),
        (dict, "takes a step, a function"),
        (generator, "generator or asynchronous"),
        (coroutine, "generator or asynchronous"),
        (lambda strategy: None, r"takes \(strategy\)"),
        (lambda strategy, batch: None, r"takes \(strategy, batch\)"),
        (lambda strategy, batch, probe, more: None, "takes"),
    ],
)
def test_what_is_no_step_is_refused(step, text):
    with pytest.raises(InvalidType, match=text):
        ss.ledger(step, steps.batch())


@pytest.mark.parametrize("replicas", [0, 3, "3", [], [1], [0], [2, -1], [True], [2.0], ["2"], None])
def test_numbers_of_replicas_that_compare_nothing_are_refused(replicas):
    with pytest.raises(InvalidArgument, match="replicas is"):
        ss.ledger(distributed(right), steps.batch(), replicas=replicas)


@pytest.mark.parametrize("settings", [{"backend": None}, {"backend": 3}, {"semantics": "TF2"}])
def test_other_settings_are_refused(settings):
    with pytest.raises(InvalidArgument):
        ss.ledger(distributed(right), steps.batch(), **settings)


def test_an_error_of_the_step_is_raised_with_the_number_of_replicas():
    def replica(x, y, rows):
        if x.shape[0] == 0:
            raise ZeroDivisionError("nothing here")
        return right(x, y, rows)

    with pytest.raises(ZeroDivisionError) as raised:
        ss.ledger(distributed(replica), steps.batch(3))
    assert any("the step raised this with 4 replicas" in note for note in raised.value.__notes__)


def test_a_step_that_changes_its_batch_is_measured_on_the_batch_as_it_was():
    def step(strategy, batch, probe):
        batch[0][:] += 1.0
        seen.append(batch[0].copy())
        return distributed(right)(strategy, batch, probe)

    seen, given = [], steps.batch()
    before = given[0].copy()
    assert ss.ledger(step, given, replicas=[2]).right
    assert np.array_equal(given[0], before)
    assert all(np.array_equal(one, before + 1.0) for one in seen)


def test_results_that_depend_on_the_number_of_replicas_are_refused():
    def replica(x, y, rows):
        result = right(x, y, rows)
        return {"one": result} if ctx().num_replicas_in_sync == 1 else {"other": result}

    with pytest.raises(InvalidArgument, match=r"result\['one'\] with one replica and result\['other'\] with 2"):
        ss.ledger(distributed(replica), steps.batch())


def test_a_partial_and_a_callable_object_are_steps():
    class Step:
        def __call__(self, strategy, batch, probe):
            return distributed(right)(strategy, batch, probe)

    assert ss.ledger(Step(), steps.batch(), replicas=[2]).right
    assert ss.ledger(types.MethodType(lambda self, *rest: self(*rest), Step()), steps.batch(), replicas=[2]).right


def test_a_step_that_returns_a_generator_is_refused():
    with pytest.raises(InvalidType, match="this one returned a generator"):
        ss.ledger(lambda *arguments, of=generator: of(*arguments), steps.batch())
