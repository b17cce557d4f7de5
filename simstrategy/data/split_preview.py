"""Computes the parts of all workers of a dataset without running a program, with warnings about them.

For users who compare policies. The decisions are those of `sharding.py` and `splitting.py`.
"""

import io
from collections import Counter
from collections.abc import Sequence
from itertools import islice, zip_longest
from typing import Any, BinaryIO, Final, NamedTuple

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
from simstrategy.notebook import Marked, card

__all__ = ["SplitPreview", "numbered_files", "numbered_lines", "split", "split_preview"]

_RULES: Final = DatasetRules(SplitRule("per batch"), "by element")
"""Those of the default profile, `TF1_15`."""

Names = list[str]
"""The elements of one part."""


class SplitPreview(NamedTuple):
    """What the replicas of all workers receive under one policy."""

    by: str
    """The unit of sharding: files, elements, nothing or hint."""
    rule: str
    steps: list[list[Names]]
    """[steps][replicas of all workers, worker by worker]: the part of each replica."""
    elements: int
    """The number of elements of the dataset."""
    lost: Names
    """The elements that no replica receives."""
    twice: Names
    """The elements that replicas receive more often than they are in the dataset."""
    warnings: list[str]

    def _repr_html_(self) -> str:
        """Returns the steps as a table, for notebooks; empty parts and warnings are marked."""
        rows = (
            [str(number), *(" ".join(part) or Marked("nothing") for part in step)]
            for number, step in enumerate(self.steps)
        )
        count = len(self.steps[0]) if self.steps else 0
        headings = ["step", *(f"replica {rank}" for rank in range(count))]
        title = f"Sharded by {self.by}, batches split by the rule {self.rule!r}"
        return card(title, headings, rows, total=len(self.steps), notes=map(Marked, self.warnings))


def numbered_files(counts: Sequence[int]) -> tuple[Dataset, Any]:
    """Returns a dataset of the names f0, f1, … of files in memory, and the function that opens one.

    counts: the number of lines of each file.
    """

    def opened(name: str) -> BinaryIO:
        lines = range(counts[int(name.removeprefix("f"))])
        return io.BytesIO("".join(f"{name}-{line}\n" for line in lines).encode())

    names = np.array([f"f{number}" for number in range(len(counts))], dtype=object)
    return Dataset.from_tensor_slices(names), opened


def numbered_lines(counts: Sequence[int]) -> Dataset:
    """Returns a dataset of the lines f0-0, f0-1, … of files in memory; counts: the number of lines of each file."""
    return lines_of(*numbered_files(counts))


def split(
    dataset: Dataset,
    *,
    replicas: int,
    workers: int = 1,
    policy: AutoShardPolicy = AutoShardPolicy.AUTO,
    rule: SplitRule | None = None,
) -> SplitPreview:
    """Returns what every replica would receive of a dataset of batches, without running a program.

    dataset: finite, of batches [batch] of numbers or texts. replicas: of each worker. rule: in place of that of the
    profile `TF1_15`. In a notebook the result is a table; `simstrategy split` prints the same. Raises InvalidArgument
    for counts below 1, for other elements, and where the policy cannot be used with the dataset.

    >>> [len(part) for part in split(Dataset.range(10).batch(4), replicas=3).steps[0]]
    [2, 2, 0]
    """
    for name, count in (("replicas", replicas), ("workers", workers)):
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise InvalidArgument(f"split takes {name} of at least 1, got {count!r}. Pass an int, for example 2.")
    return split_preview(dataset, policy, _RULES, workers=workers, replicas=replicas, rule=rule)


def split_preview(
    dataset: Dataset,
    policy: AutoShardPolicy,
    rules: DatasetRules,
    *,
    workers: int,
    replicas: int,
    rule: SplitRule | None = None,
) -> SplitPreview:
    """Returns what every replica receives of a finite dataset of batches.

    replicas: of each worker. rule: overrides the rule of the profile. Raises InvalidArgument where the policy cannot
    be used with the dataset.
    """
    source, options = source_of(dataset), Options(policy, rule)
    plan = plan_split(source, options, rules, workers=workers, replicas=replicas)
    streams = []
    for worker in range(workers):
        step_source = split_source(source, plan, workers=workers, worker=worker, replicas=replicas)
        streams.append([[_names(part) for part in step.parts] for step in step_source.steps(PLAIN_ITERATION)])
    nothing: list[Names] = [[] for _ in range(replicas)]
    steps = [[part for parts in step for part in parts] for step in zip_longest(*streams, fillvalue=nothing)]
    expected = Counter(name for batch in source.by_hint(1, 0).elements(PLAIN_ITERATION) for name in _names(batch))
    received = Counter(name for step in steps for part in step for name in part)
    warnings = _warnings(steps, expected, received, workers, replicas)
    if plan.sharding.warns:
        warnings.append(f"only {plan.files} file(s) for {workers} workers: every worker reads all files")
    lost, twice = list((expected - received).elements()), list((received - expected).elements())
    return SplitPreview(
        plan.sharding.unit.value, plan.sharding.rule.value, steps, expected.total(), lost, twice, warnings
    )


def _names(part: Any) -> Names:
    if part is EMPTY:
        return []
    if part.ndim != 1:
        raise InvalidArgument(
            f"A preview needs batches [batch] of numbers or texts, got shape {list(part.shape)}. Use scalar elements."
        )
    return [one.decode() if isinstance(one, bytes) else str(one) for one in part.tolist()]


def _warnings(
    steps: list[list[Names]], expected: Counter[str], received: Counter[str], workers: int, replicas: int
) -> list[str]:
    found = []
    if expected - received:
        found.append(f"{(expected - received).total()} of {expected.total()} elements reach no replica")
    if received - expected:
        found.append(
            f"elements come {received.total() / max(expected.total(), 1):g} times on average: {workers} times the work"
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
