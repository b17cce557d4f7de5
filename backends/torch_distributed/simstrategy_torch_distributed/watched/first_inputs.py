"""What a rank gives its first module, and how many rows its modules are given before the first step."""

import sys
from collections.abc import Sequence
from typing import final

import torch

from simstrategy_torch_distributed.watched.contents import contents_of
from simstrategy_torch_distributed.watched.entries import append

__all__ = ["FirstInputs"]


@final
class FirstInputs:
    """Counts rows of one rank.  file: for the entries."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._has_input = False
        self._rows: int | None = 0
        """Of what modules are given that the script calls; None where that is not known."""

    def given(self, leaves: Sequence[object], *, is_counted: bool) -> None:
        """Counts the rows of what a module is given, and writes what the first one is given as a number.

        The number is equal for equal inputs. leaves: of `leaves_in`; where there is a tensor, what is none has no part.
        """
        tensors = [one for one in leaves if isinstance(one, torch.Tensor)]
        if not self._has_input:
            self._has_input = True
            found = contents_of(tensors or list(leaves), elements_max=sys.maxsize)
            append(self._file, "input", {"digest": None if found is None else found.digest}, [])
        sizes = [len(one) for one in tensors if one.dim()]
        if is_counted:
            self._rows = None if self._rows is None or not sizes else self._rows + sizes[0]

    def write(self) -> None:
        """Writes how many rows there were."""
        append(self._file, "rows", {"rows": self._rows}, [])
