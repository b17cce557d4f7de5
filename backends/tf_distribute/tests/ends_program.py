"""Where data ends: generated datasets, and what each worker gets of them, step by step; portable, for two workers.

Worker processes run it as it stands, under the real strategy or ours, and answer in JSON's values.
"""

import os
from typing import Any, NamedTuple

import numpy as np

import simstrategy as ss

STEPS_MAX = 6
"""Of data without end, and of what should have ended."""


class Case(NamedTuple):
    """One dataset and a way to go through it."""

    source: str
    """dataset; function, whose datasets have other lengths in each worker; or endless, a dataset that is repeated."""
    elements: tuple[int, int]
    """How many each worker's input has; of a dataset, the first."""
    batch: int
    drop_remainder: bool
    policy: str
    way: str
    """How it is gone through: for, get_next or optional."""
    after: str
    """A step after the batches: none, take, skip, repeat or prefetch."""
    structure: str


def drawn(number: int) -> Case:
    """Returns the case of a number."""
    draw = np.random.default_rng([2026, number])

    def one_of(*options: Any) -> Any:
        return options[int(draw.integers(len(options)))]

    source = one_of("dataset", "dataset", "dataset", "function", "function", "endless")
    return Case(
        source=source,
        elements=(int(draw.integers(0, 10)), int(draw.integers(0, 10))),
        batch=int(draw.integers(1, 7)),
        drop_remainder=bool(draw.integers(2)),
        policy=one_of("AUTO", "DATA", "OFF"),
        way=one_of("for", "get_next", "optional"),
        after=one_of("none", "none", "take", "skip", "repeat", "prefetch"),
        structure=one_of("array", "tuple", "mapping"),
    )


def dataset_of(case: Case, count: int) -> Any:
    """Returns a case's dataset of so many elements, 1, 2, 3 and so on."""
    numbers = np.arange(1, count + 1, dtype=np.int64)
    rows = np.stack([numbers, 10 * numbers], axis=1)
    forms: dict[str, Any] = {"array": numbers, "tuple": (numbers, rows), "mapping": {"x": rows, "y": numbers}}
    data = ss.data.Dataset.from_tensor_slices(forms[case.structure])
    if case.source == "endless":
        data = data.repeat()
    data = data.batch(case.batch, drop_remainder=case.drop_remainder)
    steps: dict[str, Any] = {
        "none": lambda: data,
        "take": lambda: data.take(1),
        "skip": lambda: data.skip(1),
        "repeat": lambda: data.repeat(2),
        "prefetch": lambda: data.prefetch(1),
    }
    return steps[case.after]()


def with_policy(dataset: Any, policy: str) -> Any:
    if type(dataset).__module__.startswith("simstrategy."):
        return dataset.with_options(_ours(policy))
    import tensorflow as tf

    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy[policy]
    return dataset.with_options(options)


def _ours(policy: str) -> Any:
    from simstrategy.data import AutoShardPolicy, Options

    return Options(auto_shard_policy=AutoShardPolicy[policy])


def host(value: Any) -> Any:
    """Returns a nest of arrays as dtypes, shapes and numbers."""
    if isinstance(value, dict):
        return {key: host(one) for key, one in sorted(value.items())}
    if isinstance(value, (list, tuple)):
        return [host(one) for one in value]
    parts = getattr(value, "values", None)
    if isinstance(parts, tuple):  # a distributed value, of one replica
        (value,) = parts
    array = np.asarray(value)
    return [array.dtype.name, list(array.shape), array.reshape(-1).tolist()]


def gone_through(case: Case, strategy: Any) -> list[Any]:
    """Returns what a worker gets, step by step, and "end" where it ends; one call after the end is made as well."""

    def input_fn(context: Any) -> Any:
        return dataset_of(case, case.elements[context.input_pipeline_id])

    if case.source == "function":
        distributed = strategy.distribute_datasets_from_function(input_fn)
    else:
        dataset = with_policy(dataset_of(case, case.elements[0]), case.policy)
        distributed = strategy.experimental_distribute_dataset(dataset)
    iterator = iter(getattr(distributed, "inner", distributed))
    found: list[Any] = []
    while len(found) < STEPS_MAX and found[-2:] != ["end", "end"]:
        found.append(_next(case.way, iterator))
    return found


def _next(way: str, iterator: Any) -> Any:
    try:
        if way == "optional":
            optional = iterator.get_next_as_optional()
            return host(optional.get_value()) if bool(optional.has_value()) else "end"
        return host(iterator.get_next() if way == "get_next" else next(iterator))
    except StopIteration:
        return "end"
    except Exception as error:  # noqa: BLE001 - the errors of both sides are compared
        if "OutOfRange" in type(error).__name__ or "end of" in str(error).lower():
            return "end"
        return f"{type(error).__name__}: {error}"[:300]


def through(strategy: Any, first: int, count: int) -> list[Any]:
    """Goes through so many cases."""
    found: list[Any] = []
    for number in range(first, first + count):
        try:
            found.append(gone_through(drawn(number), strategy))
        except Exception as error:  # noqa: BLE001 - likewise
            found.append([f"{type(error).__name__}: {error}"[:300]])
    return found


def program(strategy: Any) -> Any:
    """Goes through the cases that the environment names; for workers of the real strategy."""
    return through(strategy, 0, int(os.environ["ENDS"]))


def on_gloo(count: int) -> list[Any]:
    """The same in worker processes of ours."""
    backend = ss.backend("gloo")
    strategy = ss.Strategy.multi_worker(backend, semantics=ss.Semantics.TF2)
    found = through(strategy, 0, count)
    strategy.close()
    backend.close()
    return found


def simulated(count: int) -> list[Any]:
    """The same on a simulated cluster; for each worker."""
    return list(ss.sim.Cluster(2, 1, semantics=ss.Semantics.TF2).run(lambda strategy: through(strategy, 0, count)))
