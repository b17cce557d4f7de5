"""The values of replicated parameters after each optimizer step, as a rank sends them.

Replicated is what DistributedDataParallel averages the gradients of, and what the script itself has broadcast. Nothing
else is looked at: shards, experts, stages and averages on one rank may differ.
"""

import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeAlias, final

import numpy as np
import torch
import torch.distributed as dist
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.modules.module import register_module_module_registration_hook
from torch.nn.parallel import DistributedDataParallel
from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook
from torch.utils.weak import WeakTensorKeyDictionary
from xxhash import xxh3_64_hexdigest

from simstrategy.trace import describe_site
from simstrategy_torch_distributed.link import site_of

__all__ = ["Steps"]

_SHOWN: Final = 4
"""How many elements are sent from the begin of a parameter, and how many from all over it."""
_KEPT: Final = 64
"""So many lists of parameters are kept until the script ends, to look at them once more."""
_BROADCASTS_MAX: Final = 4096
_AT_END: Final = -1
_IN_NUMPY: Final = frozenset({torch.float32, torch.float64, torch.float16, torch.complex64, torch.complex128})
"""The dtypes of parameters that NumPy has."""
_REDUCTIONS: Final = frozenset({"all_reduce", "reduce", "reduce_scatter", "all_gather"})

Entry: TypeAlias = list[Any]
"""A parameter: its key, the same on all ranks; its name; a digest; positions and values of some elements; its dtype;
whether the script has combined or copied it by a call of its own since the first step."""


@final
@dataclass(slots=True)
class _Set:
    """Parameters that were declared together.  key: the same on all ranks. by: what declares them, for people.

    members: the keys and names of parameters, by parameter. when: the calls of the group at the last step, and the
    number of steps since. site: of the last step.
    addresses: of the parameters at the last step, with their keys. combined: keys of those that the script combined.
    """

    key: str
    group: str
    ranks: Sequence[int]
    by: str
    members: WeakTensorKeyDictionary = field(default_factory=WeakTensorKeyDictionary)
    steps: int = 0
    site: tuple[str, int] = ("", 0)
    when: list[int] = field(default_factory=lambda: [0, -1])
    addresses: dict[int, str] = field(default_factory=dict)
    combined: set[str] = field(default_factory=set)


@final
class Steps:
    """Watches one rank.  send: takes a message for the law of state. made: how many calls each group has made."""

    def __init__(self, send: Callable[[list[Any]], None], made: Mapping[str, int]) -> None:
        self._send = send
        self._made = made
        self._sets: dict[str, _Set] = {}
        self._by_parameter = WeakTensorKeyDictionary()
        self._broadcast: dict[int, tuple[StorageWeakRef, int, _Set, int]] = {}
        """By address: the memory, its number of elements, its set, and the number of the call in its group."""
        self._reduced: dict[str, set[int]] = {}
        """For each group the sizes of the tensors that the script itself has reduced, in elements."""
        self._wrapped: Counter[str] = Counter()
        self._kept: deque[list[torch.Tensor]] = deque(maxlen=_KEPT)
        register_module_module_registration_hook(self._registered)
        register_optimizer_step_post_hook(self._stepped)

    def requested(
        self,
        kind: str,
        group: str,
        ranks: Sequence[int],
        tensors: Sequence[torch.Tensor],
        written: Sequence[torch.Tensor],
    ) -> None:
        """Notes a call that the script makes.  tensors: [...] each, what it compares; written: what it writes."""
        for one in self._sets.values():
            one.combined |= {key for tensor in written if (key := one.addresses.get(_address(tensor))) is not None}
        if kind in _REDUCTIONS:
            self._reduced.setdefault(group, set()).add(sum(one.numel() for one in tensors))
        elif kind == "broadcast" and len(ranks) > 1:
            if len(self._broadcast) >= _BROADCASTS_MAX:
                self._broadcast = {at: one for at, one in self._broadcast.items() if not _is_gone(one[0])}
            found = self._set(f"{group} broadcast", group, ranks, "broadcast by the script")
            for tensor in tensors if len(self._broadcast) < _BROADCASTS_MAX else ():
                memory = StorageWeakRef(tensor.untyped_storage())  # type: ignore[no-untyped-call]
                self._broadcast[tensor.data_ptr()] = (memory, tensor.numel(), found, self._made[group])

    def end(self) -> None:
        """Sends what the ranks have of all sets when the script has ended."""
        for one in self._sets.values():
            entries = [_entry(one, parameter) for parameter in one.members]
            if entries:
                self._report(one, [_AT_END, 0], entries)

    def _registered(self, module: torch.nn.Module, name: str, child: torch.nn.Module | None) -> None:
        """Declares the parameters of a module that DistributedDataParallel wraps; torch calls it for each submodule."""
        if not isinstance(module, DistributedDataParallel) or name != "module" or child is None:
            return
        group = module.process_group.group_name
        number = self._wrapped[group] = self._wrapped[group] + 1
        ranks = dist.get_process_group_ranks(module.process_group)
        place = describe_site(site_of(sys._getframe(1)))
        by = f"kept equal by DistributedDataParallel, which is made at {place}"
        found = self._set(f"{group} wrapped {number}", group, ranks, by)
        for key, parameter in child.named_parameters():
            if parameter.requires_grad and key not in module.parameters_to_ignore:
                self._declare(found, parameter, key, key)
        self._kept.append(list(child.parameters()))

    def _set(self, key: str, group: str, ranks: Sequence[int], by: str) -> _Set:
        return self._sets.setdefault(key, _Set(key, group, list(ranks), by))

    def _declare(self, declared: _Set, parameter: torch.Tensor, key: str, name: str) -> None:
        if len(declared.ranks) > 1 and _is_plain(parameter):
            declared.members[parameter] = (key, name)
            self._by_parameter[parameter] = declared

    def _stepped(self, optimizer: Optimizer, _args: Any, _options: Any) -> None:
        """Sends the declared parameters of an optimizer; torch calls it after each step."""
        found: dict[str, list[Entry]] = {}
        for number, (name, parameter) in enumerate(_parameters(optimizer)):
            declared = self._declared(parameter)
            if declared is None and self._broadcast:
                declared = self._declared_by_broadcast(parameter, name or f"parameter {number}")
                if declared is not None:
                    self._kept.append([parameter])
            if declared is not None:
                declared.addresses[_address(parameter)] = declared.members[parameter][0]
                found.setdefault(declared.key, []).append(_entry(declared, parameter))
        for key, entries in found.items():
            one = self._sets[key]
            made = self._made[one.group]
            one.when = [made, one.when[1] + 1 if one.when[0] == made else 0]
            one.steps += 1
            one.site = site_of(sys._getframe(1))
            self._report(one, one.when, entries)

    def _declared_by_broadcast(self, parameter: torch.Tensor, name: str) -> _Set | None:
        """Returns the set of a parameter that the script has broadcast, which is declared from now on; else None."""
        memory, count, declared, call = self._broadcast.get(_address(parameter), (None, 0, None, 0))
        if declared is None or memory is None or _is_gone(memory) or count != parameter.numel():
            return None
        self._declare(declared, parameter, f"{call} {name}", name)
        return self._declared(parameter)

    def _declared(self, parameter: torch.Tensor) -> _Set | None:
        found: _Set | None = self._by_parameter.get(parameter)  # type: ignore[no-untyped-call]
        return found

    def _report(self, one: _Set, when: Sequence[int], entries: Sequence[Entry]) -> None:
        sizes = [parameter.numel() for parameter in one.members]
        reduced = self._reduced.get(one.group, set())
        is_trained = bool(reduced & {size for size in (*sizes, sum(sizes)) if size > 1})
        what = {"key": one.key, "ranks": list(one.ranks), "by": one.by, "is_trained": is_trained}
        self._send(["state", {**what, "when": list(when), "step": one.steps, "site": one.site, "entries": entries}])


def _parameters(optimizer: Optimizer) -> Iterable[tuple[str | None, torch.Tensor]]:
    for group in optimizer.param_groups:
        yield from zip(group.get("param_names") or [None] * len(group["params"]), group["params"], strict=True)


def _is_gone(memory: StorageWeakRef) -> bool:
    return bool(memory.expired())  # type: ignore[no-untyped-call]


def _is_plain(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor, [...], is a dense one on the CPU, and no shard of another."""
    return type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.is_cpu and tensor.layout == torch.strided


def _address(tensor: torch.Tensor) -> int:
    return tensor.data_ptr() if _is_plain(tensor) else 0


def _entry(declared: _Set, parameter: torch.Tensor) -> Entry:
    """Returns what is compared of a parameter, [...]."""
    key, name = declared.members[parameter]
    flat = parameter.detach().reshape(-1)
    places, index = _places(flat.numel())
    in_numpy = flat.dtype in _IN_NUMPY
    data: Any = (flat if in_numpy else flat.view(torch.uint8)).numpy()
    shown = data[index] if in_numpy else flat[torch.from_numpy(index)].float().numpy()
    dtype = str(parameter.dtype).removeprefix("torch.")
    return [key, name, xxh3_64_hexdigest(data), places, shown.real.tolist(), dtype, key in declared.combined]


@lru_cache(maxsize=1024)
def _places(count: int) -> tuple[list[int], np.ndarray[Any, Any]]:
    """Returns which of so many elements are sent, as a list and as indices, [n]: the first ones, and some of all."""
    places = sorted({*range(min(_SHOWN, count)), *range(0, count, max(1, -(-count // _SHOWN)))})
    return places, np.asarray(places, dtype=np.int64)
