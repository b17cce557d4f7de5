"""The functions and classes of `torch.cuda`, for scripts: what they answer and do where all tensors are on the CPU."""

import os
import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, Final

import torch

from simstrategy_torch_distributed.gpus import streams
from simstrategy_torch_distributed.gpus.current import Current
from simstrategy_torch_distributed.gpus.places import NEUTRAL, place, refusing, replace_names

__all__ = ["map_calls"]

_NAME: Final = "CPU in place of CUDA"
_REFUSED_CLASSES: Final = ("CUDAGraph", "ExternalStream")
_CAPABILITY: Final = (8, 0)
"""Of the first GPUs that have bfloat16, as `is_bf16_supported` answers."""
_REFUSED: Final = ("cudart", "graph", "make_graphed_callables")
_SEEDS: Final = ("manual_seed", "manual_seed_all")
_STATES: Final = ("set_rng_state", "set_rng_state_all")


def map_calls(current: Current) -> None:
    """Replaces the functions and classes of `torch.cuda` for scripts."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    major, minor = _CAPABILITY
    properties = SimpleNamespace(name=_NAME, total_memory=memory, major=major, minor=minor, multi_processor_count=1)
    replace_names(
        torch.cuda,
        {
            "is_available": lambda: True,
            "is_bf16_supported": lambda *_, **__: True,
            "device_count": lambda: current.count,
            "current_device": lambda: current.index,
            "get_device_name": lambda _device=None: _NAME,
            "get_device_capability": lambda _device=None: _CAPABILITY,
            "get_device_properties": lambda _device=None: properties,
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
    for module in (torch.cuda, torch.cuda.random):
        replace_names(
            module,
            {
                "get_rng_state": lambda *_, **__: torch.get_rng_state(),
                "get_rng_state_all": lambda: [torch.get_rng_state() for _ in range(current.count)],
                "initial_seed": torch.initial_seed,
                **dict.fromkeys(_STATES, _ignored_state),
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


def _ignored_state(state: Any, *_: Any, **__: Any) -> None:
    states = list(state) if isinstance(state, (list, tuple)) else [state]
    if not all(torch.equal(one, torch.get_rng_state()) for one in states):
        sys.stderr.write(
            f"simstrategy: the state of CUDA's generators that is set at {place()} is ignored: all tensors are on the "
            f"CPU, whose generator has another state.\n"
        )
