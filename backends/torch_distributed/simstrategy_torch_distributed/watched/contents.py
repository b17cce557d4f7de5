"""What a value of a script holds: the numbers in it, as arrays, or a short text; and what is known of objects.

Large values, and others than numbers and texts, are left out. Nothing is asked of an object that its class does not
document.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader, DistributedSampler
from xxhash import xxh3_64_intdigest

from simstrategy_torch_distributed.watched.parts import is_readable, part_of

__all__ = ["Contents", "addresses_of", "attributes_of", "contents_of", "optimizers_of"]

_ELEMENTS_MAX: Final = 1 << 14
_LEAVES_MAX: Final = 256
_DEPTH_MAX: Final = 3
_CHARACTERS_MAX: Final = 64
_NUMBERS: Final = (bool, int, float, np.generic)


class Contents(NamedTuple):
    """leaves: the numbers, [any shape] each.  text: of a value without numbers. graded: in autograd's graph."""

    leaves: tuple[np.ndarray[Any, Any], ...]
    text: str
    graded: bool

    @property
    def digest(self) -> int:
        """Is equal for equal contents."""
        shapes = "".join(f"{leaf.dtype.char}{leaf.shape}" for leaf in self.leaves)
        return xxh3_64_intdigest(b"".join([leaf.tobytes() for leaf in self.leaves]) + f"{shapes}{self.text}".encode())


def contents_of(value: object, *, elements_max: int = _ELEMENTS_MAX) -> Contents | None:
    """Returns what a value holds; None for one that is left out, such as an array of more elements than that."""
    if isinstance(value, str):
        return Contents((), value, graded=False) if 0 < len(value) <= _CHARACTERS_MAX else None
    leaves: list[np.ndarray[Any, Any]] = []
    graded: list[bool] = []
    if not _gather(value, leaves, graded, elements_max) or not leaves:
        return None
    return Contents(tuple(leaves), "", graded=any(graded))


def attributes_of(value: object) -> Iterator[tuple[str, Contents]]:
    """Yields what is known of an object: attributes of a class of the script, and some of torch's objects."""
    if any(isinstance(value, kind) for kind in _KNOWN):
        yield from _known(value)
        return
    for name, held in _own(value):
        found = None if name.startswith("_") else contents_of(held)
        if found is not None:
            yield name, found
        elif held is not value:
            yield from ((f"{name}.{inner}", contents) for inner, contents in _known(held))


def _known(value: object) -> Iterator[tuple[str, Contents]]:
    """Yields what is looked at of one of torch's objects."""
    for kind, facts in _KNOWN.items():
        if isinstance(value, kind):
            yield from _facts_of(value, facts)


def _facts_of(value: object, facts: Callable[[Any], Iterator[tuple[str, object]]]) -> Sequence[tuple[str, Contents]]:
    """Returns what an object says of itself; nothing for one that is not made yet, or whose own class has an error."""
    try:
        known = [(name, contents_of(held)) for name, held in facts(value)]
    except Exception:  # noqa: BLE001 - an error of what only looks is none of the script
        return ()
    return [(name, found) for name, found in known if found is not None]


def _own(value: object) -> list[tuple[str, object]]:
    """Returns the attributes of an object of a class of the script."""
    if type(value).__module__ != "__main__":
        return []
    try:
        return list(vars(value).items())
    except TypeError:  # it has slots alone
        return []


def optimizers_of(value: object) -> list[Optimizer]:
    """Returns an optimizer, or those that an object of a class of the script has."""
    if isinstance(value, Optimizer):
        return [value] if "state" in vars(value) else []
    return [held for _, held in _own(value) if isinstance(held, Optimizer) and "state" in vars(held)]


def addresses_of(value: object) -> set[int]:
    """Returns where the elements of a tensor [any shape], or of those in a list, begin; none for another value."""
    if type(value) is torch.Tensor:
        return {value.data_ptr()}
    if isinstance(value, (list, tuple)) and len(value) <= _LEAVES_MAX:
        return {one.data_ptr() for one in value if type(one) is torch.Tensor}
    return set()


def _gather(
    value: object, leaves: list[np.ndarray[Any, Any]], graded: list[bool], elements_max: int, depth: int = 0
) -> bool:
    """Adds the arrays of a value; returns whether it is one of numbers throughout."""
    if isinstance(value, torch.Tensor):
        if not value.is_cpu or value.layout != torch.strided or value.numel() > elements_max or not is_readable(value):
            return False
        part = part_of(value)
        if "left" in part.form or part.array.dtype.kind not in "biuf":
            return False
        leaves.append(part.array.copy())
        graded.append(value.requires_grad and not value.is_leaf)
    elif isinstance(value, np.ndarray):
        if value.dtype.kind not in "biuf" or value.size > elements_max:
            return False
        leaves.append(value.copy())
    elif isinstance(value, _NUMBERS):
        leaves.append(np.asarray(value))
    elif isinstance(value, range) and len(value) <= elements_max:
        leaves.append(np.arange(value.start, value.stop, value.step))
    elif isinstance(value, (list, tuple, dict)) and depth < _DEPTH_MAX and len(value) <= _LEAVES_MAX:
        items = value.values() if isinstance(value, dict) else value
        return (
            all(_gather(one, leaves, graded, elements_max, depth + 1) for one in items) and len(leaves) <= _LEAVES_MAX
        )
    else:
        return False
    return leaves[-1].dtype.kind in "biuf"


def _of_tensor(value: Any) -> Iterator[tuple[str, object]]:
    if value.is_leaf and value.grad is not None:
        yield "grad", value.grad


def _of_loader(value: Any) -> Iterator[tuple[str, object]]:
    if isinstance(value.sampler, DistributedSampler):
        yield "sampler.epoch", value.sampler.epoch


_KNOWN: Final[Mapping[type, Callable[[Any], Iterator[tuple[str, object]]]]] = {
    torch.Tensor: _of_tensor,
    Optimizer: lambda value: iter([("lr", [group["lr"] for group in value.param_groups])]),
    LRScheduler: lambda value: iter([("lr", value.get_last_lr())]),
    DistributedDataParallel: lambda value: iter([("require_backward_grad_sync", value.require_backward_grad_sync)]),
    DataLoader: _of_loader,
    DistributedSampler: lambda value: iter([("epoch", value.epoch)]),
}
"""What is looked at of torch's objects, by their class."""
