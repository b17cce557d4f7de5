"""The functions and classes of `torch.cuda`, for scripts: what they answer and do where all tensors are on the CPU."""

import os
import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Final

import torch

from simstrategy_torch_distributed.gpus import streams
from simstrategy_torch_distributed.gpus.current import Current
from simstrategy_torch_distributed.gpus.places import NEUTRAL, place, refusing, replace_names

__all__ = ["map_calls"]

_NAME: Final = "CPU in place of CUDA"
_REFUSED_CLASSES: Final = ("CUDAGraph", "ExternalStream")
_REFUSED: Final = ("cudart", "get_device_capability", "graph", "make_graphed_callables")
_SEEDS: Final = ("manual_seed", "manual_seed_all")


def map_calls(current: Current) -> None:
    """Replaces the functions and classes of `torch.cuda` for scripts."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    replace_names(
        torch.cuda,
        {
            "is_available": lambda: True,
            "is_bf16_supported": lambda *_, **__: True,
            "device_count": lambda: current.count,
            "current_device": lambda: current.index,
            "get_device_name": lambda _device=None: _NAME,
            "get_device_properties": lambda _device=None: SimpleNamespace(name=_NAME, total_memory=memory),
            "mem_get_info": lambda _device=None: (memory, memory),
            "set_device": lambda device: current.set("torch.cuda.set_device", device),
            "device": lambda _device: nullcontext(),
            "current_stream": streams.current_stream,
            "default_stream": streams.current_stream,
            "set_stream": streams.set_stream,
            "stream": streams.StreamContext,
            **NEUTRAL,
            **dict.fromkeys(_SEEDS, _ignored_seed),
            **{name: refusing(name) for name in _REFUSED},
        },
    )
    vars(torch.cuda).update(Stream=streams.Stream, Event=streams.Event, StreamContext=streams.StreamContext)
    vars(torch.cuda).update({name: type(name, (), {"__new__": refusing(name)}) for name in _REFUSED_CLASSES})


def _ignored_seed(seed: int) -> None:
    if seed != torch.initial_seed():
        sys.stderr.write(
            f"simstrategy: torch.cuda.manual_seed({seed}) at {place()} is ignored: all tensors are on the CPU, "
            f"whose generator has the seed {torch.initial_seed()}.\n"
        )
