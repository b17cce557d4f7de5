"""How a dataset is dealt to workers: one decision from policy, profile and what is known of the source.

Pure, over facts; what carries the decision out is `rewriting.py` and `distributed.py`.
"""

from enum import Enum
from typing import Literal, NamedTuple

from simstrategy.data.options import AutoShardPolicy, Options
from simstrategy.data.splitting import SplitRule
from simstrategy.errors import InvalidArgument, SimStrategyWarning

__all__ = ["DatasetRules", "ShardUnit", "ShardedByElement", "Sharding", "TooFewFiles", "belongs_to", "decide"]


class ShardedByElement(SimStrategyWarning):
    """A dataset that reads files is dealt to the workers by element: each of them reads everything."""


TooFewFiles = Literal["by element", "refuse"]
"""What AUTO does where there are fewer files than workers."""


class DatasetRules(NamedTuple):
    """In what the profiles differ on datasets; the fields of `Semantics` that say so, under one name."""

    split: SplitRule
    """STREAM: wherever elements are not dealt one by one and the size of the global batch is known."""
    too_few_files: TooFewFiles


class ShardUnit(Enum):
    """What is dealt to the workers."""

    NOTHING = "nothing"
    FILES = "files"
    ELEMENTS = "elements"
    HINT = "hint"


class Sharding(NamedTuple):
    """A decision: what is dealt, how batches are split, and whether files were there and are not dealt."""

    unit: ShardUnit
    rule: SplitRule
    warns: bool


def belongs_to(number: int, workers: int, worker: int) -> bool:
    """Tells whether a worker has the file, or the part, of this number."""
    return number % workers == worker


def decide(
    options: Options, rules: DatasetRules, *, workers: int, files: int | None, batch_size: int | None
) -> Sharding:
    """Decides how a dataset is dealt to `workers` and split.

    files: how many file names a reader has, counted to `workers`; None without a reader. batch_size: of the
    global batch, None where it is not known before the elements are. Raises InvalidArgument for FILE
    without files. Clauses: D-5, D-6, D-7, D-8. Source: TensorFlow 1.15.5 and 2.21.0, as recorded.
    """
    policy = options.auto_shard_policy or AutoShardPolicy.AUTO
    warns = False
    if policy is AutoShardPolicy.FILE:
        if files is None and workers > 1:
            raise InvalidArgument(
                "Found an unshardable source dataset: AutoShardPolicy.FILE deals files to the workers, and this "
                "dataset reads none, or not in every branch. Use AutoShardPolicy.DATA, or OFF and shard it yourself."
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
