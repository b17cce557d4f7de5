"""PyTorch as two backends of simstrategy: `torch` and `gloo`.  The door only; NCCL and GPUs are not here."""

from simstrategy_torch.gloo import GlooBackend
from simstrategy_torch.local import TorchBackend, open_torch
from simstrategy_torch.rendezvous import open_gloo

__all__ = ["GlooBackend", "TorchBackend", "open_gloo", "open_torch"]
