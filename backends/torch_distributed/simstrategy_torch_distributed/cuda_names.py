"""CUDA's names on CPU tensors, in the process of a rank: for scripts that were written for GPUs.

Devices, transfers and the backend nccl become the CPU and gloo; torch's own code still finds no GPU.
What has no meaning on CPU tensors, such as streams, is refused by name. Names are mapped in the thread of the script.
"""

import os
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any, Final, NoReturn

import torch
import torch.distributed
from torch.distributed import device_mesh, distributed_c10d
from torch.nn import parallel
from torch.overrides import TorchFunctionMode

from simstrategy.errors import InvalidArgument, Unsupported
from simstrategy.trace import describe_site
from simstrategy_torch_distributed.link import site_of

__all__ = ["map_cuda_names"]

_CPU: Final = torch.device("cpu")
_CUDA: Final = re.compile(r"cuda(:\d+)?")
_OF_GPUS: Final = re.compile("nccl")
"""In the name of a backend that a script asks for."""
_REFUSED_CLASSES: Final = ("CUDAGraph", "Event", "ExternalStream", "Stream")
_REFUSED: Final = (
    *("cudart", "current_stream", "default_stream", "get_device_capability", "get_device_properties", "graph"),
    *("make_graphed_callables", "mem_get_info", "set_stream", "stream"),
)
_NOTHING: Final = ("empty_cache", "init", "ipc_collect", "reset_peak_memory_stats", "synchronize")
_BYTES: Final = ("max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved")
_SEEDS: Final = ("manual_seed", "manual_seed_all")


class _OnCpu(TorchFunctionMode):
    """Replaces CUDA devices in the arguments of torch's functions."""

    def __torch_function__(
        self, func: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Calls a function of torch; tensors, [...], stay where they are."""
        if func is torch.device:
            return func(*args, **(kwargs or {}))
        given = {name: _mapped(value) for name, value in (kwargs or {}).items() if name != "pin_memory"}
        if func in (torch.Tensor.cuda, torch.Tensor.pin_memory):
            return args[0]
        if isinstance(given.get("device"), int):
            given["device"] = _CPU
        values = [_mapped(value) for value in args]
        if func is torch.Tensor.to and len(values) > 1 and isinstance(values[1], int):
            values[1] = _CPU
        return func(*values, **given)


def map_cuda_names(rank: int, ranks: int) -> None:
    """Makes CUDA's names mean the CPU from now on in this process.  ranks: how many GPUs a script counts."""
    current = [rank]

    def set_device(device: Any) -> None:
        index = device if isinstance(device, int) else torch.device(device).index
        if index is not None and not 0 <= index < ranks:
            raise InvalidArgument(
                f"torch.cuda.set_device at {_place()} got device {index}, and {ranks} ranks have the devices 0 to "
                f"{ranks - 1}. Pass int(os.environ['LOCAL_RANK'])."
            )
        current[0] = current[0] if index is None else index

    def manual_seed(seed: int) -> None:
        if seed != torch.initial_seed():
            sys.stderr.write(
                f"simstrategy: torch.cuda.manual_seed({seed}) at {_place()} is ignored: all tensors are on the CPU, "
                f"whose generator has the seed {torch.initial_seed()}.\n"
            )

    values: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "is_bf16_supported": lambda *_, **__: True,
        "device_count": lambda: ranks,
        "current_device": lambda: current[0],
        "get_device_name": lambda _device=None: "CPU in place of CUDA",
        "set_device": set_device,
        "device": lambda _device: nullcontext(),
        **dict.fromkeys(_NOTHING, lambda *_, **__: None),
        **dict.fromkeys(_BYTES, lambda *_, **__: 0),
        **dict.fromkeys(_SEEDS, manual_seed),
        **{name: _refusing(name) for name in _REFUSED},
    }
    for name, value in values.items():
        vars(torch.cuda)[name] = _unless_torch_calls(vars(torch.cuda)[name], value)
    for name in _REFUSED_CLASSES:
        vars(torch.cuda)[name] = type(name, (), {"__new__": _refusing(name)})
    _map_functions()
    vars(parallel)["DistributedDataParallel"] = vars(parallel.distributed)["DistributedDataParallel"] = _wrapper()
    _OnCpu().__enter__()  # type: ignore[no-untyped-call]  # for the rest of the process


def _map_functions() -> None:
    """Maps the arguments of functions that torch's modes do not see."""

    def backend_of(given: Mapping[str, Any]) -> dict[str, Any]:
        backend = given.get("backend")
        return {**given, "backend": "gloo"} if isinstance(backend, str) and _OF_GPUS.search(backend) else {**given}

    def init_process_group(backend: Any = None, *args: Any, device_id: Any = None, **given: Any) -> None:
        joined["init_process_group"](*args, **backend_of({"backend": backend}), **given)

    def new_group(ranks: Any = None, timeout: Any = None, backend: Any = None, *args: Any, **given: Any) -> Any:
        given.pop("device_id", None)
        return joined["new_group"](ranks, timeout, backend_of({"backend": backend})["backend"], *args, **given)

    def load(*args: Any, map_location: Any = None, **given: Any) -> Any:
        place = dict.fromkeys(map_location, _CPU) if isinstance(map_location, dict) else _mapped(map_location)
        return loaded(*args, **{**given, "map_location": place})

    def init_device_mesh(device_type: str, *args: Any, **given: Any) -> Any:
        return meshed("cpu" if device_type == "cuda" else device_type, *args, **given)

    joined = {name: vars(distributed_c10d)[name] for name in ("init_process_group", "new_group")}
    loaded, meshed, defaulted = torch.load, device_mesh.init_device_mesh, torch.set_default_device
    vars(torch)["load"] = load
    vars(torch)["set_default_device"] = lambda device: defaulted(_mapped(device))
    for module in (torch.distributed, distributed_c10d):
        vars(module).update(init_process_group=init_process_group, new_group=new_group)
        vars(module)["is_nccl_available"] = _unless_torch_calls(distributed_c10d.is_nccl_available, lambda: True)
    for module in (torch.distributed, device_mesh):
        vars(module)["init_device_mesh"] = init_device_mesh


def _wrapper() -> type:
    """Returns DistributedDataParallel without devices, which it does not take for a module on the CPU."""
    original = parallel.DistributedDataParallel

    class DistributedDataParallel(original):  # type: ignore[misc,valid-type]  # for isinstance, in torch and in scripts
        def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, *args: Any, **given: Any):
            original.__init__(self, module, None, None, *args, **given)

    return DistributedDataParallel


def _mapped(value: Any) -> Any:
    """Returns the CPU in place of a CUDA device or its name, and other values as they are."""
    if isinstance(value, torch.device):
        return _CPU if value.type == "cuda" else value
    return _CPU if isinstance(value, str) and _CUDA.fullmatch(value) else value


def _unless_torch_calls(original: Callable[..., Any], replacement: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that is the replacement for scripts, and the original one for torch's own code."""

    def chosen(*args: Any, **given: Any) -> Any:
        module = sys._getframe(1).f_globals.get("__name__", "")
        return (original if f"{module}.".startswith("torch.") else replacement)(*args, **given)

    return chosen


def _refusing(name: str) -> Callable[..., NoReturn]:
    """Returns a function that refuses: what torch.cuda has under this name means nothing on the CPU."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise Unsupported(
            f"torch.cuda.{name} at {_place()} has no meaning on CPU tensors, which --device cpu-for-cuda uses in place "
            f"of CUDA's. Leave it out where torch.cuda.get_device_name() is 'CPU in place of CUDA'."
        )

    return refuse


def _place() -> str:
    site = site_of(sys._getframe(2))
    return describe_site(site) if site[0] else f"process {os.getpid()}"
