"""What to do about the error of a program that has no type for its parameter and takes another library's object."""

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from simstrategy.check.callables import function_of

__all__ = ["untyped_advice"]


def untyped_advice(program: Callable[..., Any], text: str) -> str | None:
    """Returns what to do about an error of a program that JAX got our strategy in; None for another one.

    text: of the error. The first parameter has no type, so it is our strategy.  Clause: J-102.
    """
    function = function_of(program)
    if function is None or "Strategy" not in text:
        return None
    first = next(iter(inspect.signature(program).parameters.values()), None)
    if first is None or first.annotation is not first.empty:
        return None
    if not any(_has_jax(one) for one in function.__globals__.values()) or not (first.name == "mesh" or "Mesh" in text):
        return None
    return (
        f"{first.name!r} has no type, so it is a Strategy of simstrategy. In a program of JAX annotate the parameter: "
        f"{first.name}: jax.sharding.Mesh"
    )


def _has_jax(value: object) -> bool:
    """Returns whether a value is a module of JAX, or comes from one."""
    name = value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", ""))
    return name.partition(".")[0] == "jax"
