"""Datasets, and how they are split over workers and replicas."""

from simstrategy.data.composites import CompositeBatch, CompositeSpec
from simstrategy.data.dataset import Dataset
from simstrategy.data.distributable import Source, source_of
from simstrategy.data.distributed import DistributedDataset, InputIterator
from simstrategy.data.elements import ElementSpec
from simstrategy.data.iterators import DistributedIterator, InputPlacement, OptionalValue, WatchSteps
from simstrategy.data.options import (
    SHARD_HINT,
    AutoShardPolicy,
    InputContext,
    InputOptions,
    InputReplicationMode,
    Options,
)
from simstrategy.data.readers import TextLineDataset, TFRecordDataset
from simstrategy.data.sharding import DatasetRules, ShardedByElement, ShardUnit
from simstrategy.data.split_preview import SplitPreview, split
from simstrategy.data.splitting import (
    SplitRule,
    per_batch_chunks,
    per_batch_parts,
    stream_parts,
    worker_chunks,
    worker_sizes,
)
from simstrategy.data.step_sources import (
    Plan,
    StepSource,
    callback_source,
    equal_split_source,
    plan_split,
    require_equal_parts,
    split_source,
    unsplit_source,
)

__all__ = [
    "SHARD_HINT",
    "AutoShardPolicy",
    "CompositeBatch",
    "CompositeSpec",
    "Dataset",
    "DatasetRules",
    "DistributedDataset",
    "DistributedIterator",
    "ElementSpec",
    "InputContext",
    "InputIterator",
    "InputOptions",
    "InputPlacement",
    "InputReplicationMode",
    "OptionalValue",
    "Options",
    "Plan",
    "ShardUnit",
    "ShardedByElement",
    "Source",
    "SplitPreview",
    "SplitRule",
    "StepSource",
    "TFRecordDataset",
    "TextLineDataset",
    "WatchSteps",
    "callback_source",
    "equal_split_source",
    "per_batch_chunks",
    "per_batch_parts",
    "plan_split",
    "require_equal_parts",
    "source_of",
    "split",
    "split_source",
    "stream_parts",
    "unsplit_source",
    "worker_chunks",
    "worker_sizes",
]
