"""Runs unmodified programs of `torch.distributed` on simulated ranks of this machine: `simstrategy torchrun`.

A process that has imported torch forks the ranks; one process compares their calls and decides when each is complete;
the ranks exchange tensors through shared memory. Nothing here imports torch before a rank does: the command starts at
once.
"""

from simstrategy_torch_distributed.observing import observe

__all__ = ["observe"]
