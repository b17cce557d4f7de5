"""Who calls a mapped name: the script or torch itself, and at which line."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from simstrategy.errors import Unsupported
from simstrategy.trace import describe_site
from simstrategy_torch_distributed.link import site_of

__all__ = ["NEUTRAL", "place", "refusing", "replace_names", "unless_torch_calls"]


_NOTHING: Final = (
    *("empty_cache", "init", "ipc_collect", "synchronize"),
    *("reset_accumulated_memory_stats", "reset_peak_memory_stats", "reset_max_memory_allocated"),
)
_BYTES: Final = ("max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved")
NEUTRAL: Final[Mapping[str, Callable[..., Any]]] = {
    **dict.fromkeys(_NOTHING, lambda *_, **__: None),
    **dict.fromkeys(_BYTES, lambda *_, **__: 0),
    "memory_stats": lambda *_, **__: {},
    "memory_summary": lambda *_, **__: "",
    "is_initialized": lambda: True,
    "is_current_stream_capturing": lambda: False,
}
"""Functions of torch.cuda and torch.accelerator that have nothing to do on the CPU, or one answer."""


def place(depth: int = 2) -> str:
    """Returns the line of the script that calls.  depth: frames between this function and the one that it called."""
    site = site_of(sys._getframe(depth))
    return describe_site(site) if site[0] else f"process {os.getpid()}"


def unless_torch_calls(original: Callable[..., Any], replacement: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that is the replacement for scripts, and the original one for torch's own code."""

    def chosen(*args: Any, **given: Any) -> Any:
        module = sys._getframe(1).f_globals.get("__name__", "")
        return (original if f"{module}.".startswith("torch.") else replacement)(*args, **given)

    return chosen


def replace_names(module: Any, values: Mapping[str, Callable[..., Any]]) -> None:
    """Replaces functions of a module for scripts, by name; a name that this version of torch lacks is left out."""
    found = vars(module)
    found.update({name: unless_torch_calls(found[name], value) for name, value in values.items() if name in found})


def refusing(name: str) -> Callable[..., NoReturn]:
    """Returns a function that refuses: what torch.cuda has under this name means nothing on the CPU."""

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise Unsupported(
            f"torch.cuda.{name} at {place()} has no meaning on CPU tensors, which --device cpu-for-cuda uses in place "
            f"of CUDA's. Leave it out where torch.cuda.get_device_name() is 'CPU in place of CUDA'."
        )

    return refuse
