"""Tensors as all backends here see them: dtypes, host data, cells, and additions.  No groups, and no choice of device.

Every tensor made here is new: it shares memory with no other. No gradient flows through additions and cells,
except where a docstring states it.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, final

import numpy as np
import torch

from simstrategy.device import ArraySpec, Device, Op, canonical_dtype
from simstrategy.errors import InvalidArgument, InvalidType, Unsupported

__all__ = ["DTYPES", "TorchCell", "copied", "fold", "get", "host_dtype", "name_of", "named", "put", "spec"]

# PyTorch has uint16, uint32 and uint64 as containers only: on a CPU it cannot add them.
_NAMES = "bool int8 int16 int32 int64 uint8 float16 bfloat16 float32 float64 complex64 complex128"
DTYPES: Final[dict[str, torch.dtype]] = {name: getattr(torch, name) for name in _NAMES.split()}
_NAME_OF: Final[dict[torch.dtype, str]] = {dtype: name for name, dtype in DTYPES.items()}
_COMBINE: Final[dict[str, Callable[..., Any]]] = {"SUM": torch.add, "MIN": torch.minimum, "MAX": torch.maximum}


def _bfloat16() -> "np.dtype[Any] | None":
    """NumPy's bfloat16 comes with the package ml_dtypes alone; PyTorch has its own."""
    try:
        import ml_dtypes  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return found


_HOST: Final[dict[torch.dtype, "np.dtype[Any] | None"]] = {
    dtype: _bfloat16() if name == "bfloat16" else np.dtype(name) for name, dtype in DTYPES.items()
}


def named(dtype: Any) -> torch.dtype:
    """Returns PyTorch's dtype for a name or NumPy dtype.  Raises InvalidArgument for one that is not here."""
    name = canonical_dtype(dtype)
    if name not in DTYPES:
        raise InvalidArgument(f"There is no dtype {name!r} in PyTorch's arithmetic; choose from {', '.join(DTYPES)}.")
    return DTYPES[name]


def name_of(dtype: torch.dtype) -> str:
    """Returns the Array API name of PyTorch's dtype, or its own where it is none of DTYPES."""
    return _NAME_OF.get(dtype) or str(dtype).removeprefix("torch.")


def host_dtype(dtype: torch.dtype) -> "np.dtype[Any] | None":
    """Returns NumPy's dtype for one of DTYPES; None for bfloat16 without ml_dtypes."""
    return _HOST[dtype]


def put(value: np.ndarray | torch.Tensor, device: Device) -> torch.Tensor:
    """Returns a copy [...] of a NumPy array or a tensor [...] on the device, of its dtype.

    A tensor's copy is connected to it: gradients flow. Raises InvalidArgument for a dtype outside DTYPES,
    and InvalidType for anything else than an array.
    """
    if isinstance(value, torch.Tensor):
        named(spec(value).dtype)
        return value.to(device.placement, copy=True)
    if not isinstance(value, np.ndarray):
        raise InvalidType(f"put takes a NumPy array or a torch.Tensor, got a {type(value).__name__}.")
    wanted = named(value.dtype)
    # Copied before PyTorch sees it: it refuses foreign byte orders and negative strides, and shares the memory.
    own = np.array(value, dtype=value.dtype.newbyteorder("="), order="C", copy=True, subok=False)
    return torch.from_numpy(own.view(np.int16) if wanted is torch.bfloat16 else own).view(wanted).to(device.placement)


def get(array: torch.Tensor) -> np.ndarray:
    """Returns a fresh, detached host copy [...] of a tensor [...].

    Raises Unsupported for bfloat16 without ml_dtypes.
    """
    plain = array.detach().cpu().resolve_conj().resolve_neg()
    if plain.dtype is not torch.bfloat16:
        return np.array(plain.numpy())
    host = host_dtype(plain.dtype)
    if host is None:
        raise Unsupported(
            "NumPy has no bfloat16 of its own: install ml_dtypes (pip install 'simstrategy[bfloat16]'), or cast "
            "first: xp.astype(x, 'float32')."
        )
    return np.array(plain.contiguous().view(torch.int16).numpy()).view(host)


def spec(array: torch.Tensor) -> ArraySpec:
    """Returns the shape [...], the dtype's Array API name, and PyTorch's name of the device of a tensor [...]."""
    return ArraySpec(tuple(array.shape), name_of(array.dtype), "cpu" if array.is_cpu else str(array.device))


def copied(array: torch.Tensor) -> torch.Tensor:
    """Returns a detached, contiguous copy [...] of a tensor [...]."""
    return array.detach().clone(memory_format=torch.contiguous_format)


def fold(arrays: Sequence[torch.Tensor], op: Op) -> torch.Tensor:
    """Combines tensors [...], one per rank, into a new one [...]: rank 0 with 1, then with 2, a rounding at each step.

    Integers wrap, NaN wins MIN and MAX. Raises Unsupported for MIN and MAX of complex numbers.
    """
    if op != "SUM" and arrays[0].is_complex():
        raise Unsupported(f"{op} of complex numbers: PyTorch orders none. Reduce their parts, or their abs.")
    total = copied(arrays[0])
    # Complex numbers part by part: PyTorch multiplies a summand by 1 + 0j first, which makes NaN of what is infinite.
    parts = torch.view_as_real(total) if total.is_complex() else total
    for array in arrays[1:]:
        other = array.detach()
        _COMBINE[op](parts, torch.view_as_real(other.resolve_conj()) if other.is_complex() else other, out=parts)
    return total


@final
class TorchCell:
    """A variable's storage: one tensor, written in place, so that an optimizer may hold it.

    `native` is a leaf that requires no gradient until the program sets it, as PyTorch's tensors do:
    call `variable.native.requires_grad_()` in each replica before reading. From then on what is read in a
    gradient mode is connected to it, and `torch.autograd.grad(loss, variable.native)` finds its gradient.
    """

    __slots__ = ("native",)

    def __init__(self, initial: torch.Tensor) -> None:
        self.native: Final = copied(initial)

    def read(self) -> torch.Tensor:
        return self.native.clone()

    def write(self, value: torch.Tensor) -> None:
        with torch.no_grad():
            self.native.copy_(value)
