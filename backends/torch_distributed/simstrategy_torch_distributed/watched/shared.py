"""Records what a rank brings to its calls and what it gets from them, where a page of the run is to show it."""

from collections.abc import Callable, Sequence
from typing import Any, Final, final

import torch

from simstrategy_torch_distributed.watched.entries import append
from simstrategy_torch_distributed.watched.parts import part_of

__all__ = ["Shared", "Taken"]

_BYTES_MAX: Final = 64 << 20
"""Of one rank in all: of later tensors only shapes and dtypes are kept."""
_NOT_COMPARED_FROM: Final = frozenset({"all_to_all", "recv", "scatter"})
"""Kinds whose compared tensors are not what a member brings."""


@final
class Shared:
    """The values of one rank's calls.  file: for the entries."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._bytes = 0

    def taken(
        self, kind: str, tensors: Sequence[torch.Tensor], result: Sequence[torch.Tensor], finish: Callable[[Any], None]
    ) -> "Taken":
        """Returns what finishes a call, and writes what it has brought.

        tensors: what it brings, [...] each. result: what `finish` writes, [...] each; empty where it writes nothing.
        """
        return Taken(self, () if kind in _NOT_COMPARED_FROM else tensors, result, finish)

    def write(self, what: str, number: int, tensors: Sequence[torch.Tensor]) -> None:
        """Writes tensors of a call, [...] each: their forms, and their values up to a limit."""
        arrays, forms = [], []
        for one in tensors:
            self._bytes += one.numel() * one.element_size()
            shape, dtype = list(one.shape), str(one.dtype).removeprefix("torch.")
            is_kept = self._bytes <= _BYTES_MAX
            if is_kept:
                arrays.append(part_of(one).array)
            forms.append([shape, dtype, is_kept])
        append(self._file, what, {"number": number, "forms": forms}, arrays)


@final
class Taken:
    """One call: called with its answer, it finishes it, and writes what the rank got."""

    __slots__ = ("_finish", "_result", "_shared", "_tensors", "number")

    def __init__(
        self,
        shared: Shared,
        tensors: Sequence[torch.Tensor],
        result: Sequence[torch.Tensor],
        finish: Callable[[Any], None],
    ) -> None:
        self.number = 0
        """Of the call among those of the rank."""
        self._shared, self._tensors, self._result, self._finish = shared, tensors, result, finish

    def begin(self, number: int) -> None:
        """Writes what the rank brings to the call of this number."""
        self.number = number
        self._shared.write("brought", number, self._tensors)

    def __call__(self, answer: Any) -> None:
        self._finish(answer)
        self._shared.write("got", self.number, self._result)
