"""Datasets, and how they are split over workers and replicas."""

from simstrategy.data.dataset import Dataset
from simstrategy.data.distributed import DistributedDataset, DistributedIterator
from simstrategy.data.splitting import per_batch_chunks, worker_chunks

__all__ = ["Dataset", "DistributedDataset", "DistributedIterator", "per_batch_chunks", "worker_chunks"]
