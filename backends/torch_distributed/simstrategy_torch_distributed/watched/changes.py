"""Which lines of a script write parameters of modules, or give an optimizer another state, in the process of a rank.

A tensor counts its writes, so that only what was written is looked at. What optimizers write in steps is left out.
"""

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter, is_
from typing import Any, Final, final

import torch
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer
from xxhash import xxh3_64_hexdigest

from simstrategy_torch_distributed.watched.entries import append
from simstrategy_torch_distributed.watched.parts import is_readable, part_of

__all__ = ["Changes"]

_PARAMETERS_MAX: Final = 2_000
"""Of more parameters not every line can be asked."""
_CHANGES_MAX: Final = 5_000
_STATE: Final = "state"
"""What stands in place of digests where an optimizer has another state."""


_Seen = tuple[list[int], list[int]]
"""Of each parameter how often it was written, and the place of its first element."""
_VERSION: Final = attrgetter("_version")  # torch documents it, and has no other name
_IS_GONE: Final = partial(is_, None)


@final
class Changes:
    """The writes of one rank.  file: for them. step: returns the number of the optimizers' next step."""

    def __init__(self, file: str, step: Callable[[], int]) -> None:
        self._file = file
        self._step = step
        self._known: list[weakref.ref[torch.Tensor]] = []
        self._last: _Seen = ([], [])
        """As it was seen last; all are looked at after each line, so this is the whole cost of a line."""
        self._states: dict[int, tuple[Optimizer, object]] = {}
        """Of each optimizer that a name holds, the state that it had last."""
        self._found: list[tuple[str, int, int, list[str]]] = []
        self._seen = 1

    def begin(self) -> None:
        register_module_parameter_registration_hook(self._registered)

    def end(self) -> None:
        append(self._file, "changes", {"changes": self._found}, [])

    def line(self, file: str, number: int) -> None:
        """Notes what a line that has run has written."""
        tensors: Sequence[Any] = [reference() for reference in self._known]
        if any(map(_IS_GONE, tensors)):
            tensors = self._kept()
        seen = [*map(_VERSION, tensors)], [*map(torch.Tensor.data_ptr, tensors)]
        written = [] if seen == self._last else self._written(tensors, seen)
        step = self._step()
        if written and step == self._seen:
            self._add(file, number, [_digest(one) for one in written])
        self._seen = step

    def _kept(self) -> list[torch.Tensor]:
        """Forgets the parameters that are gone; returns the others, [...] each."""
        tensors = [reference() for reference in self._known]
        kept = [place for place, one in enumerate(tensors) if one is not None]
        versions, places = self._last
        self._known = [self._known[place] for place in kept]
        self._last = [versions[place] for place in kept], [places[place] for place in kept]
        return [one for one in tensors if one is not None]

    def _written(self, tensors: Sequence[torch.Tensor], seen: _Seen) -> list[torch.Tensor]:
        """Returns the tensors, [...] each, that have been written since they were last seen."""
        before, self._last = zip(*self._last, strict=True), seen
        return [one for one, then, now in zip(tensors, before, zip(*seen, strict=True), strict=True) if then != now]

    def look_at(self, optimizer: Optimizer, file: str, number: int) -> None:
        """Notes that a line has given an optimizer another state, as one that is loaded."""
        before = self._states.get(id(optimizer))
        self._states[id(optimizer)] = optimizer, optimizer.state
        if before is not None and before[1] is not optimizer.state:
            self._add(file, number, [_STATE])

    def _add(self, file: str, number: int, what: list[str]) -> None:
        if len(self._found) < _CHANGES_MAX:
            self._found.append((file, number, self._step(), what))

    def _registered(self, _module: Any, _name: str, parameter: torch.Tensor | None) -> None:
        self._kept()
        if parameter is not None and len(self._known) < _PARAMETERS_MAX and _is_plain(parameter):
            # What a module begins with is written, too: a line that makes it is noted.
            self._known.append(weakref.ref(parameter))
            for facts in self._last:
                facts.append(-1)


def _is_plain(one: torch.Tensor) -> bool:
    return not is_lazy(one) and is_readable(one) and one.layout == torch.strided and type(one.data) is torch.Tensor


def _digest(one: torch.Tensor) -> str:
    """Returns a text that is equal for equal elements, as `check.causes.alone` makes one of what a step begins with."""
    return xxh3_64_hexdigest(part_of(one).array.tobytes())
