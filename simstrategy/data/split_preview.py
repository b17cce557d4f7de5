"""Who gets what, without running anything: the parts of all workers of a dataset, and what is odd about them.

For people who want to see a policy before they use it. It decides nothing of its own.
"""

import io
from collections import Counter
from collections.abc import Sequence
from itertools import islice, zip_longest
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from simstrategy.data.dataset import Dataset
from simstrategy.data.distributable import source_of
from simstrategy.data.nodes import PLAIN_ITERATION
from simstrategy.data.options import AutoShardPolicy, Options
from simstrategy.data.parts import EMPTY
from simstrategy.data.readers import lines_of
from simstrategy.data.sharding import DatasetRules
from simstrategy.data.splitting import SplitRule
from simstrategy.data.step_sources import plan_split, split_source
from simstrategy.errors import InvalidArgument

__all__ = ["SplitPreview", "numbered_files", "numbered_lines", "split_preview"]

Names = list[str]
"""The elements of one part."""


class SplitPreview(NamedTuple):
    """What the replicas of all workers get under one policy."""

    by: str
    """What is dealt to the workers: files, elements, nothing, or what a hint says."""
    rule: str
    steps: list[list[Names]]
    """For each step, the part of each replica of all workers, worker by worker."""
    elements: int
    """How many there are in the dataset."""
    lost: Names
    """Those that no replica gets."""
    twice: Names
    """Those that come more often than in the dataset."""
    warnings: list[str]


def numbered_files(counts: Sequence[int]) -> tuple[Dataset, Any]:
    """Returns the names f0, f1, … of files with so many lines, which are only in memory, and how to open one."""

    def opened(name: str) -> BinaryIO:
        lines = range(counts[int(name.removeprefix("f"))])
        return io.BytesIO("".join(f"{name}-{line}\n" for line in lines).encode())

    names = np.array([f"f{number}" for number in range(len(counts))], dtype=object)
    return Dataset.from_tensor_slices(names), opened


def numbered_lines(counts: Sequence[int]) -> Dataset:
    """Returns the lines f0-0, f0-1, … of files with so many lines, which are only in memory."""
    return lines_of(*numbered_files(counts))


def split_preview(
    dataset: Dataset,
    policy: AutoShardPolicy,
    rules: DatasetRules,
    *,
    workers: int,
    replicas: int,
    rule: SplitRule | None = None,
) -> SplitPreview:
    """Returns what every replica gets of a finite dataset of batches.

    replicas: of each worker. rule: stands above the profile's. Raises InvalidArgument where the policy does
    not fit the dataset.
    """
    source, options = source_of(dataset), Options(policy, rule)
    plan = plan_split(source, options, rules, workers=workers, replicas=replicas)
    streams = []
    for worker in range(workers):
        step_source = split_source(source, plan, workers=workers, worker=worker, replicas=replicas)
        streams.append([[_names(part) for part in step.parts] for step in step_source.steps(PLAIN_ITERATION)])
    nothing: list[Names] = [[] for _ in range(replicas)]
    steps = [[part for own in step for part in own] for step in zip_longest(*streams, fillvalue=nothing)]
    there = Counter(name for batch in source.by_hint(1, 0).elements(PLAIN_ITERATION) for name in _names(batch))
    given = Counter(name for step in steps for part in step for name in part)
    warnings = _warnings(steps, there, given, workers, replicas)
    if plan.sharding.warns:
        warnings.append(f"only {plan.files} file(s) for {workers} workers: every worker reads everything")
    lost, twice = list((there - given).elements()), list((given - there).elements())
    return SplitPreview(plan.sharding.unit.value, plan.sharding.rule.value, steps, there.total(), lost, twice, warnings)


def _names(part: Any) -> Names:
    if part is EMPTY:
        return []
    if part.ndim != 1:
        raise InvalidArgument(f"Elements are shown of batches of numbers or texts, not of shape {part.shape}.")
    return [one.decode() if isinstance(one, bytes) else str(one) for one in part.tolist()]


def _warnings(
    steps: list[list[Names]], there: Counter[str], given: Counter[str], workers: int, replicas: int
) -> list[str]:
    found = []
    if there - given:
        found.append(f"{(there - given).total()} of {there.total()} elements reach no replica")
    if given - there:
        found.append(
            f"elements come {given.total() / max(there.total(), 1):g} times on average: {workers} times the work"
        )
    empty = sum(not part for step in steps for part in step)
    if empty:
        found.append(f"{empty} empty parts: a mean of one is NaN; reduce(MEAN, axis=0) is right")
    if any(not any(step) for step in steps):
        found.append(f"{sum(not any(step) for step in steps)} steps in which no replica has anything")
    idle = [w for w in range(workers) if steps and not any(any(_of_worker(step, w, replicas)) for step in steps)]
    if idle:
        found.append(f"worker {', '.join(map(str, idle))} gets nothing at all")
    uneven = sum(len({len(part) for part in step if part}) > 1 for step in steps)
    if uneven:
        found.append(f"{uneven} steps with parts of different sizes: a mean of means weighs elements differently")
    return found


def _of_worker(step: list[Names], worker: int, replicas: int) -> list[Names]:
    return list(islice(step, worker * replicas, (worker + 1) * replicas))
