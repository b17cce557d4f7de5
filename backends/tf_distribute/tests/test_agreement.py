"""Programs under the real MirroredStrategy with several numbers of replicas: what agrees, and why what differs does."""

import gc
import inspect
import itertools
import re
import weakref
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import simstrategy as ss
from simstrategy.errors import Difference, InvalidArgument
from simstrategy_tf_distribute import agreement, replicas_agree
from simstrategy_tf_distribute.devices import ObservedStrategy
from simstrategy_tf_distribute.layers import coarsest_ulp, layers_on_their_own
from simstrategy_tf_distribute.observing import Reduced, Step, facts_of
from simstrategy_tf_distribute.reduction import OrderedReduction

FEATURES = np.random.default_rng(0).normal(size=(22, 3)).astype(np.float32)
TARGETS = FEATURES @ np.float32([1, -2, 3])
BATCH = 8  # the last one has 6: 3 and 3 of two replicas; 2, 2, 2 and none of four


@pytest.fixture
def one_nudge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a program differs by far, one measurement of rounding is enough."""
    monkeypatch.setattr(agreement, "_NUDGES", (1,))


def trained(strategy: Any, op: str, divide: Any, *, batch: int = BATCH, rows: int = 22) -> Any:
    """Trains a linear model by gradients that are reduced with `op`, of a loss that `divide` divides."""
    with strategy.scope():
        weights = tf.Variable(tf.ones(3))

    def step(features: Any, targets: Any) -> None:
        with tf.GradientTape() as tape:
            losses = (tf.linalg.matvec(features, weights) - targets) ** 2
            loss = tf.reduce_sum(losses) / divide(tf.cast(tf.size(losses), tf.float32))
        gradient = tape.gradient(loss, weights)
        weights.assign_sub(0.1 * tf.distribute.get_replica_context().all_reduce(op, gradient))

    step_of_all = tf.function(lambda batch: strategy.run(step, args=batch), reduce_retracing=True)
    data = tf.data.Dataset.from_tensor_slices((FEATURES[:rows], TARGETS[:rows])).batch(batch)
    for elements in strategy.experimental_distribute_dataset(data):
        step_of_all(elements)
    return {"weights": weights}


def _line_of_reduction() -> int:
    """Returns the line of `run`: MirroredStrategy reduces in its thread, and not in those of the replicas."""
    lines, first = inspect.getsourcelines(trained)
    return next(first + number for number, line in enumerate(lines) if "strategy.run(step" in line)


def by_the_batch(strategy: tf.distribute.Strategy) -> Any:
    return trained(strategy, "SUM", lambda size: float(BATCH))


def mean_of_means(strategy: tf.distribute.Strategy) -> Any:
    return trained(strategy, "MEAN", tf.identity, rows=15)


def sum_of_means(strategy: tf.distribute.Strategy) -> Any:
    return trained(strategy, "SUM", tf.identity)


def divided_twice(strategy: tf.distribute.Strategy) -> Any:
    return trained(strategy, "MEAN", lambda size: float(BATCH))


def batch_of_each(strategy: tf.distribute.Strategy) -> Any:
    return trained(strategy, "SUM", lambda size: 8.0, batch=8 * strategy.num_replicas_in_sync)


def same_data_for_each(strategy: tf.distribute.Strategy) -> Any:
    """Each replica receives the whole batch; a tensor that is no PerReplica is passed to all of them."""
    with strategy.scope():
        weights = tf.Variable(tf.ones(3))

    def step(features: Any, targets: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((tf.linalg.matvec(features, weights) - targets) ** 2) / BATCH
        gradient = tape.gradient(loss, weights)
        weights.assign_sub(0.1 * tf.distribute.get_replica_context().all_reduce("SUM", gradient))

    for elements in tf.data.Dataset.from_tensor_slices((FEATURES[:16], TARGETS[:16])).batch(BATCH):
        batch = strategy.experimental_distribute_values_from_function(lambda context, batch=elements: batch)
        strategy.run(step, args=batch)
    return {"weights": weights}


def seed_of_each(strategy: tf.distribute.Strategy) -> Any:
    """Draws by a seed for each replica; the second of two batches is partial."""
    with strategy.scope():
        weights = tf.Variable(tf.ones(3))

    def step(features: Any, targets: Any) -> None:
        context = tf.distribute.get_replica_context()
        noisy = features + tf.random.stateless_normal(tf.shape(features), [context.replica_id_in_sync_group, 1])
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((tf.linalg.matvec(noisy, weights) - targets) ** 2) / BATCH
        weights.assign_sub(0.1 * context.all_reduce("SUM", tape.gradient(loss, weights)))

    data = tf.data.Dataset.from_tensor_slices((FEATURES[:15], TARGETS[:15])).batch(BATCH)
    for elements in strategy.experimental_distribute_dataset(data):
        strategy.run(step, args=elements)
    return {"weights": weights}


def unlike(strategy: tf.distribute.Strategy) -> Any:
    return trained(strategy, "SUM", lambda size: 8.0 if strategy.num_replicas_in_sync == 1 else 7.0)


@pytest.mark.slow
def test_a_loss_divided_by_the_whole_batch_agrees_on_any_number_of_replicas() -> None:
    report = ss.check(by_the_batch, replicas=[1, 2, 4])
    report.raise_for_difference()
    assert [(row.backend, row.replicas, row.events) for row in report.rows] == [
        ("MirroredStrategy", "1", 0),
        ("MirroredStrategy", "2 against 1", 2 * 2),
        ("MirroredStrategy", "4 against 1", 2 * 4),
    ]
    assert all(row.one_ulp < 1e-5 for row in report.rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "text"),
    [
        (
            mean_of_means,
            (
                r"in step 2, all_reduce MEAN of 'value 1' at test_agreement\.py:LINE differs first: .* mean of means: "
                r".* parts of 4 and 3 examples weigh the same\. Weighted by their shares .* give the reference's result"
            ),
        ),
        (
            sum_of_means,
            r"in step 1, all_reduce SUM .* The kind is sum of means, .* are summed where averaging was meant",
        ),
        (
            divided_twice,
            r"in step 1, .* divided by the number of replicas once too often: .* 0\.5 times .* Remove one division",
        ),
        (
            batch_of_each,
            r"in step 1, .* The kind is global batch grows with .*: .*: 16 examples, and 8 in the reference",
        ),
        (same_data_for_each, r"in step 1, .* The kind is duplicated samples: 8 examples .* on replicas 0, 1"),
        (seed_of_each, r"in step 1, .* The kind is not recognised: (?!.*(parts of|partial|sum of|mean of)).*$"),
        (unlike, r"in step 1, .* differs first: by 1\.4e-01 .* not recognised: the found values are 1\.14286 times"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
@pytest.mark.usefixtures("one_nudge")
def test_a_wrong_scale_is_named_with_the_step_and_the_correction(program: Any, text: str) -> None:
    report = replicas_agree(program, replicas=[1, 2])
    assert not report.agrees
    with pytest.raises(Difference) as raised:
        report.raise_for_difference()
    assert "check of test_agreement.py\nlaw       backend           replicas     " in str(raised.value)
    (problem,) = report.problems()
    first, *reasons = problem.splitlines()
    assert first == "MirroredStrategy, replicas 2 against 1, InOrder(): 1 of 1 results differ:"
    assert reasons[0].startswith("  result['weights']: element [")
    assert re.search(text.replace("LINE", str(_line_of_reduction())), reasons[1]), problem
    assert not any("parts" in line for line in reasons[2:])


def model(*layers: Any) -> Any:
    return keras.Sequential([keras.layers.Input((3,)), *layers, keras.layers.Dense(1, name="out")])


def normalized(strategy: tf.distribute.Strategy) -> Any:
    with strategy.scope():
        made = model(keras.layers.BatchNormalization(name="norm"), keras.layers.Dropout(0.5, name="drop"))
        made.compile(keras.optimizers.SGD(0.1 / BATCH), keras.losses.MeanSquaredError(reduction="sum"))
    history = made.fit(FEATURES, TARGETS, batch_size=BATCH, shuffle=False, verbose=0)
    return made, history


# Warnings of Keras and TensorFlow.
quiet = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@quiet
@pytest.mark.slow
@pytest.mark.usefixtures("one_nudge")
def test_keras_layers_that_see_a_replicas_part_alone_are_named_with_their_statistics() -> None:
    (problem,) = replicas_agree(normalized, replicas=[1, 2]).problems()
    lines = problem.splitlines()
    assert lines[1].startswith("  moving statistics: result[0]: sequential/norm/moving_mean: element [")
    assert lines[2].startswith("  moving statistics: result[0]: sequential/norm/moving_variance: element [")
    assert any("in step 1, all_reduce SUM of 'gradient of sequential/" in one for one in lines)
    assert lines[-2].startswith(
        "  norm (BatchNormalization) normalises each replica's part by its own statistics; use s"
    )
    assert lines[-1] == "  drop (Dropout) draws random numbers for each replica's part separately"


@pytest.mark.slow
def test_layers_that_see_the_whole_batch_are_not_named() -> None:
    shared = keras.layers.BatchNormalization(name="shared", synchronized=True)
    frozen = keras.layers.BatchNormalization(name="frozen", trainable=False)
    inner = model(keras.layers.GaussianNoise(0.1, name="noise"))
    assert list(layers_on_their_own([model(shared, frozen, inner)])) == [
        "noise (GaussianNoise) draws random numbers for each replica's part separately"
    ]


def raising(strategy: Any) -> Any:
    if strategy.num_replicas_in_sync == raising_from[0]:
        raise KeyError("mine")
    return np.float32(1)


raising_from = [1]


@pytest.mark.slow
@pytest.mark.usefixtures("one_nudge")
def test_a_program_that_raises_is_a_difference_and_told_where() -> None:
    raising_from[0] = 2
    (problem,) = replicas_agree(raising, replicas=[1, 2]).problems()
    assert "replicas 2 against 1, InOrder(): errors differ: none against KeyError('mine')" in problem
    assert "raised at test_agreement.py:" in problem
    raising_from[0] = 1
    (problem,) = replicas_agree(raising, replicas=[1]).problems()
    assert "replicas 1, InOrder(): raises KeyError: 'mine'" in problem
    assert not list(replicas_agree(raising, replicas=[1], allow_errors=True).problems())


@pytest.mark.slow
@pytest.mark.usefixtures("one_nudge")
def test_other_results_and_results_that_change_from_run_to_run_are_told() -> None:
    counter = itertools.count()
    (problem,) = replicas_agree(lambda strategy: [next(counter)], replicas=[1]).problems()
    assert "gives different values in two identical runs, so it cannot be checked" in problem
    assert "a seed?): result[0]: 0 against 1" in problem
    (problem,) = replicas_agree(lambda s: {s.num_replicas_in_sync: 1.0}, replicas=[1, 2]).problems()
    assert "results have different structures: missing ['result[1]'], not expected ['result[2]']" in problem
    (problem,) = replicas_agree(lambda s: np.zeros(s.num_replicas_in_sync), replicas=[1, 2]).problems()
    assert "result: float64[1] against float64[2]" in problem


@pytest.mark.slow
def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="at least one number of replicas"):
        replicas_agree(by_the_batch, replicas=())
    with pytest.raises(
        InvalidArgument, match=r"'text' at result\['a'\], which is no array of numbers\. Return the fitted"
    ):
        replicas_agree(lambda strategy: {"a": "text"}, replicas=(1,))
    for nothing in (None, [], {}):
        with pytest.raises(InvalidArgument) as raised:
            replicas_agree(lambda strategy, nothing=nothing: nothing, replicas=(1,))
        assert str(raised.value) == (
            "The program returned no model, and no other value that can be compared. Return the fitted keras.Model, "
            "or weights, or a history: return model."
        )


@pytest.mark.slow
@pytest.mark.usefixtures("one_nudge")
def test_values_that_are_not_finite_are_told_with_step_and_replica_though_they_agree() -> None:
    def program(strategy: Any) -> Any:
        def step() -> Any:
            context = tf.distribute.get_replica_context()
            return context.all_reduce("SUM", tf.constant([0.0, np.nan]) * tf.ones(2))

        strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("SUM", tf.ones(1) * 2.0))
        strategy.run(step)
        return np.float32(1)

    report = replicas_agree(program, replicas=[1, 2])
    assert report.agrees
    assert list(report.not_finite()) == [
        f"MirroredStrategy, replicas {runs}, InOrder(): step 2, replica 0: float32[2] that entered sum 1 is nan at [1]"
        for runs in ("1", "2 against 1")
    ]


@quiet
@pytest.mark.slow
@pytest.mark.usefixtures("one_nudge")
def test_a_step_that_xla_compiles_is_compared_by_its_results_alone() -> None:
    def program(strategy: Any) -> Any:
        return tf.function(lambda: strategy.run(lambda: tf.ones(2) * 2.0), jit_compile=True)()

    row = replicas_agree(program, replicas=[1]).rows[0]
    assert (row.problem, row.raised) == (None, False)


def test_mixed_precision_rounds_as_its_coarsest_layer() -> None:
    half = keras.layers.Dense(2, dtype="mixed_float16")
    assert coarsest_ulp([model(half)]) == 2.0**-10
    assert coarsest_ulp([model(), model(keras.layers.Dense(2, dtype="bfloat16"))]) == 2.0**-7
    assert coarsest_ulp([]) == 0.0


def test_facts_of_a_mean_keep_the_replicas_values_and_divide_the_sum_once() -> None:
    mean = Reduced("MEAN", "train.py:31", (np.float32([1, 2]), np.float32([3, 6])))
    total = Reduced("SUM", "train.py:32", (np.array([1, 2]), np.array([0, 1])))
    one, other = facts_of([Step((2, 1), None, [mean, total])], ["dense/kernel", "dense/bias"])
    assert (one.step, one.site, one.op, one.parts) == (1, "train.py:31", "MEAN", (2, 1))
    assert one.subject == "gradient of dense/kernel"
    assert one.outputs[0].tolist() == [2, 4]
    assert one.outputs[0].dtype == np.float32
    assert [term[0].tolist() for term in one.inputs] == [[1, 2], [3, 6]]
    assert (other.outputs[0].tolist(), other.outputs[0].dtype) == ([1, 3], np.int64)


def test_an_iterator_lives_until_the_next_strategy_is_made() -> None:
    """TensorFlow may end the process where one goes while it reads ahead."""

    def observed() -> ObservedStrategy:
        return ObservedStrategy(2, OrderedReduction(trace=ss.trace.Trace(), observer=None), None)

    distributed = observed().experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))
    iterator = iter(distributed)
    assert [np.asarray(one).tolist() for one in next(iterator).values] == [[0], [1]]
    alive = weakref.ref(iterator)
    del iterator
    gc.collect()
    assert alive() is not None
    observed()
    gc.collect()
    assert alive() is None
