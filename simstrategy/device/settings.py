"""The signatures of array functions, and their settings as Python has them: axes, shapes, counts, flags.

A library takes numbers of NumPy or a list for them, or refuses them, each in its own way. What one refuses is tried
once more with numbers of Python, so that all backends take the same. Nothing is looked at while nothing is refused.
"""

import inspect
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from simstrategy.device.namespace import ArrayNamespace

__all__ = ["ARRAYS", "NAMES", "settled", "signature_of"]

NAMES: Final = ("dtype", "indexing", "side")
"""The parameters that take a name."""
ARRAYS: Final = ("Array", "Operand", "Number", "Real", "float")
"""Parts of the annotations of parameters that take arrays or numbers."""

Call = tuple[tuple[Any, ...], dict[str, Any]]
"""The arguments of a call by place, and those by name."""


@lru_cache(maxsize=256)
def signature_of(name: str) -> inspect.Signature:
    """Returns the signature of a function of `xp`, without the namespace."""
    signature = inspect.signature(getattr(ArrayNamespace, name))
    return signature.replace(parameters=list(signature.parameters.values())[1:])


def settled(name: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Call | None:
    """Returns a call of `xp.name` with settings as Python has them; None where they are so, or no such call can be.

    >>> import numpy as np
    >>> settled("sum", ("x",), {"axis": [np.int64(0), 1], "keepdims": np.True_})
    (('x',), {'axis': (0, 1), 'keepdims': True})
    """
    try:
        bound = signature_of(name).bind(*arguments, **options)
    except TypeError:
        return None
    is_changed = False
    for parameter, value in bound.arguments.items():
        annotation = str(signature_of(name).parameters[parameter].annotation)
        if parameter == "correction" or not (parameter in NAMES or any(one in annotation for one in ARRAYS)):
            plain = _plain(value)
            is_changed = is_changed or plain is not value
            bound.arguments[parameter] = plain
    return (bound.args, bound.kwargs) if is_changed else None


def _plain(value: Any) -> Any:
    """Returns a setting itself, or what Python has for it: a number for NumPy's, a tuple for a list."""
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        return value.item()
    if isinstance(value, (list, tuple)):
        plain = tuple([_plain(one) for one in value])
        is_same = isinstance(value, tuple) and all(one is other for one, other in zip(plain, value, strict=True))
        return value if is_same else plain
    return value
