"""Pipelines of tf.data, split for the replicas as MirroredStrategy splits them; what is seen of one.

Clauses: F-5.
"""

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from beside import theirs
from shares import one_in

import simstrategy as ss
from simstrategy.data import ElementSpec
from simstrategy.errors import Unsupported
from simstrategy_tensorflow.sources import TensorFlowSource

COUNT = 3
STEPS = 12
POLICIES = ("AUTO", "OFF", "DATA", "FILE")
numbers = tf.data.Dataset.range


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("texts")
    for name, lines in (("one", range(7)), ("two", range(10, 15))):
        (folder / name).write_text("\n".join(map(str, lines)))
    return [str(folder / "one"), str(folder / "two")]


def added(x: Any) -> Any:
    return x + 1


def is_large(x: Any) -> Any:
    return tf.reduce_sum(x) > 7


PIPELINES: dict[str, Callable[[list[str]], Any]] = {
    "batch": lambda _: numbers(10).batch(4),
    "batch, the remainder dropped": lambda _: numbers(10).batch(4, drop_remainder=True),
    "a map behind the batch": lambda _: numbers(10).batch(4).map(added),
    "a map behind a batch of one size": lambda _: numbers(11).batch(4, drop_remainder=True).map(added),
    "a batch repeated": lambda _: numbers(7).batch(3).repeat(2),
    "a repetition batched": lambda _: numbers(5).repeat(2).batch(4),
    "take and skip": lambda _: numbers(20).batch(4).take(3).skip(1),
    "padded": lambda _: numbers(9).padded_batch(4),
    "unbatched": lambda _: numbers(9).batch(2).unbatch().batch(4),
    "filtered": lambda _: numbers(12).batch(4).filter(is_large),
    "batched twice": lambda _: numbers(12).batch(2).batch(3),
    "shuffled": lambda _: numbers(10).shuffle(5, seed=1, reshuffle_each_iteration=False).batch(4).prefetch(1),
    "files": lambda files: tf.data.TextLineDataset(files).batch(4),
    "files in turn": lambda files: (
        tf.data.Dataset.from_tensor_slices(files).interleave(tf.data.TextLineDataset).batch(5)
    ),
}


def steps(strategy: Any, dataset: Any) -> Any:
    """Returns each step's parts as lists, or the name of the error."""
    try:
        batches = islice(iter(strategy.experimental_distribute_dataset(dataset)), STEPS)
        return [[np.asarray(part).tolist() for part in strategy.experimental_local_results(one)] for one in batches]
    except Exception as error:  # noqa: BLE001 - an error is an answer too
        return type(error).__name__


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:To make it possible to preserve tf.data options")  # MirroredStrategy's own
@pytest.mark.parametrize("name", one_in(3, PIPELINES))
def test_a_pipeline_is_split_as_mirrored_strategy_splits_it(name: str, files: list[str]) -> None:
    ours = ss.Strategy.mirrored("tensorflow", replicas=COUNT, semantics=ss.Semantics.TF2)
    mirrored = theirs(COUNT)
    for policy in POLICIES:
        options = tf.data.Options()
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy[policy]
        dataset = PIPELINES[name](files).with_options(options)
        assert steps(ours, dataset) == steps(mirrored, dataset), policy


def test_structures_and_texts_come_through() -> None:
    strategy = ss.Strategy.mirrored("tensorflow", replicas=2)
    dataset = tf.data.Dataset.from_tensor_slices({"x": np.arange(3), "y": (["a\0", "b", "c"], np.ones((3, 2)))}).batch(
        3
    )
    (step,) = strategy.experimental_distribute_dataset(dataset)
    assert [one.numpy().tolist() for one in step["x"].values] == [[0, 1], [2]]
    assert [list(one) for one in step["y"][0].values] == [[b"a\0", b"b"], [b"c"]]
    assert step["y"][1].values[1].shape == (1, 2)


def test_what_a_pipeline_tells_before_its_elements_come(files: list[str]) -> None:
    source = TensorFlowSource(tf.data.TextLineDataset(files).batch(4).prefetch(2))
    assert (source.batch_size(), source.last_batch_size(), source.files(1)) == (4, 4, 1)
    assert source.element_spec() == ElementSpec((None,), "string")
    source = TensorFlowSource(numbers(9).batch(3).map(added))
    assert (source.batch_size(), source.last_batch_size(), source.files(1)) == (None, None, None)
    assert TensorFlowSource(numbers(9).batch(3, drop_remainder=True).map(added)).batch_size() == 3


def test_a_dataset_made_while_a_function_is_traced_is_refused() -> None:
    strategy = ss.Strategy.mirrored("tensorflow", replicas=2)

    @tf.function(autograph=False)
    def program() -> Any:
        return strategy.experimental_distribute_dataset(numbers(4).batch(2))

    with pytest.raises(Unsupported, match=r"is made inside a tf\.function"):
        program()


def test_a_loop_of_a_graph_takes_a_list_of_batches_the_last_of_which_is_short() -> None:
    strategy = ss.Strategy.mirrored("tensorflow", replicas=2)
    distributed = strategy.experimental_distribute_dataset([np.arange(4.0), np.arange(3.0)])

    @tf.function
    def total() -> Any:
        found = tf.constant(0.0, tf.float64)
        for step in distributed:
            found += tf.reduce_sum(step.values[0]) + tf.reduce_sum(step.values[1])
        return found

    assert float(total()) == 9
