"""Programs under the real MirroredStrategy with several numbers of replicas: what agrees, and why what differs does.

Clauses: J-50, J-51.
"""

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
from simstrategy.check.causes.recordings import facts_of
from simstrategy.check.runs import Settings
from simstrategy.errors import Difference, InvalidArgument, Unsupported
from simstrategy_tf_distribute import iterators, replicas_agree, runs
from simstrategy_tf_distribute.devices import ObservedStrategy
from simstrategy_tf_distribute.layers import coarsest_dtype, layers_on_their_own
from simstrategy_tf_distribute.lines import Lines
from simstrategy_tf_distribute.observing import Observer, Steps

FEATURES = np.random.default_rng(0).normal(size=(22, 3)).astype(np.float32)
TARGETS = FEATURES @ np.float32([1, -2, 3])
BATCH = 8  # the last one has 6: 3 and 3 of two replicas; 2, 2, 2 and none of four


@pytest.fixture
def one_nudge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a program differs by far, one measurement of rounding is enough."""
    monkeypatch.setattr(runs, "_NUDGES", (1,))


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
    """Returns the line at which the replicas of `trained` reduce."""
    lines, first = inspect.getsourcelines(trained)
    return next(first + number for number, line in enumerate(lines) if "all_reduce(" in line)


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
@pytest.mark.deep
def test_a_loss_divided_by_the_whole_batch_agrees_on_any_number_of_replicas() -> None:
    report = ss.check(by_the_batch, replicas=[1, 2, 4])
    report.raise_for_difference()
    assert [(row.law, row.backend, row.replicas) for row in report.rows] == [
        ("repeat", "MirroredStrategy", "1"),
        ("replicas", "MirroredStrategy", "2 against 1"),
        ("replicas", "MirroredStrategy", "4 against 1"),
    ]
    assert str(report).splitlines()[-1] == (
        "All runs agree: 2 values; replicas 1, 2, 4. Not tried: other schedules, other backends."
    )
    assert all(row.one_ulp < 1e-5 for row in report.rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "text"),
    [
        (
            mean_of_means,
            (
                r"in step 2, all_reduce MEAN of 'gradient of Variable' at test_agreement\.py:LINE differs first: .* "
                r"mean of means: .* parts of 4 and 3 examples weigh the same\. Weighted by their shares .* give the "
                r"reference's result"
            ),
        ),
        (
            sum_of_means,
            r"in step 1, all_reduce SUM .* The kind is sum of means, .* are summed where averaging was meant",
        ),
        pytest.param(
            divided_twice,
            r"in step 1, .* divided by the number of replicas once too often: .* 0\.5 times .* Remove one division",
            marks=pytest.mark.deep,
        ),
        pytest.param(
            batch_of_each,
            r"in step 1, .* The kind is global batch grows with .*: .*: 16 examples, and 8 in the reference",
            marks=pytest.mark.deep,
        ),
        (same_data_for_each, r"in step 1, .* The kind is duplicated samples: 8 examples .* on replicas 0, 1"),
        pytest.param(
            seed_of_each,
            r"in step 1, .* The kind is different draws, or statistics per replica: noisy at (?!.*partial).*$",
            marks=pytest.mark.deep,
        ),
        (unlike, r"in step 1, .* differs first: .*: 1\.4e-01 of .* the found values are 1\.14286 times"),
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
    first, second, cause = problem.splitlines()
    assert first.startswith("MirroredStrategy, replicas 2 against 1, InOrder(): result['weights']: element [")
    assert second.startswith("  variable 0 'Variable': element [")
    if program is not same_data_for_each:  # its line is another one
        text = text.replace("LINE", str(_line_of_reduction()))
    assert re.search(text, cause), problem
    (finding,) = report.findings
    assert (finding.variable, finding.cause) == ("Variable", cause.removeprefix("  Cause: "))


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


@pytest.mark.deep
@quiet
@pytest.mark.slow
@pytest.mark.usefixtures("one_nudge")
def test_keras_layers_that_see_a_replicas_part_alone_are_named_with_their_statistics() -> None:
    report = replicas_agree(normalized, replicas=[1, 2])
    problem = next(one for one in report.problems() if "replicas 2 against 1" in one)
    assert re.search(r"variable \d+ 'sequential/norm/gamma': element \[", problem)
    cause = problem.splitlines()[-1]
    assert "in step 1, all_reduce SUM of 'gradient of sequential/" in cause
    assert "The kind is statistics per replica, or different draws: norm (BatchNormalization) normalises each" in cause
    assert "drop (Dropout) draws random numbers for each replica's part separately" in cause


@pytest.mark.slow
def test_layers_that_see_the_whole_batch_are_not_named() -> None:
    shared = keras.layers.BatchNormalization(name="shared", synchronized=True)
    frozen = keras.layers.BatchNormalization(name="frozen", trainable=False)
    inner = model(keras.layers.GaussianNoise(0.1, name="noise"))
    assert [one.text for one in layers_on_their_own([model(shared, frozen, inner)])] == [
        "noise (GaussianNoise) draws random numbers for each replica's part separately"
    ]


def raising(strategy: Any) -> Any:
    if strategy.num_replicas_in_sync == raising_from[0]:
        raise KeyError("mine")
    return np.float32(1)


raising_from = [1]


class Textless(BaseException):
    def __str__(self) -> str:
        raise ValueError


def textless(strategy: Any) -> Any:
    if strategy.num_replicas_in_sync == 2:
        raise Textless
    return np.float32(1)


@pytest.mark.slow
@pytest.mark.usefixtures("one_nudge")
def test_a_program_that_raises_is_a_difference_and_told_where() -> None:
    raising_from[0] = 2
    (problem,) = replicas_agree(raising, replicas=[1, 2]).problems()
    assert "replicas 2, InOrder(): raises KeyError: 'mine'" in problem
    assert "raised at test_agreement.py:" in problem
    (problem,) = replicas_agree(textless, replicas=[1, 2]).problems()
    assert "replicas 2, InOrder(): raises Textless: (its text cannot be shown: ValueError)" in problem
    raising_from[0] = 1
    (problem,) = replicas_agree(raising, replicas=[1]).problems()
    assert "replicas 1, InOrder(): raises KeyError: 'mine'" in problem
    allowed = Settings(ss.Semantics.TF2, timeout_s=1.0, allow_errors=True)
    assert not list(replicas_agree(raising, replicas=[1], settings=allowed).problems())


@pytest.mark.slow
@pytest.mark.usefixtures("one_nudge")
def test_other_results_and_results_that_change_from_run_to_run_are_told() -> None:
    counter = itertools.count()
    (text,) = replicas_agree(lambda strategy: [next(counter)], replicas=[1]).undecided()
    assert "gives different values in two identical runs, so it cannot be checked" in text
    assert "memory that nothing has written?): result[0]: 2 against 0" in text
    (problem,) = replicas_agree(lambda s: {s.num_replicas_in_sync: 1.0}, replicas=[1, 2]).problems()
    assert "result[1]: it is in the result with 1 replica only" in problem
    (problem,) = replicas_agree(lambda s: np.zeros(s.num_replicas_in_sync + 1), replicas=[1, 2]).problems()
    assert "result: float64[3] against float64[2]" in problem


@pytest.mark.slow
@pytest.mark.usefixtures("one_nudge")
def test_a_program_with_nothing_to_compare_is_not_judged() -> None:
    with pytest.raises(InvalidArgument, match="at least one number of replicas"):
        replicas_agree(by_the_batch, replicas=())
    for nothing in (None, [], {}):
        report = replicas_agree(lambda strategy, nothing=nothing: nothing, replicas=(1, 2))
        assert report.verdict == "undecided"
        assert "nothing was compared: the program returned nothing, and has no variable." in str(report)
    assert replicas_agree(lambda strategy: {"a": "text"}, replicas=(1, 2)).agrees


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
    assert coarsest_dtype([model(half)]) == "float16"
    assert coarsest_dtype([model(), model(keras.layers.Dense(2, dtype="bfloat16"))]) == "bfloat16"
    assert coarsest_dtype([]) is None


def test_a_recorded_mean_has_the_replicas_values_and_the_sum_divided_once() -> None:
    strategy = ObservedStrategy(2, ss.trace.Trace())
    recorder = ss.trace.Recorder(whole_bytes=1 << 20)
    observer = Observer(Steps(recorder), Lines())
    parts = [tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 6.0], [0.0, 0.0]])]
    observer.starts([parts[0]], 1, ("train.py", 30), ("train.py", 29))
    values = strategy.experimental_distribute_values_from_function(lambda c: parts[c.replica_id_in_sync_group][0])
    observer.sends("all_reduce", values, "MEAN", ("train.py", 31), "gradient of w")
    recording = recorder.recording()
    (point,) = [one for one in facts_of(recording) if one.what == "all_reduce"]
    assert (point.step, point.site, point.op, point.subject) == (1, "train.py:31", "MEAN", "gradient of w")
    assert [term[0].tolist() for term in point.inputs] == [[1, 2], [3, 6]]
    assert (point.outputs[0].tolist(), point.outputs[0].dtype) == ([2, 4], np.float32)
    assert [(one.rows, one.site) for one in recording.parts] == [(((0, 1),), "train.py:29")]


def test_an_iterator_lives_until_the_next_strategy_is_made() -> None:
    """TensorFlow may end the process where one goes while it reads ahead."""

    def observed() -> ObservedStrategy:
        return ObservedStrategy(2, ss.trace.Trace())

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


def test_no_pipeline_of_an_observed_dataset_is_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clauses: J-49.  Who closes a tuned one may wait for the thread that tunes it."""
    devices: list[Any] = []
    untuned = iterators.untuned
    monkeypatch.setattr(iterators, "untuned", lambda dataset: devices.append(untuned(dataset)) or devices[-1])
    distributed = ObservedStrategy(2, ss.trace.Trace()).experimental_distribute_dataset(
        tf.data.Dataset.range(4).batch(2)
    )
    assert [np.asarray(one).tolist() for one in next(iter(distributed)).values] == [[0], [1]]
    assert [one.options().autotune.enabled for one in devices] == [False, False]
    (pipeline,) = distributed._cloned_datasets
    assert pipeline.options().autotune.enabled is False


def of_parameter_servers(strategy: tf.distribute.ParameterServerStrategy) -> Any:
    raise AssertionError("it is not run")


def of_central_storage(strategy: tf.distribute.experimental.CentralStorageStrategy) -> Any:
    raise AssertionError("it is not run")


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (of_parameter_servers, "a ParameterServerStrategy, which keeps its variables on parameter servers"),
        (of_central_storage, "a CentralStorageStrategy, which keeps one copy of each variable"),
    ],
)
def test_another_strategy_of_tensorflow_is_refused_by_name(program: Any, why: str) -> None:
    with pytest.raises(Unsupported, match=f"The program takes {why}.*Annotate the parameter with tf.distribute.Strat"):
        ss.check(program, replicas=[1, 2])
