"""Compares functions: the key of a function is equal for two replicas exactly if they call the same one.

Two functions are the same if their code is, and their defaults and closure hold the same numbers,
strings, enums and Nones. Arrays and other objects are not compared: replicas' own may differ.
"""

import enum
import functools
from types import CellType, CodeType
from typing import Any, NamedTuple

from simstrategy.trace import Site, describe_site

__all__ = ["FunctionKey", "function_key"]

_COMPARED = (int, float, complex, str, bytes, enum.Enum, type(None))


class FunctionKey(NamedTuple):
    """What is compared of a function.  `code` is its type's name where it has no Python code."""

    name: str
    site: Site | None
    code: CodeType | str
    values: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in self.values)
        where = f" ({describe_site(self.site)})" if self.site else ""
        return self.name + where + (f" with {values}" if values else "")

    def fingerprint(self) -> str:
        """Returns a text that is equal in another process exactly for the same function."""
        return f"{self.code_fingerprint()} {self.values!r}"

    def code_fingerprint(self) -> str:
        """Returns a text that is equal in another process for the same code, whatever values it holds."""
        return f"{self.name} {self.code if isinstance(self.code, str) else _digest(self.code)}"


def function_key(function: Any) -> FunctionKey:
    """Returns the key of a function, method, partial or callable object."""
    values: list[tuple[str, str]] = []
    while isinstance(function, functools.partial):
        values += [(f"argument {i}", _text(item)) for i, item in enumerate(function.args) if _is_compared(item)]
        values += [(key, _text(item)) for key, item in sorted(function.keywords.items()) if _is_compared(item)]
        function = function.func
    function = getattr(function, "__func__", function)
    function = getattr(function, "__wrapped__", function)
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        kind = type(function)
        name = getattr(function, "__qualname__", kind.__qualname__)
        return FunctionKey(str(name), None, f"{kind.__module__}.{kind.__qualname__}", tuple(values))
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    values += [(name, _text(item)) for name, cell in cells if _is_compared(item := _contents(cell))]
    defaults = function.__defaults__ or ()
    positional = code.co_varnames[: code.co_argcount]
    named = zip(positional[len(positional) - len(defaults) :], defaults, strict=True)
    values += [(name, _text(item)) for name, item in named if _is_compared(item)]
    keywords = sorted((function.__kwdefaults__ or {}).items())
    values += [(name, _text(item)) for name, item in keywords if _is_compared(item)]
    return FunctionKey(
        code.co_qualname.rpartition(".")[2], (code.co_filename, code.co_firstlineno), code, tuple(values)
    )


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a closure variable that is not bound yet
        return _Unbound


class _Unbound:
    pass


def _is_compared(value: object) -> bool:
    return isinstance(value, _COMPARED)


def _text(value: object) -> str:
    return f"{type(value).__qualname__}.{value.name}" if isinstance(value, enum.Enum) else repr(value)


@functools.cache
def _digest(code: CodeType) -> str:
    import hashlib  # noqa: PLC0415 - its library is felt at every start, and only processes need it

    parts: list[bytes] = [code.co_code, repr((code.co_names, code.co_varnames, code.co_firstlineno)).encode()]
    parts += [_constant(one).encode() for one in code.co_consts]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _constant(value: object) -> str:
    """Writes a constant alike in every process: the order in which a set is printed is each process's own."""
    if isinstance(value, CodeType):
        return _digest(value)
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_constant, value)))}}}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_constant, value))})"
    return repr(value)
