"""Values of parameters from the first step on, and of their gradients, for the law of random draws.

Each optimizer's parameters are looked at before each of its steps: whether ranks begin with other draws, whether calls
of the script ever write them, and whether gradients are equal on all ranks, as combined ones are.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, final

import torch
import torch.distributed as dist
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook
from xxhash import xxh3_64_hexdigest

from simstrategy_torch_distributed.link import site_of

__all__ = ["Beginnings"]

_STEPS_MAX: Final = 64
"""Later steps are not looked at, only the end."""
_SHOWN: Final = 4
_AT_END: Final = -1
_REDUCTIONS: Final = frozenset({"all_reduce", "reduce", "reduce_scatter", "all_gather"})


@final
class Beginnings:
    """Watches one rank.  send: takes a message for the law."""

    def __init__(self, send: Callable[[list[Any]], None]) -> None:
        self._send = send
        self._optimizers: dict[Optimizer, int] = {}
        """How many steps each has made."""
        self._addresses: dict[int, tuple[int, int]] = {}
        """Of parameters: the number of the optimizer, and of the parameter in it."""
        self._written: set[tuple[int, int]] = set()
        self._reduced: set[int] = set()
        register_optimizer_step_pre_hook(self._stepping)

    def requested(
        self, kind: str, ranks: Sequence[int], tensors: Sequence[torch.Tensor], written: Sequence[torch.Tensor]
    ) -> None:
        """Notes what a call of the script compares and writes, [...] each."""
        for one in written if self._addresses else ():
            key = self._addresses.get(_address(one))
            if key is not None:
                self._written.add(key)
        if kind in _REDUCTIONS and len(ranks) == dist.get_world_size():
            self._reduced.add(sum(one.numel() for one in tensors))

    def end(self) -> None:
        """Sends what parameters are when the script has ended."""
        for optimizer in self._optimizers:
            self._report(optimizer, _AT_END, ("", 0))

    def _stepping(self, optimizer: Optimizer, _args: Any, _options: Any) -> None:
        """Sends the parameters of an optimizer; torch calls it before each step."""
        step = self._optimizers[optimizer] = self._optimizers.get(optimizer, 0) + 1
        if step <= _STEPS_MAX:
            self._report(optimizer, step, site_of(sys._getframe(1)))

    def _report(self, optimizer: Optimizer, step: int, site: tuple[str, int]) -> None:
        number = list(self._optimizers).index(optimizer)
        entries = []
        for place, (name, one) in enumerate(_parameters(optimizer)):
            if not _is_plain(one):
                continue
            self._addresses.setdefault(_address(one), (number, place))
            gradient = one.grad if one.grad is not None and _is_plain(one.grad) else None
            is_trained = gradient is not None and bool(gradient.any())
            entries.append(
                [
                    name or f"parameter {place}",
                    _digest(one),
                    one.detach().reshape(-1)[:_SHOWN].float().tolist(),
                    _digest(gradient) if is_trained else None,
                    one.numel(),
                    (number, place) in self._written,
                ]
            )
        facts = {"optimizer": number, "step": step, "site": site, "reduced": sorted(self._reduced)}
        self._send(["random", {"what": "step", **facts, "entries": entries}])


def _parameters(optimizer: Optimizer) -> list[tuple[str | None, torch.Tensor]]:
    """Returns the parameters of an optimizer, [...] each, with their names where it has them."""
    found = []
    for group in optimizer.param_groups:
        names = group.get("param_names") or [None] * len(group["params"])
        found += list(zip(names, group["params"], strict=True))
    return found


def _is_plain(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor, [...], is a dense one on the CPU of real numbers, and no shard of another."""
    kinds = (torch.Tensor, torch.nn.Parameter)
    return type(tensor) in kinds and tensor.is_cpu and tensor.layout == torch.strided and not tensor.is_complex()


def _address(tensor: torch.Tensor) -> int:
    return tensor.data_ptr() if _is_plain(tensor) else 0


def _digest(tensor: torch.Tensor | None) -> str | None:
    """Returns a digest of the values of a tensor, [...]."""
    if tensor is None:
        return None
    data: Any = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy()
    return xxh3_64_hexdigest(data)
