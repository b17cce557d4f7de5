"""Decides how a dataset is sharded over workers, from its policy, the profile and the facts about its source.

Pure functions. `rewriting.py` and `step_sources.py` carry the decision out.
"""

from enum import Enum
from typing import Literal, NamedTuple

from simstrategy.data.options import AutoShardPolicy, Options
from simstrategy.data.splitting import SplitRule
from simstrategy.errors import InvalidArgument, SimStrategyWarning

__all__ = ["DatasetRules", "ShardUnit", "ShardedByElement", "Sharding", "TooFewFiles", "belongs_to", "decide"]


class ShardedByElement(SimStrategyWarning):
    """A dataset that reads files is sharded by element: every worker reads all files."""


TooFewFiles = Literal["by element", "refuse"]
"""What AUTO does when there are fewer files than workers."""


class DatasetRules(NamedTuple):
    """The fields of `Semantics` that concern datasets."""

    split: SplitRule
    """The rule of datasets that are not sharded by element and whose global batch size is known."""
    too_few_files: TooFewFiles


class ShardUnit(Enum):
    """What is distributed over the workers: each worker reads some of these."""

    NOTHING = "nothing"
    FILES = "files"
    ELEMENTS = "elements"
    HINT = "hint"


class Sharding(NamedTuple):
    """A decision: the unit of sharding, the rule by which batches are split, and whether to warn.

    warns: the dataset reads files, and they are not distributed over the workers.
    """

    unit: ShardUnit
    rule: SplitRule
    warns: bool


def belongs_to(number: int, workers: int, worker: int) -> bool:
    """Returns whether the file or the element of this number belongs to a worker."""
    return number % workers == worker


def decide(
    options: Options, rules: DatasetRules, *, workers: int, files: int | None, batch_size: int | None
) -> Sharding:
    """Decides how a dataset is sharded over `workers` and how its batches are split.

    files: the number of files that a reader has, at most `workers`; None without a reader. batch_size: of the
    global batch; None where it is not known before the first element. Raises InvalidArgument for FILE without
    files. Clauses: D-5, D-6, D-7, D-8. Source: TensorFlow 1.15.5 and 2.21.0, as recorded.
    """
    policy = options.auto_shard_policy or AutoShardPolicy.AUTO
    warns = False
    if policy is AutoShardPolicy.FILE:
        if files is None and workers > 1:
            raise InvalidArgument(
                "Found an unshardable source dataset: AutoShardPolicy.FILE distributes files over the workers, and "
                "this dataset reads none, or not in every branch. Use AutoShardPolicy.DATA, or OFF and Dataset.shard."
            )
        unit = ShardUnit.FILES if workers > 1 else ShardUnit.NOTHING
    elif policy is AutoShardPolicy.AUTO:
        enough = files is not None and (files >= workers or rules.too_few_files == "refuse")
        unit = ShardUnit.ELEMENTS if not enough else ShardUnit.FILES if workers > 1 else ShardUnit.NOTHING
        warns = files is not None and unit is ShardUnit.ELEMENTS and workers > 1
    else:
        unit = {
            AutoShardPolicy.OFF: ShardUnit.NOTHING,
            AutoShardPolicy.DATA: ShardUnit.ELEMENTS,
            AutoShardPolicy.HINT: ShardUnit.HINT,
        }[policy]
    usual = SplitRule.PER_BATCH if unit is ShardUnit.ELEMENTS or batch_size is None else rules.split
    return Sharding(unit, options.split_rule or usual, warns)
