"""Names of a module that are imported on their first use (decision 0035): of the core and of other distributions."""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["on_first_use"]


def on_first_use(
    module: dict[str, Any], where: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns the functions `__getattr__` and `__dir__` of a module.

    module: its `globals()`. where: for each name the module that defines it, or a module and the name there, such as
    "simstrategy.device:open_backend".

    >>> get, listed = on_first_use(found := {"__name__": "mine"}, {"root": "math:sqrt"})
    >>> get("root")(9.0), "root" in found, listed()
    (3.0, True, ['__name__', 'root'])
    """

    def get(name: str) -> Any:
        if name not in where:
            owner = module["__name__"]
            raise AttributeError(f"module {owner!r} has no attribute {name!r}", name=name, obj=sys.modules[owner])
        # First, while few imports are nested: CPython maps memory anew where frames need more than it keeps for them.
        __import__("numpy")
        place, _, called = where[name].partition(":")
        found = importlib.import_module(place)
        value = module[name] = getattr(found, called) if called else found
        return value

    def listed() -> list[str]:
        return sorted({*module, *where})

    return get, listed
