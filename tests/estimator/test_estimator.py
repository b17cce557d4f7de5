"""What an Estimator does on the simulator beside the recorded runs: laws, errors, checkpoints.

# Clauses: Y-1, Y-2, Y-3, Y-4, Y-5, Y-6, Y-7, Y-8, Y-9
"""

import gc
import os

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.errors import InvalidArgument, InvalidType, ReplicasDisagree
from simstrategy.estimator import Estimator, EstimatorSpec, Mean, Optimizer, RunConfig, loss_factors

DESCENT = Optimizer(lambda xp, gradient, value: (value - 0.5 * gradient,))


def line(features, labels, mode, ctx, reduction="SUM_OVER_BATCH_SIZE"):
    """The model features * w, with the gradient of its squared error."""
    w = ctx.variable("w", np.float32(0.0))
    predictions = features * w.value()
    if mode == "infer":
        return EstimatorSpec(mode, predictions={"y": predictions})
    errors = predictions - labels
    factors = loss_factors(ctx.xp, ctx.xp.ones_like(errors), reduction)
    slope = ctx.xp.sum(2 * errors * features * factors)
    loss = ctx.xp.sum(errors * errors * factors)
    return EstimatorSpec(
        mode,
        loss=loss,
        gradients=[(slope, w)],
        optimizer=DESCENT,
        loss_reduction=reduction,
        metrics={"e": Mean(errors)},
    )


def numbers(count=4, batch=1, **changed):
    """Returns an input function of the rows (1, 2), (2, 4), …."""
    rows = np.arange(1, count + 1, dtype=np.float32)
    return lambda: ss.data.Dataset.from_tensor_slices((rows / 4, rows / 2)).batch(batch, **changed)


@pytest.fixture
def estimator(mirrored, tmp_path):
    """Makes an Estimator on a folder of the test, with so many replicas for training and evaluation."""

    def make(model_fn=line, train=2, evaluate=0, folder="model", params=None, semantics=None, **config):
        strategies = [mirrored(one, semantics=semantics) if one else None for one in (train, evaluate)]
        train_distribute, eval_distribute = strategies
        settings = {"train_distribute": train_distribute, "eval_distribute": eval_distribute, **config}
        return Estimator(model_fn, RunConfig(model_dir=str(tmp_path / folder), **settings), params)

    return make


def losses(made, input_fn, **options):
    """Returns the losses of a training, by step."""
    found = []
    made.train(input_fn, hooks=[lambda step, loss: found.append((step, float(loss)))], **options)
    return found


# The input.


def test_the_input_function_is_called_once_and_each_replica_takes_a_whole_batch(estimator):
    calls, batches = [], []

    def input_fn(input_context):
        calls.append((input_context.num_input_pipelines, input_context.num_replicas_in_sync))
        return numbers(12, 2)()

    def model_fn(features, labels, mode, ctx):
        batches.append((ctx.replica.replica_id_in_sync_group, features.tolist()))
        return line(features, labels, mode, ctx)

    estimator(model_fn, train=3).train(input_fn)
    assert calls == [(1, 3)]
    assert batches[:3] == [(0, [0.25, 0.5]), (1, [0.75, 1.0]), (2, [1.25, 1.5])]
    assert len(batches) == 6


def test_1_13_passes_no_input_context(estimator):
    calls = []

    def input_fn(input_context=None):
        calls.append(input_context)
        return numbers()()

    estimator(semantics=ss.Semantics.TF1_13).train(input_fn)
    assert calls == [None]


def test_a_step_in_which_a_replica_has_no_batch_is_dropped_and_sizes_may_differ(estimator):
    assert len(losses(estimator(), numbers(5, 1))) == 2
    assert len(losses(estimator(folder="other"), numbers(7, 2))) == 2


def test_features_without_labels_are_passed_alone(estimator):
    seen = []

    def model_fn(features, labels, mode, ctx):
        seen.append(labels)
        return line(features, features, mode, ctx)

    estimator(model_fn).train(lambda: ss.data.Dataset.from_tensor_slices(np.ones(2, np.float32)).batch(1))
    assert seen == [None, None]


@pytest.mark.parametrize(
    ("input_fn", "error", "text"),
    [
        (3, InvalidType, "input_fn is a function"),
        (lambda: None, InvalidArgument, "input_fn must return a dataset, and returned None"),
        (lambda: (np.ones(2), np.ones(2)), InvalidArgument, "Return a simstrategy.data.Dataset of features and labels"),
        (lambda: 3, InvalidType, ""),
        (
            lambda: ss.data.Dataset.from_tensor_slices((np.ones(2), np.ones(2), np.ones(2))).batch(1),
            InvalidArgument,
            "(features, labels) as a len 2 tuple, and its dataset has 3 parts",
        ),
    ],
)
def test_what_is_no_dataset_of_pairs_is_refused(estimator, input_fn, error, text):
    with pytest.raises(error) as raised:
        estimator().train(input_fn)
    assert text in str(raised.value)


# The step.


@pytest.mark.parametrize(("reduction", "share"), [("SUM", 1.0), ("SUM_OVER_BATCH_SIZE", 0.5)])
def test_gradients_are_divided_by_the_replicas_unless_the_loss_is_a_sum(estimator, reduction, share):
    def model_fn(*given):
        return line(*given, reduction=reduction)

    made = estimator(model_fn)
    (first,) = losses(made, numbers(2))
    # Slopes at 0 are -4 x² for x of 1/4 and 1/2, and the losses 4 x².
    assert first == (1, share * (0.25 + 1.0))
    assert made.evaluate(numbers(1))["e"] == 0.25 * (0.5 * share * (0.25 + 1.0)) - 0.5


def test_each_replica_counts_as_much_as_the_others_whatever_its_batch_is(estimator):
    (first,) = losses(estimator(), numbers(3, 2))
    assert first == (1, ((0.25 + 1.0) / 2 + 2.25) / 2)


@pytest.mark.parametrize(
    ("reduction", "factors"),
    [
        ("SUM", [1, 0, 3, 0]),
        ("MEAN", [0.25, 0, 0.75, 0]),
        ("SUM_OVER_BATCH_SIZE", [0.25, 0, 0.75, 0]),
        ("SUM_BY_NONZERO_WEIGHTS", [0.5, 0, 1.5, 0]),
    ],
)
def test_loss_factors_are_the_derivatives_of_the_reduced_loss(reduction, factors):
    xp = ss.Strategy.one_device("sim").xp
    found = loss_factors(xp, xp.asarray(np.float32([1, 0, 3, 0])), reduction)
    np.testing.assert_array_equal(np.asarray(found), np.float32(factors))
    assert np.asarray(loss_factors(xp, xp.zeros(3), reduction)).tolist() == [0, 0, 0]
    assert np.asarray(loss_factors(xp, xp.zeros(0), reduction)).shape == (0,)


def test_replicas_that_return_gradients_of_other_variables_disagree(estimator):
    def model_fn(features, labels, mode, ctx):
        v = ctx.variable("v", 0.0)
        spec = line(features, labels, mode, ctx)
        if ctx.replica.replica_id_in_sync_group == 0:
            return spec
        return EstimatorSpec(mode, loss=spec.loss, gradients=[(spec.gradients[0][0], v)], optimizer=DESCENT)

    with pytest.raises(ReplicasDisagree) as raised:
        estimator(model_fn).train(numbers())
    assert "replica 0: SUM_OVER_BATCH_SIZE, w\n  replica 1: MEAN, v" in str(raised.value)


@pytest.mark.parametrize(
    ("spec", "error", "text"),
    [
        ({"mode": "train", "optimizer": DESCENT}, InvalidArgument, "Missing loss: an EstimatorSpec of mode 'train'"),
        ({"mode": "train", "loss": 1.0}, InvalidArgument, "Missing optimizer"),
        ({"mode": "eval"}, InvalidArgument, "Missing loss"),
        ({"mode": "infer"}, InvalidArgument, "Missing predictions"),
        ({"mode": "fit", "loss": 1.0}, InvalidArgument, "mode is one of train, eval, infer, got 'fit'"),
        ({"mode": "eval", "loss": 1.0, "loss_reduction": "NONE"}, InvalidArgument, "loss_reduction is one of SUM"),
    ],
)
def test_a_spec_without_what_its_mode_needs_is_refused(spec, error, text):
    with pytest.raises(error, match=text):
        EstimatorSpec(**spec)


@pytest.mark.parametrize(
    ("model_fn", "error", "text"),
    [
        (lambda *_: None, InvalidType, "model_fn returned None"),
        (lambda *_: EstimatorSpec("infer", predictions=1.0), InvalidArgument, "called with mode 'train'"),
        (lambda f, la, m, ctx: ctx.variable("global_step", 0), InvalidArgument, "is the name of the number of steps"),
    ],
)
def test_what_is_no_spec_of_the_mode_is_refused(estimator, model_fn, error, text):
    with pytest.raises(error, match=text):
        estimator(model_fn).train(numbers())


# Numbers of steps, and checkpoints.


def test_steps_are_counted_once_for_all_replicas_and_go_on_where_the_last_training_ended(estimator):
    assert [step for step, _ in losses(estimator(), numbers(8), steps=1)] == [1]
    assert [step for step, _ in losses(estimator(train=3), numbers(8), steps=2)] == [2, 3]
    assert losses(estimator(), numbers(8), max_steps=3) == []
    assert [step for step, _ in losses(estimator(train=0), numbers(8), max_steps=4)] == [4]


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"steps": 0}, InvalidArgument, "Must specify steps >= 1, given: 0"),
        ({"max_steps": -1}, InvalidArgument, "Must specify max_steps >= 1, given: -1"),
        ({"steps": 1.5}, InvalidType, "steps is an int, got 1.5"),
        ({"steps": True}, InvalidType, "steps is an int"),
        ({"steps": 1, "max_steps": 1}, InvalidArgument, "Can not provide both steps and max_steps"),
    ],
)
def test_wrong_numbers_of_steps_are_refused(estimator, options, error, text):
    with pytest.raises(error, match=text):
        estimator().train(numbers(), **options)


def test_checkpoints_are_saved_at_begin_end_and_in_between_and_the_oldest_are_deleted(estimator):
    made = estimator(save_checkpoints_steps=2, keep_checkpoint_max=2)
    made.train(numbers(10))
    assert sorted(os.listdir(made.model_dir)) == ["checkpoint", "model.ckpt-4.npz", "model.ckpt-5.npz"]
    assert made.latest_checkpoint() == os.path.join(made.model_dir, "model.ckpt-5.npz")
    assert made.evaluate(numbers(), checkpoint_path=made.latest_checkpoint())["global_step"] == 5


def test_slots_of_the_optimizer_and_any_name_of_a_variable_are_in_the_checkpoint(estimator):
    def model_fn(features, labels, mode, ctx):
        v = ctx.variable("file", np.float32([1.0, 2.0]))
        rule = Optimizer(lambda xp, g, value, m: (value - m - g, m + g), {"Momentum": 0.5})
        return EstimatorSpec(mode, loss=0.0, gradients=[(ctx.xp.ones(2), v)], optimizer=rule, predictions=v.value())

    made = estimator(model_fn)
    made.train(numbers(2), steps=1)
    made.train(numbers(2), steps=1)
    assert [one.tolist() for one in made.predict(numbers(1))] == [1.0 - 1.5 - 2.5, 2.0 - 1.5 - 2.5]


def test_a_folder_without_a_checkpoint_and_a_missing_file_are_named(estimator, tmp_path):
    made = estimator()
    with pytest.raises(InvalidArgument, match=r"There is no checkpoint in .*model\. Train first"):
        made.evaluate(numbers())
    with pytest.raises(InvalidArgument, match="There is no checkpoint in"):
        next(made.predict(numbers()))
    with pytest.raises(InvalidArgument, match=r"There is no checkpoint .*gone\.npz\. Give a file"):
        made.evaluate(numbers(), checkpoint_path=str(tmp_path / "gone.npz"))


@pytest.mark.parametrize("left", [0, 10, 200])
def test_a_checkpoint_that_is_cut_off_is_named(estimator, left):
    made = estimator()
    made.train(numbers())
    file = made.latest_checkpoint()
    with open(file, "r+b") as stream:
        stream.truncate(left)
    for call in (made.train, made.evaluate):
        with pytest.raises(InvalidArgument, match=r"model\.ckpt-2\.npz is damaged or cut off"):
            call(numbers())


@pytest.mark.parametrize("text", ["", '{"steps": 3}', "[1]", '{"steps": ["a"]}'])
def test_a_damaged_list_of_checkpoints_is_named(estimator, text):
    made = estimator()
    made.train(numbers())
    with open(os.path.join(made.model_dir, "checkpoint"), "w", encoding="utf-8") as stream:
        stream.write(text)
    with pytest.raises(InvalidArgument, match="checkpoint is damaged or cut off"):
        made.train(numbers())


def test_a_checkpoint_of_another_model_is_refused_with_what_it_has(estimator):
    estimator().train(numbers())

    def other(features, labels, mode, ctx):
        return EstimatorSpec(mode, loss=0.0, optimizer=DESCENT, predictions=ctx.variable(*ctx.params).value())

    with pytest.raises(InvalidArgument, match="has no variable 'v'; it has global_step, w"):
        estimator(other, params=("v", 0.0)).train(numbers())
    with pytest.raises(InvalidArgument, match=r"has 'w' as float32\[\], and the model makes it float32\[2\]"):
        estimator(other, params=("w", [0.0, 1.0])).train(numbers())


def test_a_model_dir_that_is_a_file_is_refused(estimator, tmp_path):
    (tmp_path / "model").write_text("")
    with pytest.raises(InvalidArgument, match=r"model_dir .*model is no folder"):
        estimator().train(numbers())


def test_a_folder_that_was_not_given_lasts_as_long_as_the_estimator(mirrored):
    made = Estimator(line, RunConfig(train_distribute=mirrored(2)))
    folder = made.train(numbers()).model_dir
    assert made.evaluate(numbers())["global_step"] == 2
    del made
    gc.collect()
    assert not os.path.exists(folder)


# Evaluation and prediction.


@pytest.mark.parametrize("replicas", [0, 1, 2, 4])
def test_metrics_count_rows_and_the_loss_counts_batches_on_any_number_of_replicas(estimator, replicas):
    made = estimator(evaluate=replicas)
    made.train(numbers(), steps=1)
    w = 0.5 * 0.5 * 1.25
    errors = np.float32([row / 4 * w - row / 2 for row in range(1, 9)])
    found = made.evaluate(numbers(8, 2))
    assert found["e"] == pytest.approx(errors.mean(), rel=1e-6)
    assert found["loss"] == pytest.approx((errors**2).mean(), rel=1e-6)
    assert (found["global_step"], type(found["global_step"])) == (1, np.int64)


def test_the_loss_of_a_short_batch_counts_as_much_as_that_of_a_full_one(estimator):
    made = estimator(train=0)
    made.train(numbers(1), steps=1)
    w = 0.5 * 0.25
    errors = np.float32([row / 4 * w - row / 2 for row in range(1, 4)])
    found = made.evaluate(numbers(3, 2))["loss"]
    assert found == pytest.approx(((errors[:2] ** 2).mean() + errors[2] ** 2) / 2, rel=1e-6)


def test_steps_of_an_evaluation_are_read_and_no_more(estimator):
    read = []

    def input_fn():
        return ss.data.Dataset.from_generator(lambda: (read.append(1) or np.ones(1, np.float32) for _ in range(9)))

    def model_fn(features, labels, mode, ctx):
        return line(features, features, mode, ctx)

    made = estimator(model_fn, evaluate=2)
    made.train(input_fn, steps=1)
    read.clear()
    made.evaluate(input_fn, steps=2)
    assert len(read) in (4, 5)  # a source may be read one element ahead
    with pytest.raises(InvalidArgument, match="Must specify steps >= 1, given: 0"):
        made.evaluate(input_fn, steps=0)


def test_an_evaluation_without_a_whole_step_is_refused(estimator):
    made = estimator(evaluate=3)
    made.train(numbers())
    with pytest.raises(InvalidArgument, match="nothing to evaluate: input_fn gave no batch for each of the 3 replicas"):
        made.evaluate(numbers(2))


def test_a_metric_cannot_have_the_name_of_the_loss(estimator):
    def model_fn(features, labels, mode, ctx):
        spec = line(features, labels, mode, ctx)
        return spec if mode == "train" else EstimatorSpec(mode, loss=spec.loss, metrics={"loss": Mean(features)})

    made = estimator(model_fn).train(numbers())
    with pytest.raises(InvalidArgument, match="A metric is named 'loss'"):
        made.evaluate(numbers())


def test_predictions_are_of_each_example_and_are_not_distributed(estimator):
    replicas = []

    def model_fn(features, labels, mode, ctx):
        replicas.append(ctx.replica.num_replicas_in_sync)
        return line(features, labels, mode, ctx)

    made = estimator(model_fn, train=2, evaluate=2)
    made.train(numbers(2))
    replicas.clear()
    single = [float(one["y"]) for one in made.predict(numbers(3, 2))]
    batches = [one["y"].tolist() for one in made.predict(numbers(3, 2), yield_single_examples=False)]
    assert single == [row / 4 * 0.3125 for row in (1, 2, 3)]
    assert batches == [single[:2], single[2:]]
    assert set(replicas) == {1}


# Configuration.


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"train_distribute": "mirrored"}, InvalidType, "takes a strategy or None as train_distribute, got 'mirrored'"),
        ({"eval_distribute": 2}, InvalidType, "as eval_distribute, got 2"),
        ({"save_checkpoints_steps": 0}, InvalidArgument, "save_checkpoints_steps >= 1, given: 0"),
        ({"keep_checkpoint_max": 1.0}, InvalidType, "keep_checkpoint_max is an int"),
    ],
)
def test_a_wrong_configuration_is_refused(options, error, text):
    with pytest.raises(error, match=text):
        RunConfig(**options)


def test_an_estimator_takes_a_function_and_a_configuration():
    with pytest.raises(InvalidType, match="model_fn is a function"):
        Estimator("model")
    with pytest.raises(InvalidType, match=r"config is an ss\.estimator\.RunConfig"):
        Estimator(line, {"model_dir": "x"})


def test_the_strategy_of_a_training_has_no_variables_of_it_and_can_be_used_again(mirrored, tmp_path):
    strategy = mirrored(2)
    for _ in range(2):
        Estimator(line, RunConfig(model_dir=str(tmp_path), train_distribute=strategy)).train(numbers())
    assert strategy.run(lambda: ss.get_replica_context().replica_id_in_sync_group).values == (0, 1)


def test_a_program_with_an_estimator_is_judged_by_check():
    def rows(batch):
        def program(strategy):
            found = []
            made = Estimator(line, RunConfig(train_distribute=strategy))
            made.train(numbers(4, batch(strategy)), steps=1, hooks=[lambda step, loss: found.append(loss)])
            return found

        return program

    assert ss.check(rows(lambda strategy: 4 // strategy.num_replicas_in_sync), replicas=(1, 2)).agrees
    # A batch of the input function is one replica's, so the same one is more rows on more replicas.
    assert not ss.check(rows(lambda strategy: 2), replicas=(1, 2)).agrees
