"""CUDA's names on CPU tensors, in the process of a rank: for scripts that were written for GPUs.

Devices, transfers and the backend nccl become the CPU and gloo; torch's own code still finds no GPU. Streams and events
become the order of the lines. What has no meaning on CPU tensors, such as graphs, is refused by name. Names are mapped
in the thread of the script.
"""

from simstrategy_torch_distributed.gpus.accelerator import map_accelerator
from simstrategy_torch_distributed.gpus.calls import map_calls
from simstrategy_torch_distributed.gpus.current import Current
from simstrategy_torch_distributed.gpus.devices import map_devices

__all__ = ["map_cuda_names"]


def map_cuda_names(rank: int, ranks: int) -> None:
    """Makes CUDA's names mean the CPU from now on in this process.  ranks: how many GPUs a script counts."""
    current = Current(rank, ranks)
    map_calls(current)
    map_accelerator(current)
    map_devices()
