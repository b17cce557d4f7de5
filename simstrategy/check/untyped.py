"""What to do about a program that has no type for its parameter and takes another library's object."""

import inspect
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, Final

from simstrategy.check.callables import function_of

__all__ = ["other_type", "untyped_advice"]

_TYPES: Final = {
    "tensorflow": "tf.distribute.Strategy",
    "keras": "tf.distribute.Strategy",
    "jax": "jax.sharding.Mesh",
}
"""What programs of other libraries take, by the module that they import."""


def untyped_advice(program: Callable[..., Any], text: str) -> str | None:
    """Returns what to do about an error of a program that JAX got our strategy in; None for another one.

    text: of the error. The first parameter has no type, so it is our strategy.  Clause: J-102.
    """
    function = function_of(program)
    first = None if function is None or "Strategy" not in text else _untyped(program)
    if function is None or first is None:
        return None
    if "jax" not in _modules(function.__globals__.values()) or not (first.name == "mesh" or "Mesh" in text):
        return None
    return (
        f"{first.name!r} has no type, so it is a Strategy of simstrategy. In a program of JAX annotate the parameter: "
        f"{first.name}: jax.sharding.Mesh"
    )


def other_type(program: Callable[..., Any]) -> tuple[str, str] | None:
    """Returns a parameter without a type, and that of another library whose object it may be; None for another program.

    The program's file has imported that library.  Clause: J-122.
    """
    function = function_of(program)
    first = None if function is None else _untyped(program)
    if function is None or first is None:
        return None
    modules = _modules(function.__globals__.values())
    found = next((kind for module, kind in _TYPES.items() if module in modules), None)
    return None if found is None else (first.name, found)


def _untyped(program: Callable[..., Any]) -> inspect.Parameter | None:
    """Returns the first parameter where it has no type."""
    first = next(iter(inspect.signature(program).parameters.values()), None)
    return first if first is not None and first.annotation is first.empty else None


def _modules(values: Iterable[object]) -> set[str]:
    """Returns the names of the packages that values are, or come from."""
    names = [one.__name__ if isinstance(one, ModuleType) else str(getattr(one, "__module__", "")) for one in values]
    return {name.partition(".")[0] for name in names}
