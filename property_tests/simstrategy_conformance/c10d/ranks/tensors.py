"""Tensors of the arrays of a row: contiguous ones, and views with gaps whose memory must not be touched."""

import zlib
from typing import Any, NamedTuple, final

import numpy as np
import torch

from simstrategy_conformance.c10d.inputs import CARRIERS

__all__ = ["Held", "Memory", "digest_of", "dtype_named", "host_of"]

Host = np.ndarray[Any, Any]


class Held(NamedTuple):
    """A tensor, and the memory that it is a view of, if it is one.  form: its shape, strides, dtype and address."""

    tensor: torch.Tensor
    gaps: torch.Tensor | None
    form: tuple[Any, ...]

    def overwrite(self) -> None:
        """Writes other numbers into the tensor."""
        self.tensor.copy_(_filled_like(self.tensor))

    def changed(self) -> str:
        """Returns what a call may not change and has changed, in words; "" for nothing."""
        now = _form(self.tensor)
        if now != self.form:
            if now[:-1] == self.form[:-1]:
                return "the tensor has other memory after the call"
            was, found = (f"{dtype}{shape} with strides {strides}" for dtype, shape, strides, _ in (self.form, now))
            return f"the tensor is {found} after the call, and was {was}"
        if self.gaps is not None and not torch.equal(_bytes(self.gaps), _bytes(_filled_like(self.gaps))):
            return "memory between the elements of a view was written to"
        return ""


def dtype_named(name: str) -> torch.dtype:
    """Returns torch's dtype of that name."""
    found: torch.dtype = vars(torch)[name]
    return found


@final
class Memory:
    """The tensors of a row: where its call is made again, with other numbers, they are those of the call before.

    So are those of a program that fills its gradients anew in each step. What a backend has kept before is seen.
    """

    def __init__(self) -> None:
        self._held: list[Held] = []
        self._place = 0

    def begin(self) -> None:
        """Begins a call."""
        self._place = 0

    def hold(self, host: Host, dtype: str, device: torch.device, *, strided: bool | str) -> Held:
        """Puts an array, [...], into a tensor.

        strided: a view of every other element, with its axes transposed; "transposed": the same without gaps.
        """
        made = _hold(host, dtype, device, strided=strided)
        place, self._place = self._place, self._place + 1
        if place < len(self._held):
            before = self._held[place]
            if before.form[:-1] == made.form[:-1] and not before.changed():
                before.tensor.copy_(made.tensor)
                return before
        self._held[place:] = [made]
        return made


def _hold(host: Host, dtype: str, device: torch.device, *, strided: bool | str) -> Held:
    plain = torch.from_numpy(np.array(host, order="C"))
    wanted = dtype_named(dtype)
    value = plain.view(wanted) if CARRIERS.get(dtype) == "uint8" else plain.to(wanted)
    value = value.to(device)
    turned = tuple(reversed(range(value.ndim)))
    if strided == "transposed":
        value = value.permute(turned).contiguous().permute(turned)
    if strided is not True:
        return Held(value, None, _form(value))
    shape = tuple(reversed(value.shape)) or (1,)
    memory = _filled_like(torch.empty((*shape[:-1], 2 * shape[-1] + 1), dtype=wanted, device=device))
    view = memory[..., 1::2].permute(turned or (0,))
    view = view[0] if not value.ndim else view
    view.copy_(value)
    return Held(view, memory[..., 0::2], _form(view))


def _filled_like(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor of the form of another, [...], whose bytes are all of one value that is a number, or True."""
    ones = torch.full((tensor.numel() * tensor.dtype.itemsize,), 1, dtype=torch.uint8, device=tensor.device)
    return ones.view(tensor.dtype).reshape(tensor.shape)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(-1).view(torch.uint8)


def _form(tensor: torch.Tensor) -> tuple[Any, ...]:
    return str(tensor.dtype)[6:], list(tensor.shape), list(tensor.stride()), tensor.data_ptr()


def host_of(tensor: torch.Tensor, dtype: str) -> Host:
    """Returns a tensor's numbers, [...], as an array of the dtype that stands for `dtype`."""
    plain = tensor.detach().cpu().contiguous()
    if dtype == "bfloat16":
        plain = plain.to(torch.float32)
    elif dtype in CARRIERS:
        plain = plain.view(torch.uint8)
    return np.asarray(plain.numpy())


def digest_of(host: Host) -> int:
    """Returns a number, not 0, that is equal for arrays, [...], of equal bits."""
    return zlib.crc32(np.ascontiguousarray(host).tobytes()) or 1
