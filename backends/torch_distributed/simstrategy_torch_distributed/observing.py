"""`observe`: names a value of a script, for `simstrategy check --as torchrun`.  Nothing here imports torch."""

import os
import sys
from typing import Any

import numpy as np

from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr
from simstrategy_torch_distributed.watched.entries import FILE, append

__all__ = ["observe"]


def observe(name: str, value: Any) -> None:
    """Names a value, which a check compares between runs; without a check it does nothing.

    name: for reports. A name may come again: its values are numbered. value: a number, a tensor [any shape] or an array
    [any shape]. Where the ranks give different values, each has one of its own, and these are compared only where they
    are the parts of one array. Raises InvalidArgument for an empty name, InvalidType for another value. Clause: G-25.

    >>> observe("loss", 0.25)
    """
    file = os.environ.get(FILE)
    if file is None:
        return
    if not isinstance(name, str) or not name:
        raise InvalidArgument(f"observe takes a name and a value, got the name {short_repr(name)}. Pass a text.")
    append(file, "observed", {"name": name}, [_array(name, value)])


def _array(name: str, value: Any) -> np.ndarray[Any, Any]:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        value = (value.float() if value.dtype in (torch.bfloat16, torch.float16) else value).numpy()
    found = np.asarray(value)
    if found.dtype.kind not in "biufc":
        raise InvalidType(
            f"observe({name!r}, …) takes a number, a tensor or an array of numbers, got {short_repr(value)}."
        )
    return found
