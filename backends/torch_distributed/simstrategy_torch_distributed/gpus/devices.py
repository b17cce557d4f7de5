"""CUDA devices in the arguments of torch's functions become the CPU, and the backend nccl becomes gloo."""

import re
from collections.abc import Mapping
from typing import Any, Final

import torch
import torch.distributed
from torch.distributed import device_mesh, distributed_c10d
from torch.nn import parallel
from torch.overrides import TorchFunctionMode

from simstrategy_torch_distributed.gpus.places import unless_torch_calls

__all__ = ["map_devices"]

_CPU: Final = torch.device("cpu")
_CUDA: Final = re.compile(r"cuda(:\d+)?")
_OF_GPUS: Final = re.compile("nccl")
"""In the name of a backend that a script asks for."""
_UNCHANGED: Final = (torch.Tensor.cuda, torch.Tensor.pin_memory)
"""Functions whose result is the tensor, where all tensors are on the CPU."""


class _OnCpu(TorchFunctionMode):
    """Replaces CUDA devices in the arguments of torch's functions."""

    def __torch_function__(
        self, func: Any, _types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Calls a function of torch; tensors, [...], stay where they are."""
        if func is torch.device:
            places = [_place_of(args[0])] if len(args) == 1 else args
            return func(*places, **(kwargs or {}))
        if func in _UNCHANGED:
            return args[0]
        given = {name: _mapped(value) for name, value in (kwargs or {}).items() if name != "pin_memory"}
        if _is_index(given.get("device")):
            given["device"] = _CPU
        values = [_mapped(value) for value in args]
        if func is torch.Tensor.to and len(values) > 1 and _is_index(values[1]):
            values[1] = _CPU
        return func(*values, **given)


def map_devices() -> None:
    """Makes CUDA devices mean the CPU from now on in this thread, and nccl mean gloo in this process."""
    _map_groups()
    _map_places()
    _map_methods()
    vars(parallel)["DistributedDataParallel"] = vars(parallel.distributed)["DistributedDataParallel"] = _wrapper()
    _OnCpu().__enter__()  # type: ignore[no-untyped-call]  # for the rest of the process


def _map_groups() -> None:
    """Maps the arguments of functions that make groups of ranks, which torch's modes do not see."""

    def backend_of(backend: Any) -> Any:
        return "gloo" if isinstance(backend, str) and _OF_GPUS.search(backend) else backend

    def init_process_group(backend: Any = None, *args: Any, device_id: Any = None, **given: Any) -> None:
        joined["init_process_group"](backend_of(backend), *args, **given)

    def new_group(ranks: Any = None, timeout: Any = None, backend: Any = None, *args: Any, **given: Any) -> Any:
        given.pop("device_id", None)
        return joined["new_group"](ranks, timeout, backend_of(backend), *args, **given)

    joined = {name: vars(distributed_c10d)[name] for name in ("init_process_group", "new_group")}
    for module in (torch.distributed, distributed_c10d):
        vars(module).update(init_process_group=init_process_group, new_group=new_group)
        vars(module)["is_nccl_available"] = unless_torch_calls(distributed_c10d.is_nccl_available, lambda: True)


def _map_places() -> None:
    """Maps the arguments of functions that load and move, which torch's modes do not see."""

    def load(*args: Any, map_location: Any = None, **given: Any) -> Any:
        place = dict.fromkeys(map_location, _CPU) if isinstance(map_location, dict) else _mapped(map_location)
        return loaded(*args, **{**given, "map_location": place})

    loaded, defaulted = torch.load, torch.set_default_device
    vars(torch)["load"] = load
    vars(torch)["Generator"] = _generator(vars(torch)["Generator"])
    vars(torch)["set_default_device"] = lambda device: defaulted(_mapped(_place_of(device)))


def _map_methods() -> None:
    """Maps the arguments of methods that read devices before torch's modes see them."""

    def to(module: torch.nn.Module, *args: Any, **given: Any) -> Any:
        named = {name: _mapped(_place_of(value)) for name, value in given.items()}
        return moved(module, *[_mapped(_place_of(value)) for value in args], **named)

    def begin(mesh: Any, device_type: Any, *args: Any, **given: Any) -> None:
        kind = device_type.type if isinstance(device_type, torch.device) else device_type
        begun(mesh, "cpu" if kind == "cuda" else kind, *args, **given)

    moved: Any = torch.nn.Module.to
    begun: Any = device_mesh.DeviceMesh.__init__
    type.__setattr__(torch.nn.Module, "to", to)
    type.__setattr__(device_mesh.DeviceMesh, "__init__", begin)
    type.__setattr__(torch.Tensor, "record_stream", lambda _tensor, _stream: None)


def _wrapper() -> type:
    """Returns DistributedDataParallel without devices, which it does not take for a module on the CPU."""
    original = parallel.DistributedDataParallel

    class DistributedDataParallel(original):  # type: ignore[misc,valid-type]  # for isinstance, in torch and in scripts
        def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, *args: Any, **given: Any):
            original.__init__(self, module, None, None, *args, **given)

    return DistributedDataParallel


def _generator(original: Any) -> type:
    """Returns a class that makes generators of the original one, on the CPU where CUDA is asked for."""

    class OnCpu(type(original)):  # type: ignore[misc]  # a class that is known when it runs
        def __call__(cls, device: Any = _CPU) -> Any:
            return original(device=_mapped(_place_of(device)))

        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, original)

    return OnCpu(original.__name__, (original,), {"__module__": original.__module__, "__doc__": original.__doc__})


def _place_of(value: Any) -> Any:
    """Returns the CUDA device of a number, which a place may be, and other values as they are."""
    return torch.device("cuda", value) if _is_index(value) else value


def _is_index(value: Any) -> bool:
    """Returns whether a value is the number of a device: torch takes True for none."""
    return isinstance(value, int) and not isinstance(value, bool)


def _mapped(value: Any) -> Any:
    """Returns the CPU in place of a CUDA device or its name, and other values as they are."""
    if isinstance(value, torch.device):
        return _CPU if value.type == "cuda" else value
    return _CPU if isinstance(value, str) and _CUDA.fullmatch(value) else value
