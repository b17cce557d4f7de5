"""PyTorch as three backends of simstrategy: `torch`, `gloo` and `nccl`.

`nccl` is experimental: it has run on one GPU alone.
"""

from simstrategy_torch.local import TorchBackend, open_torch
from simstrategy_torch.processes import ProcessBackend
from simstrategy_torch.rendezvous import open_gloo, open_nccl

__all__ = ["ProcessBackend", "TorchBackend", "open_gloo", "open_nccl", "open_torch"]
