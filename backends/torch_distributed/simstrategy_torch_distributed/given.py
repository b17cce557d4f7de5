"""What a module is given: by position, which torch's global hooks get, and by name, which they do not."""

from collections.abc import Iterator
from types import FrameType
from typing import Any, Final

__all__ = ["leaves_in", "named_in"]

_NAMED: Final = "kwargs"
"""The variable of ``torch.nn.Module``'s call that has what is given by name."""
_DEPTH_MAX: Final = 3
_NO_DATA: Final = (type(None), bool, str)


def named_in(frame: FrameType) -> dict[str, Any]:
    """Returns what a module is given by name, as the mapping that its `forward` gets; an empty one where none is known.

    frame: of ``torch.nn.Module``'s call, which calls a global hook before `forward`. A change of the mapping reaches
    `forward` alone: Python makes one for each call.
    """
    named = frame.f_locals.get(_NAMED)
    return named if type(named) is dict else {}


def leaves_in(value: object, depth: int = _DEPTH_MAX) -> Iterator[object]:
    """Yields what lists, tuples and mappings hold, such as a batch; without texts, switches and None: no data.

    >>> list(leaves_in(({"ids": 1, "name": "a"}, [2, None])))
    [1, 2]
    """
    if isinstance(value, (list, tuple, dict)) and depth:
        for one in value.values() if isinstance(value, dict) else value:
            yield from leaves_in(one, depth - 1)
    elif not isinstance(value, _NO_DATA):
        yield value
