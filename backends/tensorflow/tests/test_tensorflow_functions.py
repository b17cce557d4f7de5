"""Users' loops inside tf.function: the reference page's, and every way to write it, beside MirroredStrategy's.

Clauses: F-2, F-3, F-4, F-6.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from beside import COUNT, theirs
from vocabulary import ctx, rank

import simstrategy as ss
from simstrategy.errors import ContextError, InvalidArgument, ReplicasDisagree, Unsupported

EPOCHS = 3
FEATURES = np.random.default_rng(0).normal(size=(14, 3)).astype(np.float32)


def ours() -> ss.Strategy:
    return ss.Strategy.mirrored("tensorflow", replicas=COUNT)


@pytest.fixture
def strategy() -> ss.Strategy:
    return ours()


def run_of(strategy: Any) -> Callable[..., Any]:
    """The page's experimental_run_v2 is called run in TensorFlow 2.21."""
    return strategy.experimental_run_v2 if isinstance(strategy, ss.Strategy) else strategy.run  # type: ignore[no-any-return]


def page(strategy: Any, dataset: Any, weights: Any, *, compiled: str) -> list[np.ndarray[Any, Any]]:
    """The loop of the reference page, whose replica function trains; compiled: what is one tf.function."""

    def replica_fn(features: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((tf.linalg.matvec(features, weights) - 1.0) ** 2)
        weights.assign_sub(tape.gradient(loss, weights) / 64.0)
        return loss

    def train_step(x: Any) -> Any:
        per_replica_result = run_of(strategy)(replica_fn, args=(x,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_result, axis=None)

    if compiled == "step":
        train_step = tf.function(train_step)

    def distribute_train_epoch(dataset: Any) -> Any:
        total_result = 0.0
        for x in dataset:
            total_result += train_step(x)
        return total_result

    train_epoch = tf.function(distribute_train_epoch) if compiled == "epoch" else distribute_train_epoch
    dist_dataset = strategy.experimental_distribute_dataset(dataset)
    return [train_epoch(dist_dataset).numpy() for _ in range(EPOCHS)]


def trained(strategy: Any, *, compiled: str) -> tuple[list[bytes], bytes]:
    with strategy.scope():
        weights = tf.Variable([0.5, -0.5, 0.25], aggregation=tf.VariableAggregation.SUM)
        totals = page(strategy, tf.data.Dataset.from_tensor_slices(FEATURES).batch(4), weights, compiled=compiled)
    return [total.tobytes() for total in totals], weights.numpy().tobytes()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:To make it possible to preserve tf.data options")  # MirroredStrategy's own
@pytest.mark.parametrize("compiled", ["nothing", "step", "epoch"])
def test_the_loop_of_the_reference_page_equals_mirrored_strategy_to_the_bit(compiled: str) -> None:
    totals, weights = trained(ours(), compiled=compiled)
    assert (totals, weights) == trained(theirs(), compiled=compiled)
    assert len(set(totals)) == EPOCHS


def growing() -> Callable[[], Iterator[Any]]:
    """A generator whose data is different each time it is asked."""
    epochs = iter(range(1, 100))

    def rows() -> Iterator[Any]:
        epoch = next(epochs)
        for _ in range(3):
            yield np.full(4, epoch, np.float32)

    return rows


@pytest.mark.slow
@pytest.mark.parametrize("source", ["simstrategy", "tf.data"])
def test_a_traced_loop_over_changing_data_is_traced_once_and_never_keeps_the_first(source: str) -> None:
    strategy, rows = ours(), growing()
    if source == "tf.data":
        dataset: Any = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec([4], tf.float32))
    else:
        spec = ss.data.ElementSpec((4,), "float32")
        dataset = ss.data.Dataset.from_generator(rows, output_signature=spec)

    @tf.function
    def epoch(batches: Any) -> Any:
        total = 0.0
        for batch in batches:
            total += strategy.reduce("SUM", strategy.run(tf.reduce_sum, args=(batch,)))
        return total

    batches = strategy.experimental_distribute_dataset(dataset)
    assert [epoch(batches).numpy() for _ in range(EPOCHS)] == [12.0, 24.0, 36.0]
    assert epoch.experimental_get_tracing_count() == 1


@pytest.mark.slow
def test_the_mean_of_partial_batches_is_right_where_sizes_are_known_to_the_graph_only(strategy: ss.Strategy) -> None:
    batches = strategy.experimental_distribute_dataset(tf.data.Dataset.range(7).batch(4))

    @tf.function
    def epoch() -> Any:
        means = tf.TensorArray(tf.float64, 0, dynamic_size=True, element_shape=())
        for batch in batches:
            means = means.write(means.size(), strategy.reduce("MEAN", strategy.run(lambda x: x, (batch,)), axis=0))
        return means.stack()

    assert epoch().numpy().tolist() == [1.5, 5.0]


@pytest.mark.slow
def test_gathers_of_sizes_known_to_the_graph_only_have_their_gradients(strategy: ss.Strategy) -> None:
    batches = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices([0.0, 1.0, 2.0]).batch(3))

    def step(own: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(own)
            whole = ctx().all_gather(own, axis=0)
            loss = tf.reduce_sum(whole * [1.0, 10.0, 100.0])
        return tape.gradient(loss, own)

    @tf.function
    def first() -> Any:
        return strategy.experimental_local_results(strategy.run(step, (next(iter(batches)),)))

    assert [gradient.numpy().tolist() for gradient in first()] == [[2.0, 20.0], [200.0]]


def order_of(*, traced: bool) -> list[int]:
    """Returns a number for each of two epochs that tells the order of what the strategy's schedule shuffled."""
    strategy = ss.Strategy.mirrored("tensorflow", replicas=COUNT, schedule=ss.schedules.Seeded(5))
    batches = strategy.experimental_distribute_dataset(ss.data.Dataset.range(6).shuffle(6).batch(2))

    def epoch() -> Any:
        seen = tf.constant(0, tf.int64)
        for batch in batches:
            first, second = strategy.experimental_local_results(batch)
            seen = seen * 100 + first[0] * 10 + second[0]
        return seen

    run = tf.function(epoch) if traced else epoch
    return [int(run()) for _ in range(2)]


@pytest.mark.slow
def test_a_graph_asks_for_data_in_the_order_in_which_an_eager_loop_does() -> None:
    eager = order_of(traced=False)
    assert eager[0] != eager[1]
    assert order_of(traced=True) == eager


def broken() -> Iterator[Any]:
    yield np.ones(2, np.float32)
    raise OSError("the disk is gone")


@pytest.mark.slow
def test_an_error_of_the_data_comes_out_of_the_graph_with_its_words(strategy: ss.Strategy) -> None:
    spec = ss.data.ElementSpec((2,), "float32")
    batches = strategy.experimental_distribute_dataset(ss.data.Dataset.from_generator(broken, output_signature=spec))

    @tf.function
    def epoch() -> Any:
        total = 0.0
        for batch in batches:
            total += strategy.reduce("SUM", batch, axis=0)
        return total

    with pytest.raises(tf.errors.OpError, match="OSError: the disk is gone"):
        epoch()


@pytest.mark.slow
def test_an_iterator_goes_on_where_it_was_whether_a_graph_asks_or_not(strategy: ss.Strategy) -> None:
    iterator = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(6).batch(2)))

    @tf.function
    def step(steps: Any) -> Any:
        return strategy.reduce("SUM", strategy.run(tf.identity, args=(next(steps),)), axis=0)

    assert step(iterator).numpy() == 1
    assert strategy.reduce("SUM", next(iterator), axis=0).numpy() == 5
    assert step(iterator).numpy() == 9
    with pytest.raises(tf.errors.OutOfRangeError):
        step(iterator)
    with pytest.raises(StopIteration):
        next(iterator)


@pytest.mark.slow
def test_a_loop_over_an_iterator_may_be_left_early(strategy: ss.Strategy) -> None:
    @tf.function
    def until(steps: Any, limit: Any) -> Any:
        total = tf.constant(0, tf.int64)
        for batch in steps:
            total += strategy.reduce("SUM", strategy.run(tf.identity, args=(batch,)), axis=0)
            if total > limit:
                break
        return total

    iterator = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(2)))
    assert (until(iterator, 3).numpy(), until(iterator, 100).numpy()) == (6, 22)


def test_a_loop_over_data_of_unknown_form_is_refused_while_tracing(strategy: ss.Strategy) -> None:
    batches = strategy.experimental_distribute_dataset(iter([np.ones(4, np.float32)]))

    @tf.function
    def epoch() -> Any:
        total = 0.0
        for batch in batches:
            total += strategy.reduce("SUM", batch)
        return total

    with pytest.raises(InvalidArgument, match=r"A tf\.function cannot loop over this dataset"):
        epoch()


@pytest.mark.slow
def test_a_python_loop_in_a_traced_function_is_stopped_in_place_of_tracing_for_ever(strategy: ss.Strategy) -> None:
    batches = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))

    @tf.function(autograph=False)
    def epoch() -> Any:
        return [batch for batch in batches]  # noqa: C416 - the loop is the point

    with pytest.raises(ValueError, match="only supported when AutoGraph is enabled"):  # TensorFlow says it itself
        epoch()


@pytest.mark.slow
def test_a_loop_that_autograph_did_not_see_is_stopped_in_place_of_tracing_for_ever(strategy: ss.Strategy) -> None:
    batches = strategy.experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2))

    names: dict[str, Any] = {"batches": batches}
    exec("def epoch():\n    for batch in batches:\n        pass", names)  # AutoGraph leaves what has no source
    with pytest.raises(Unsupported, match="was traced for 200 steps"):
        tf.function(names["epoch"])()


@pytest.mark.slow
def test_equal_shaped_steps_are_traced_once(strategy: ss.Strategy) -> None:
    @tf.function
    def step(batch: Any) -> Any:
        doubled = strategy.run(lambda x: x * 2.0, args=(batch["x"],))
        return {"doubled": doubled, "sum": strategy.reduce("SUM", doubled, axis=0)}

    data = ss.data.Dataset.from_tensor_slices({"x": np.arange(12, dtype=np.float32)}).batch(4)
    results = [step(batch) for batch in strategy.experimental_distribute_dataset(data)]
    assert step.experimental_get_tracing_count() == 1
    assert [result["sum"].numpy() for result in results] == [12.0, 44.0, 76.0]
    assert all(isinstance(result["doubled"], ss.PerReplica) for result in results)
    assert [one.numpy().tolist() for one in results[0]["doubled"].values] == [[0.0, 2.0], [4.0, 6.0]]


@pytest.mark.slow
def test_a_tf_function_given_to_run_is_traced_as_one_with_its_collectives(strategy: ss.Strategy) -> None:
    tracings: list[int] = []

    @tf.function
    def step(x: Any) -> Any:
        tracings.append(rank())
        if tf.reduce_sum(x) > 100.0:
            x = x * 0.0
        return ctx().all_reduce("SUM", x)

    for scale in (1.0, 2.0):
        values = ss.PerReplica([tf.constant([scale]), tf.constant([scale + 1])])
        assert [one.numpy().tolist() for one in strategy.run(step, args=(values,)).values] == [[2 * scale + 1]] * COUNT
    assert tracings == [0, 1]


def meeting_in_a_branch(x: Any) -> Any:
    if tf.reduce_sum(x) > 0.0:
        x = ctx().all_reduce("SUM", x)
    return x


@pytest.mark.slow
def test_replicas_that_meet_in_a_branch_of_the_graph_are_told_so(strategy: ss.Strategy) -> None:
    with pytest.raises(ContextError, match=r"`merge_call` called while defining a new graph or a tf\.function"):
        tf.function(lambda x: strategy.run(meeting_in_a_branch, (x,)))(tf.ones(2))


@tf.function(autograph=False)
def reduced(x: Any) -> Any:
    return ctx().all_reduce("SUM", x)


@tf.function(autograph=False)
def merged(x: Any) -> Any:
    ctx().merge_call(lambda strategy: None)
    return x


@pytest.mark.parametrize("compiled", [reduced, merged])
@pytest.mark.parametrize("outer", [lambda function: function, tf.function])
def test_replicas_that_meet_in_a_tf_function_of_their_own_are_refused(
    strategy: ss.Strategy, outer: Any, compiled: Any
) -> None:
    with pytest.raises(
        ContextError, match=r"`merge_call` called while .* The call: test_tensorflow_functions\.py:\d+\."
    ):
        outer(lambda: strategy.run(lambda: compiled(tf.ones(2))))()
    total = strategy.run(lambda: ctx().all_reduce("SUM", tf.ones(2)))
    assert [one.numpy().tolist() for one in total.values] == [[COUNT, COUNT]] * COUNT


def test_a_write_in_a_tf_function_of_a_replica_is_refused_and_one_before_it_stays(strategy: ss.Strategy) -> None:
    with strategy.scope():
        variable = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)
    write = tf.function(lambda: variable.assign_add(tf.ones(())))

    def step() -> None:
        variable.assign_add(tf.ones(()))
        write()

    with pytest.raises(ContextError, match=r"`merge_call` called while defining a new graph or a tf\.function"):
        strategy.run(step)
    assert float(variable.numpy()) == 1.0 + COUNT


def test_a_tf_function_of_a_replica_without_a_collective_runs(strategy: ss.Strategy) -> None:
    double = tf.function(lambda x: 2.0 * x)
    total = strategy.run(lambda: ctx().all_reduce("SUM", double(tf.ones(()))))
    assert [float(one) for one in total.values] == [2.0 * COUNT] * COUNT


@pytest.mark.slow
def test_lines_in_errors_are_the_users_through_nested_converted_functions(strategy: ss.Strategy) -> None:
    @tf.function
    def program(x: Any) -> Any:
        def step(y: Any) -> Any:
            def nested(z: Any) -> Any:
                return ctx().all_reduce("SUM", z[: 1 + rank()])  # the line meant

            if tf.reduce_sum(y) > 0.0:
                y = y + 1.0
            return nested(y)

        return strategy.run(step, args=(x,))

    with open(__file__, encoding="utf-8") as file:
        line = 1 + next(number for number, text in enumerate(file) if text.endswith("# the line meant\n"))
    with pytest.raises(ReplicasDisagree, match=rf"float32\[2\] at .*test_tensorflow_functions.py:{line}"):
        program(tf.ones(3))


@pytest.mark.slow
def test_the_trace_of_a_traced_step_names_the_users_lines() -> None:
    trace = ss.trace.Trace()
    strategy = ss.Strategy.mirrored("tensorflow", replicas=COUNT, trace=trace)

    def step(x: Any) -> Any:
        return ctx().all_reduce("SUM", x)

    tf.function(lambda x: strategy.run(step, (x,)))(tf.ones(2))
    assert [event.kind for event in trace.events()] == ["run", "all_reduce", "all_reduce"]
    assert all(event.site.startswith("test_tensorflow_functions.py:") for event in trace.events())


def test_our_functions_are_called_as_they_are(strategy: ss.Strategy) -> None:
    for function in (strategy.run, strategy.reduce, ss.get_replica_context, strategy.xp.add, ss.Variable.assign):
        assert hasattr(function, "autograph_info__")
