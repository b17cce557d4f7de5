"""Whose strategy a program takes, by the annotation of its first parameter.

An annotation that is satisfied by `simstrategy.Strategy` is ours; so is none at all. Any other one is foreign, also a
name that exists for type checkers alone: such names are looked up in the imports of the program's file. Nothing here
finds a checker: see `checkers.py`.
"""

import importlib
import inspect
from collections.abc import Callable, Mapping
from types import FunctionType, NoneType, SimpleNamespace, UnionType
from typing import Any, Final, ForwardRef, NamedTuple, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from simstrategy.check.callables import bound_around, function_of
from simstrategy.check.imported_names import alternatives, imported_path
from simstrategy.short_repr import short_repr
from simstrategy.strategy import Strategy
from simstrategy.trace import Site

__all__ = ["Foreign", "foreign_annotation"]

_ADDED_TO_PROTOCOLS: Final = frozenset(dir(object)) | {
    *("__dict__", "__module__", "__weakref__"),
    *("__abstractmethods__", "__annotations__", "__init__", "__parameters__", "__orig_bases__", "__subclasshook__"),
    *("__slots__", "__class_getitem__", "__match_args__", "__non_callable_proto_members__", "__protocol_attrs__"),
    *("_abc_impl", "_is_protocol", "_is_runtime_protocol"),
}
"""What the class of a protocol has beside its members."""


class Foreign(NamedTuple):
    """An annotation that is no strategy of simstrategy."""

    parameter: str
    text: str
    """The type, as a message shows it."""
    package: str
    """The package that it comes from; "" where no import of the program's file shows one."""
    lacks: tuple[str, ...] = ()
    """Of a protocol: the members that `Strategy` does not have."""
    site: Site | None = None
    """Where the program is defined."""
    home: str = ""
    """The top-level module in which it is defined."""


def foreign_annotation(program: Callable[..., Any]) -> Foreign | None:
    """Returns the annotation of the first parameter if `Strategy` does not satisfy it, else None."""
    try:
        first = next(iter(inspect.signature(program).parameters.values()), None)
    except (TypeError, ValueError):  # a function of C without a signature
        return None
    if first is None or first.annotation is first.empty:
        return None
    function = function_of(program)
    found = _judged(first.annotation, {} if function is None else _names_in(function))
    site = None if function is None else (function.__code__.co_filename, function.__code__.co_firstlineno)
    return None if found is None else found._replace(parameter=first.name, site=site, home=_package_of(function))


def _names_in(function: FunctionType) -> dict[str, Any]:
    """Returns what the names of a function stand for: its module's, and those of the functions around it."""
    return {**function.__globals__, **bound_around(function)}


def _judged(annotation: Any, names: Mapping[str, Any]) -> Foreign | None:
    """Returns an annotation as it was written, if it is foreign: a type, or a text that names one."""
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    try:
        hint = _resolved(annotation, names)
    except SyntaxError:
        return None  # a text that is no expression describes the parameter, and is no type
    except Exception:  # noqa: BLE001 - names that are not there, and whatever else a text raises
        return _judged_text(annotation, names)
    return _judged_type(hint, names)


def _resolved(annotation: Any, names: Mapping[str, Any]) -> Any:
    """Returns the type that an annotation stands for, without what `Annotated` adds."""
    holder: Any = SimpleNamespace(__annotations__={"one": annotation})
    return get_type_hints(holder, globalns=dict(names))["one"]


def _judged_text(annotation: Any, names: Mapping[str, Any]) -> Foreign | None:
    """Returns the first foreign type among the alternatives of a text; None where one of them is ours."""
    written = annotation if isinstance(annotation, str) else str(annotation)
    found = []
    for text in alternatives(written):
        try:
            one = _judged_type(_resolved(text, names), names)
        except Exception:  # noqa: BLE001 - as above
            one = _judged_name(text, names)
        if one is None:
            return None
        found.append(one)
    return found[0] if found else Foreign("", written, "")


def _judged_name(text: str, names: Mapping[str, Any]) -> Foreign | None:
    """Judges a dotted name that is not bound when the program runs: by the imports of its file."""
    path = imported_path(text, names)
    module, _, attribute = path.rpartition(".")
    if not module:
        return Foreign("", text, "")
    package = path.partition(".")[0]
    try:
        found: Any = _found_at(module, attribute)
    except Exception:  # noqa: BLE001 - the package is not installed, or its import raises anything
        return Foreign("", path, package)
    return _judged_type(found, names)


def _found_at(module: str, attribute: str) -> Any:
    """Returns an attribute of a module, or of a class in one, by its path."""
    try:
        return vars(importlib.import_module(module))[attribute]
    except ImportError:
        outer, _, name = module.rpartition(".")
        if not outer:
            raise
        return vars(_found_at(outer, name))[attribute]


def _judged_type(hint: Any, names: Mapping[str, Any]) -> Foreign | None:
    """Returns a type that `Strategy` does not satisfy, else None."""
    while isinstance(hint, NewType):
        hint = hint.__supertype__
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return _first_foreign([one for one in get_args(hint) if one is not NoneType], names)
    if isinstance(hint, TypeVar):
        choices = hint.__constraints__ or ((Any,) if hint.__bound__ is None else (hint.__bound__,))
        return _first_foreign(choices, names)
    kind = origin if isinstance(origin, type) else hint
    if not isinstance(kind, type):
        return Foreign("", short_repr(hint), _package_of(hint))
    lacks = None if kind is Any else _lacks(kind)
    text = f"{kind.__module__}.{kind.__qualname__}" if origin is None else short_repr(hint)
    return None if lacks is None else Foreign("", text, _package_of(kind), lacks)


def _first_foreign(choices: Any, names: Mapping[str, Any]) -> Foreign | None:
    found = [_judged(one, names) for one in choices]
    return None if None in found or not found else found[0]


def _lacks(kind: type) -> tuple[str, ...] | None:
    """Returns None where `Strategy` is of a class or protocol, else the protocol's members that it lacks."""
    if not vars(kind).get("_is_protocol", False):
        try:
            return None if issubclass(Strategy, kind) else ()
        except Exception:  # noqa: BLE001 - a class may define its own test
            return ()
    members: set[str] = set()
    for base in kind.__mro__:
        if vars(base).get("_is_protocol", False):
            members |= {*vars(base), *vars(base).get("__annotations__", ())} - _ADDED_TO_PROTOCOLS
    return tuple(sorted(members - set(dir(Strategy)))) or None


def _package_of(value: object) -> str:
    return str(getattr(value, "__module__", "")).partition(".")[0]
