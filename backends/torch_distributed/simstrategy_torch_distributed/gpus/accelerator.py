"""`torch.accelerator`, which scripts ask in place of `torch.cuda`: it finds CUDA, one device for each rank."""

from contextlib import nullcontext
from typing import Any

import torch

from simstrategy_torch_distributed.gpus.current import Current
from simstrategy_torch_distributed.gpus.places import NEUTRAL, replace_names
from simstrategy_torch_distributed.gpus.streams import current_stream, set_stream

__all__ = ["map_accelerator"]


def map_accelerator(current: Current) -> None:
    """Replaces the functions of `torch.accelerator` for scripts."""

    def set_device_index(device: Any, /) -> None:
        current.set("torch.accelerator.set_device_index", device)

    replace_names(
        torch.accelerator,
        {
            "is_available": lambda: True,
            "device_count": lambda: current.count,
            "current_accelerator": lambda *_, **__: torch.device("cuda"),
            "current_device_index": lambda: current.index,
            "current_device_idx": lambda: current.index,
            "set_device_index": set_device_index,
            "set_device_idx": set_device_index,
            "device_index": lambda _device: nullcontext(),
            "current_stream": current_stream,
            "set_stream": set_stream,
            **NEUTRAL,
        },
    )
