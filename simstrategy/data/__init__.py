"""Datasets, and how they are split over workers and replicas.

The names are imported on their first use: many programs hand over arrays, and no dataset (decision 0035).
"""

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from simstrategy.late_names import on_first_use

if TYPE_CHECKING:
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

_WHERE: Final = MappingProxyType(
    {
        "AutoShardPolicy": "simstrategy.data.options:AutoShardPolicy",
        "CompositeBatch": "simstrategy.data.composites:CompositeBatch",
        "CompositeSpec": "simstrategy.data.composites:CompositeSpec",
        "Dataset": "simstrategy.data.dataset:Dataset",
        "DatasetRules": "simstrategy.data.sharding:DatasetRules",
        "DistributedDataset": "simstrategy.data.distributed:DistributedDataset",
        "DistributedIterator": "simstrategy.data.iterators:DistributedIterator",
        "ElementSpec": "simstrategy.data.elements:ElementSpec",
        "InputContext": "simstrategy.data.options:InputContext",
        "InputIterator": "simstrategy.data.distributed:InputIterator",
        "InputOptions": "simstrategy.data.options:InputOptions",
        "InputPlacement": "simstrategy.data.iterators:InputPlacement",
        "InputReplicationMode": "simstrategy.data.options:InputReplicationMode",
        "OptionalValue": "simstrategy.data.iterators:OptionalValue",
        "Options": "simstrategy.data.options:Options",
        "Plan": "simstrategy.data.step_sources:Plan",
        "SHARD_HINT": "simstrategy.data.options:SHARD_HINT",
        "ShardUnit": "simstrategy.data.sharding:ShardUnit",
        "ShardedByElement": "simstrategy.data.sharding:ShardedByElement",
        "Source": "simstrategy.data.distributable:Source",
        "SplitPreview": "simstrategy.data.split_preview:SplitPreview",
        "SplitRule": "simstrategy.data.splitting:SplitRule",
        "StepSource": "simstrategy.data.step_sources:StepSource",
        "TFRecordDataset": "simstrategy.data.readers:TFRecordDataset",
        "TextLineDataset": "simstrategy.data.readers:TextLineDataset",
        "WatchSteps": "simstrategy.data.iterators:WatchSteps",
        "callback_source": "simstrategy.data.step_sources:callback_source",
        "equal_split_source": "simstrategy.data.step_sources:equal_split_source",
        "per_batch_chunks": "simstrategy.data.splitting:per_batch_chunks",
        "per_batch_parts": "simstrategy.data.splitting:per_batch_parts",
        "plan_split": "simstrategy.data.step_sources:plan_split",
        "require_equal_parts": "simstrategy.data.step_sources:require_equal_parts",
        "source_of": "simstrategy.data.distributable:source_of",
        "split": "simstrategy.data.split_preview:split",
        "split_source": "simstrategy.data.step_sources:split_source",
        "stream_parts": "simstrategy.data.splitting:stream_parts",
        "unsplit_source": "simstrategy.data.step_sources:unsplit_source",
        "worker_chunks": "simstrategy.data.splitting:worker_chunks",
        "worker_sizes": "simstrategy.data.splitting:worker_sizes",
    }
)
"""Where each name is defined."""


__getattr__, __dir__ = on_first_use(globals(), _WHERE)
