"""The function in a program: a program may be any object that can be called."""

import functools
import inspect
from types import FunctionType, MethodType
from typing import Final

__all__ = ["function_of"]

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
