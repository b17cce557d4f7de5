"""Datasets, and how they are split over workers and replicas."""

from simstrategy.data.dataset import Dataset
from simstrategy.data.distributed import DistributedDataset, InputIterator
from simstrategy.data.elements import ElementSpec
from simstrategy.data.feeds import Feed, Plan, called_feed, dealt_feed, even_feed, evenly, plan_split, split_feed
from simstrategy.data.iterators import DistributedIterator, Group, OptionalValue
from simstrategy.data.options import (
    SHARD_HINT,
    AutoShardPolicy,
    InputContext,
    InputOptions,
    InputReplicationMode,
    Options,
)
from simstrategy.data.readers import TextLineDataset, TFRecordDataset
from simstrategy.data.rows import Form, Rows
from simstrategy.data.sharding import By, DatasetRules, ShardedByElement
from simstrategy.data.sources import Source, source_of
from simstrategy.data.splitting import (
    SplitRule,
    per_batch_chunks,
    per_batch_parts,
    stream_parts,
    worker_chunks,
    worker_sizes,
)

__all__ = [
    "SHARD_HINT",
    "AutoShardPolicy",
    "By",
    "Dataset",
    "DatasetRules",
    "DistributedDataset",
    "DistributedIterator",
    "ElementSpec",
    "Feed",
    "Form",
    "Group",
    "InputContext",
    "InputIterator",
    "InputOptions",
    "InputReplicationMode",
    "OptionalValue",
    "Options",
    "Plan",
    "Rows",
    "ShardedByElement",
    "Source",
    "SplitRule",
    "TFRecordDataset",
    "TextLineDataset",
    "called_feed",
    "dealt_feed",
    "even_feed",
    "evenly",
    "per_batch_chunks",
    "per_batch_parts",
    "plan_split",
    "source_of",
    "split_feed",
    "stream_parts",
    "worker_chunks",
    "worker_sizes",
]
