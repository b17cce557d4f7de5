"""Metrics over rows that ranks share out."""

import warnings

import torch
import torch.distributed as dist
import torchmetrics
import torchmetrics.audio
import torchmetrics.clustering
import torchmetrics.image
import torchmetrics.nominal
import torchmetrics.regression
import torchmetrics.retrieval
import torchmetrics.segmentation
import torchmetrics.shape
import torchmetrics.text
import torchmetrics.wrappers
from simstrategy.errors import SimStrategyError
from simstrategy_torch_distributed import observe

warnings.simplefilter("ignore")
dist.init_process_group("gloo")
RANK, RANKS = dist.get_rank(), dist.get_world_size()


def shared(how, rows, batch):
    """Returns the batches of this rank, each a list of numbers of rows; all ranks together have each row once."""
    every = list(range(rows))
    mine = {"turns": every[RANK::RANKS], "blocks": torch.tensor_split(torch.arange(rows), RANKS)[RANK].tolist()}[how]
    return [mine[at : at + batch] for at in range(0, len(mine), batch)]


def drawn(seed):
    return torch.Generator().manual_seed(seed)
