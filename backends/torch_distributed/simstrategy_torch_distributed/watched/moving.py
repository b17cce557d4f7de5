"""Moves tensors by one unit in the last place, in patterns, to measure how far rounding moves a script's results.

The unit may be that of a narrow dtype, such as bfloat16: here is also what finds in which of them a script computes, by
casts, autocast, policies of FSDP or hooks, wherever they are.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeGuard, final

import numpy as np
import torch
from torch.nn.modules.module import register_module_forward_hook
from torch.utils._python_dispatch import TorchDispatchMode

from simstrategy.device.narrow import NARROW, perturb_as
from simstrategy.device.perturbed import LeftSums, largest_of, moved_sums, perturb
from simstrategy_torch_distributed.watched.parts import is_readable, local_of

__all__ = ["Moves", "Narrow", "moved", "nudge", "nudge_sums"]

_EXACT: Final = (torch.float32, torch.float64)
"""Of a narrower dtype a few units in the last place are no small part."""
_PATTERNS_MAX: Final = 16
"""More than there are patterns of runs, so that no two runs move the same way at two times."""
_LOOKS_UP: Final = (torch.nn.Embedding, torch.nn.EmbeddingBag)


@final
class Moves:
    """What moves in a run that measures rounding.  pattern: by which.

    sums: None, or what these sums of gradients leave where their terms cancel moves as well, as by `nudge_sums`, but
    for those that are truly as small: the fields of `LeftSums`. narrow: a dtype of `device.narrow` in which the script
    computes, whose units inputs and gradients then move by; None for none. Parameters move by their own: the script's
    casts round what becomes of them.
    """

    def __init__(self, pattern: int, *, sums: Sequence[Any] | None, narrow: str | None) -> None:
        self._pattern = pattern
        self._sums = None if sums is None else LeftSums(*sums)
        self._steps = 0
        self._narrow = narrow
        self._times = 0
        """How often inputs and gradients were moved, each time in another pattern where units are those of `narrow`."""
        if narrow is not None:
            register_module_forward_hook(self._looked_up)

    def inputs(self, module: torch.nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """Returns what a module is given, with its tensors moved.  named: by name; its tensors are moved in this dict.

        Lists and dicts stay as they are: a module may write into them what the script reads afterwards. So do zeros
        and ones, as of masks and labels, where something else moves: modules ask whether they are equal to them.
        """
        pattern = self._next()
        floats = [one for one in (*given, *named.values()) if _is_tensor(one) and one.dtype.is_floating_point]
        flags = [one for one in floats if _are_flags(one)]
        moves_else = len(flags) < len(floats) or any(True for _ in module.parameters())
        stay = {*map(id, flags)} if moves_else else set()

        def move(one: Any) -> Any:
            return moved(one, pattern, self._narrow) if _is_tensor(one) and id(one) not in stay else one

        named |= {name: move(one) for name, one in named.items()}
        return tuple([move(one) for one in given])

    def parameter(self, tensor: torch.Tensor) -> None:
        """Moves a parameter […] in place."""
        nudge(tensor, self._pattern)

    def gradients(self, named: Sequence[tuple[str, torch.Tensor]]) -> None:
        """Moves the gradients of a step, [...] each, in place.  named: with the names of their parameters."""
        tensors = [tensor for _, tensor in named]
        self._steps += 1
        if self._sums is not None:
            terms = self._sums.of_step(self._steps)
            sizes = [None if name in self._sums.true else terms.get(name, 0.0) for name, _ in named]
            nudge_sums(tensors, self._pattern, sizes, max(terms.values(), default=0.0))
        pattern = self._next()
        for tensor in tensors:
            if self._sums is None or (self._narrow is not None and local_of(tensor).dtype in _EXACT):
                nudge(tensor, pattern, self._narrow)

    def _looked_up(self, module: torch.nn.Module, _given: Any, found: Any) -> Any:
        """Returns what a module has looked up, moved: its own inputs are no floats."""
        is_input = isinstance(module, _LOOKS_UP) and isinstance(found, torch.Tensor)
        return moved(found, self._next(), self._narrow) if is_input else None

    def _next(self) -> int:
        if self._narrow is not None:
            self._times += 1
        return self._pattern + _PATTERNS_MAX * self._times


@final
class Narrow(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's base has no types
    """Sees the results of all of torch's operations, from `begin` on.  Compiled functions run uncompiled under it."""

    def __init__(self) -> None:
        TorchDispatchMode.__init__(self)  # type: ignore[no-untyped-call]
        self._kinds = {getattr(torch, name): name for name in NARROW}
        self.found: set[str] = set()
        """The names of the dtypes."""

    def begin(self) -> None:
        self.__enter__()  # type: ignore[no-untyped-call]  # for the rest of the process

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for one in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(one, torch.Tensor) and one.dtype in self._kinds:
                self.found.add(self._kinds[one.dtype])
        return result


def _are_flags(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor […] of floats has zeros, ones and minus ones alone."""
    if tensor.layout != torch.strided or not is_readable(tensor):
        return False
    sizes = local_of(tensor).abs()
    return bool(((sizes == 0) | (sizes == 1)).all())


def _is_tensor(value: object) -> TypeGuard[torch.Tensor]:
    return isinstance(value, torch.Tensor)


def moved(tensor: torch.Tensor, pattern: int, narrow: str | None = None) -> torch.Tensor:
    """Returns a tensor […] of floats with each element moved by an ulp, in the given one's graph; others as it is.

    narrow: the dtype whose ulp that is; None for the tensor's own.
    """
    if not tensor.dtype.is_floating_point or tensor.layout != torch.strided or not tensor.numel():
        return tensor
    if not is_readable(tensor):
        return tensor
    with torch.no_grad():
        change = _moved(tensor.detach(), pattern, narrow) - tensor.detach()
        change = torch.where(torch.isfinite(change), change, torch.zeros_like(change))
    return tensor + change


def nudge(tensor: torch.Tensor, pattern: int, narrow: str | None = None) -> None:
    """Moves the elements of a tensor […] in place; of a DTensor those of this rank.  narrow: as of `moved`."""
    local = local_of(tensor)
    if local.dtype.is_floating_point and local.layout == torch.strided and local.numel():
        with torch.no_grad():
            local.copy_(_moved(local, pattern, narrow))


def nudge_sums(
    tensors: Sequence[torch.Tensor], pattern: int, terms: Sequence[float | None] = (), of_terms: float = 0.0
) -> None:
    """Moves the elements of sums, [...] each, in place, also those that rounding has left of terms that cancel.

    They are small beside the largest element, or the largest of the terms. Where all elements of a sum are, they are
    beside the largest one of all sums that ranks have whole, and of all terms, which is the same on each rank; where a
    rank has a part of a sum, beside all of its own. terms: of each tensor the size of its terms; None for one that is
    truly as small, so that all its elements move by one unit in the last place. of_terms: the largest of all.
    """
    exact = []
    for tensor, size in zip(tensors, terms or [0.0] * len(tensors), strict=True):
        local = local_of(tensor)
        if local.dtype in _EXACT and local.layout == torch.strided and local.numel():
            exact.append((local, local.cpu().contiguous().numpy(), local.shape != tensor.shape, size))
        else:
            nudge(tensor, pattern)
    of_all = max([of_terms, *[largest_of(host) for _, host, *_ in exact]])
    whole = max([of_terms, *[largest_of(host) for _, host, is_part, _ in exact if not is_part]])
    for local, host, is_part, size in exact:
        if size is None:
            moved_host = perturb(host, pattern)
        else:
            largest = of_all if is_part else None
            moved_host = moved_sums(host, pattern, largest=largest, beside=whole, terms=size)
        with torch.no_grad():
            local.copy_(torch.from_numpy(moved_host))


def _moved(tensor: torch.Tensor, pattern: int, narrow: str | None) -> torch.Tensor:
    if narrow is not None and tensor.dtype in _EXACT:
        return torch.from_numpy(perturb_as(tensor.cpu().contiguous().numpy(), pattern, narrow))
    if tensor.dtype in (torch.float16, torch.float32, torch.float64):
        return torch.from_numpy(perturb(tensor.cpu().contiguous().numpy(), pattern))
    up = torch.from_numpy(perturb(np.ones(tuple(tensor.shape), np.float32), pattern)) > 1
    unit = 0.6 * torch.finfo(tensor.dtype).eps  # is rounded to one ulp, wherever between two powers of 2 a number is
    return torch.where(up, tensor.float() * (1 + unit), tensor.float() * (1 - unit)).to(tensor.dtype)
