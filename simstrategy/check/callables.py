"""The function in a program: a program may be any object that can be called."""

import functools
import inspect
from types import FunctionType, MethodType
from typing import Final

__all__ = ["bound_around", "function_of"]

_INSIDE_MAX: Final = 100
"""How deep a function may be inside others."""


def function_of(program: object) -> FunctionType | None:
    """Returns the function whose parameters a signature shows: inside partials, methods, objects and decorators."""
    for _ in range(_INSIDE_MAX):
        if isinstance(program, FunctionType):
            inner: object = inspect.unwrap(program)
            if inner is program:
                return program
            program = inner
        elif isinstance(program, functools.partial):
            program = program.func
        elif isinstance(program, MethodType):
            program = program.__func__
        elif isinstance(program, type):
            program = inspect.getattr_static(program, "__init__")
        else:
            wrapped = inspect.getattr_static(program, "__wrapped__", None)  # as `functools.lru_cache` keeps it
            program = inspect.getattr_static(type(program), "__call__", None) if wrapped is None else wrapped
    return None


def bound_around(function: FunctionType) -> dict[str, object]:
    """Returns what a function has of the functions around it, by name; without what is not assigned yet."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not bound yet
            continue
    return found
