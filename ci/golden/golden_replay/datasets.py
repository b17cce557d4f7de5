"""Recorded cases of datasets: who gets which elements, step by step, through the public API.

Files are simulated like everything else: nothing is written to disk.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from golden_replay.asking import attempt, here, host, hosts
from golden_replay.verdict import Raised
from simstrategy.data import AutoShardPolicy, Dataset, InputContext, InputIterator, Options
from simstrategy.data.readers import lines_of
from simstrategy.data.split_preview import numbered_files
from simstrategy.errors import OutOfRangeError, Unsupported
from simstrategy.sim import Cluster
from simstrategy.strategy import Strategy, group_of

__all__ = ["autoshard_case", "dataset_iterator_case", "input_context_case", "input_fn_iterator_case", "split_case"]

Body = Mapping[str, Any]


def split_case(body: Body, strategy: Strategy) -> Any:
    """Returns the steps of a nest of numbers; of the first component, for each replica."""
    numbers = np.arange(body["total"], dtype=np.int64)
    forms: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "array": (numbers, lambda step: step),
        "tuple": ((numbers, 2 * numbers), lambda step: step[0]),
        "dict": ({"x": numbers, "y": 2 * numbers}, lambda step: step["x"]),
        "nested": (({"a": numbers}, (numbers + 1, numbers)), lambda step: step[0]["a"]),
    }
    elements, first = forms[body["structure"]]
    dataset = Dataset.from_tensor_slices(elements).batch(body["batch"], drop_remainder=body["drop_remainder"])

    def steps() -> Any:
        distributed = strategy.experimental_distribute_dataset(dataset.repeat(body["repeat"]))
        return {"steps": [_parts(strategy, first(step)) for step in distributed]}

    return attempt(steps)


def autoshard_case(body: Body, strategy: Strategy) -> Any:
    """Returns every worker's parts in order, with the empty ones that fill up the steps of a worker that is done.

    Several workers are a simulated cluster of the strategy's profile; on another backend that is Unsupported.
    """
    group = group_of(strategy)
    workers = body["workers"]
    if workers > 1 and group.backend.name != "sim":
        return Raised(Unsupported(f"several workers of backend {group.backend.name!r} are several processes: ask sim"))

    def parts_of(strategy: Strategy) -> list[Any]:
        distributed = strategy.experimental_distribute_dataset(_sharded(body))
        return [part for step in distributed for part in _parts(strategy, step)]

    if workers == 1:
        return attempt(lambda: {"streams": [parts_of(strategy)]})
    cluster = Cluster(workers, body["replicas_per_worker"], semantics=group.semantics)
    return attempt(lambda: {"streams": list(cluster.run(parts_of))})


def _sharded(body: Body) -> Dataset:
    source = body["source"]
    elements = Dataset.range(body["total"]) if source == "range" else _lines(source, body["files"])
    options = Options(auto_shard_policy=AutoShardPolicy[body["policy"]])
    repeated = elements.repeat(body["repeat"])
    return repeated.batch(body["batch"], drop_remainder=body["drop_remainder"]).with_options(options)


def _lines(source: str, files: list[int]) -> Dataset:
    names, opened = numbered_files(files)

    def one(name: Any) -> Dataset:
        return lines_of(Dataset.from_tensors(name), opened)

    if source == "flat_map":
        return names.flat_map(one)
    if source == "interleave":
        return names.interleave(one, cycle_length=2, block_length=1)
    return lines_of(names, opened)


def input_context_case(body: Body, strategy: Strategy) -> Any:
    """Returns the batch size for one replica."""
    context = InputContext(body["pipelines"], body["pipeline_id"], body["replicas"])
    return attempt(lambda: {"per_replica": context.get_per_replica_batch_size(body["batch"])})


def dataset_iterator_case(body: Body, strategy: Strategy) -> Any:
    """Returns the steps of `make_dataset_iterator`, and how they end."""
    return attempt(lambda: _iterated(body, strategy, strategy.make_dataset_iterator(_numbers(body))))


def input_fn_iterator_case(body: Body, strategy: Strategy) -> Any:
    """Returns the steps of `make_input_fn_iterator`, and how they end."""
    return attempt(lambda: _iterated(body, strategy, strategy.make_input_fn_iterator(lambda context: _numbers(body))))


def _numbers(body: Body) -> Dataset:
    return Dataset.range(body["total"]).batch(body["batch"], drop_remainder=body["drop_remainder"])


def _iterated(body: Body, strategy: Strategy, iterator: InputIterator) -> Any:
    iterator.initialize()
    steps: list[Any] = []
    try:
        while True:
            step = iterator.get_next()
            if body["run"]:
                sums = strategy.run(_total, args=(step,))
                steps.append([_number(one) for one in hosts(strategy, sums)])
            else:
                steps.append(_parts(strategy, step))
    except OutOfRangeError as error:
        return {"steps": steps, "end": type(error).__name__}


def _total(batch: Any) -> Any:
    return here().xp.sum(batch)


def _number(value: Any) -> Any:
    """Returns a whole sum as the number that is recorded of it."""
    return float(value) if isinstance(value, np.ndarray) and value.shape == () and value.dtype == np.int64 else value


def _parts(strategy: Strategy, step: Any) -> list[Any]:
    """Returns the replicas' batches of numbers or texts as they are recorded.

    Another dtype or rank stays as it is, and differs. Texts are on no device.
    """
    found = []
    for part in strategy.experimental_local_results(step):
        own = part if isinstance(part, np.ndarray) and part.dtype == object else host(strategy, part)
        if isinstance(own, np.ndarray) and own.ndim == 1 and own.dtype in (np.int64, object):
            own = [text.decode() for text in own] if own.dtype == object else own.tolist()
        found.append(own)
    return found
