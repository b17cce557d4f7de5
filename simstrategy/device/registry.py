"""Finds backends by name and opens them.

A backend is an entry point of the group `simstrategy.backends`, the simulator too, or `module:factory`. It is imported
only when it is opened by name. A factory has the signature
``open(*, replicas: int | None = None, **options) -> Backend``.
"""

import importlib
import inspect
from collections.abc import Callable, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin, get_type_hints

from simstrategy.device.protocol import PROTOCOL_VERSION, Backend, is_backend, missing_part
from simstrategy.errors import BackendNotFound, BackendUnavailable, InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "EXPERIMENTAL",
    "GROUP",
    "INSTALL_HINTS",
    "available",
    "install_advice",
    "open_backend",
    "require_complete",
    "require_device_names",
]

GROUP = "simstrategy.backends"

INSTALL_HINTS = {
    "sim": "pip install .",
    "tensorflow": "pip install ./backends/tensorflow",
    "torch": "pip install ./backends/torch",
    "gloo": "pip install ./backends/torch",
    "nccl": "pip install ./backends/torch",
    "xla": "pip install ./backends/xla",
    "xla_processes": "pip install ./backends/xla",
    "tpu": "pip install './backends/xla[tpu]'",
}
"""The command that installs each backend of this repository, in a checkout of it: no package index has them."""

EXPERIMENTAL: Final = {"nccl": "it has run on one GPU alone", "tpu": "it has never run on a TPU"}
"""The backends whose hardware no run has used so far, and why."""

_TEXTS: Final[dict[Any, str]] = {
    str: "a text",
    bool: "True or False",
    NoneType: "None",
    Sequence[str]: "a list of texts (at least one)",
}
"""Annotations of options that are compared with the values here, in words."""

_OWN: Final = {"sim": "simstrategy.sim:open_sim"}
"""This distribution's own entry points, for a quick start: to search all installed distributions is slow."""


def available() -> dict[str, "EntryPoint"]:
    """Returns the installed backends by name, in alphabetical order, and imports none of them."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import, see _OWN

    found = {point.name: point for point in entry_points(group=GROUP)}
    return {name: found[name] for name in sorted(found)}


def open_backend(name: str, /, **options: Any) -> Backend:
    """Opens the backend called `name`, or the factory at `module:factory`.

    Raises `BackendNotFound` for an unknown name, InvalidType for an option that the backend does not take,
    `BackendUnavailable` where it is installed and cannot be imported or where it lacks an attribute of `Backend`, and
    what the factory raises. An error of an experimental backend has a note that names it as experimental.
    """
    if not isinstance(name, str):
        raise InvalidType(
            f"A backend has a name, got {short_repr(name)}. Pass for example \"sim\", or 'module:factory'."
        )
    factory = _import_factory(name, name) if ":" in name else _load(name)
    _require_options(factory, name, options)
    _require_kinds(factory, name, options)
    try:
        backend: Backend = factory(**options)
    except Exception as error:
        if name in EXPERIMENTAL:
            error.add_note(_experimental(name).strip())
        raise
    if not is_backend(backend):
        kind = type(backend).__name__
        raise BackendUnavailable(f"{name!r} opened a {kind}, which is no backend. Return one: see simstrategy.device.")
    if backend.protocol_version != PROTOCOL_VERSION:
        raise BackendUnavailable(
            f"Backend {name!r} implements version {backend.protocol_version} of the device protocol, and this "
            f"simstrategy implements version {PROTOCOL_VERSION}. Install versions that belong together."
        )
    require_complete(backend)
    return backend


def require_complete(backend: Backend) -> None:
    """Raises BackendUnavailable for a backend that lacks an attribute of `simstrategy.device.Backend`."""
    lacking = missing_part(backend)
    if lacking is not None:
        raise BackendUnavailable(
            f"{type(backend).__name__} has no attribute {lacking!r}, which every backend has; an optional part that it "
            f"lacks is None. Add the attribute: see simstrategy.device.Backend."
        )


def _load(name: str) -> Callable[..., Any]:
    location = _OWN.get(name)
    if location is None:
        found = available().get(name)
        if found is None:
            raise BackendNotFound(_unknown(name))
        location = found.value
    return _import_factory(location, name)


def _import_factory(location: str, name: str) -> Callable[..., Any]:
    module_name, _, factory_name = location.partition(":")
    if not all(part.isidentifier() for part in module_name.split(".")) or not factory_name:
        raise InvalidArgument(f"{location!r} is no backend: write a backend's name, or 'module:factory'.")
    try:
        # Not from its dict: a module may import its names on their first use.
        factory: Any = getattr(importlib.import_module(module_name), factory_name, None)
    except ImportError as error:
        hint = INSTALL_HINTS.get(name)
        advice = install_advice(hint) if hint else f"Install what provides {error.name or module_name}."
        text = f"Backend {name!r} cannot be imported: {error}. {advice}{_experimental(name)}"
        raise BackendUnavailable(text) from error
    if factory is None:
        raise BackendUnavailable(f"Backend {name!r}: module {module_name} has no {factory_name!r}. Check its spelling.")
    if not callable(factory):
        kind = type(factory).__name__
        raise BackendUnavailable(f"Backend {name!r}: {factory_name} is a {kind}, and no function that opens it.")
    opens: Callable[..., Any] = factory
    return opens


def _require_options(factory: Callable[..., Any], name: str, options: dict[str, Any]) -> None:
    """Raises InvalidType for options that a factory does not take, and for a function that is no factory."""
    try:
        signature = inspect.signature(factory)
    except ValueError:  # a function of C without one
        return
    kinds = [one.kind for one in signature.parameters.values()]
    needed = [
        one.name
        for one in signature.parameters.values()
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    if [one for one in needed if one not in options] or (not kinds and "replicas" in options):
        raise InvalidType(
            f"{name!r} is no backend: it cannot be called as open(*, replicas=None), and takes {signature}. See "
            f"simstrategy.device for what a factory is."
        )
    unknown = [one for one in options if one not in signature.parameters]
    if unknown and inspect.Parameter.VAR_KEYWORD not in kinds:
        raise InvalidType(
            f"Backend {name!r} has no option {unknown[0]!r}; choose from {', '.join(signature.parameters)}."
        )


def _require_kinds(factory: Callable[..., Any], name: str, options: dict[str, Any]) -> None:
    """Raises InvalidArgument for an option whose annotation names texts and truth values alone, and gets another value.

    The backends compare numbers with their limits themselves.
    """
    try:
        hints = get_type_hints(factory)
    except (NameError, TypeError):  # a factory without types, or with some of a library that is not imported
        return
    for option, value in options.items():
        hint = hints.get(option)
        # Which of a Literal's texts it is, the backend examines.
        kinds = (str,) if get_origin(hint) is Literal else get_args(hint) or (hint,)
        if all(kind in _TEXTS for kind in kinds) and not any(_is(kind, value) for kind in kinds):
            words = " or ".join(_TEXTS[kind] for kind in kinds)
            raise InvalidArgument(f"Backend {name!r}: {option} is {words}, got {short_repr(value)}. Pass one of these.")


def _is(kind: Any, value: object) -> bool:
    if kind == Sequence[str]:
        return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(one, str) for one in value)
    return isinstance(value, kind)


def require_device_names(devices: object) -> None:
    """Raises InvalidArgument for anything but a list of one name or more."""
    if not _is(Sequence[str], devices):
        raise InvalidArgument(f"devices is a list of the backend's names for them, got {short_repr(devices)}.")


def _unknown(name: str) -> str:
    installed = ", ".join(available()) or "none"
    hint = INSTALL_HINTS.get(name)
    advice = install_advice(hint) if hint else "Check the spelling, or write 'module:factory' for a backend of yours."
    return f"No backend named {name!r}. Installed: {installed}. {advice}{_experimental(name)}"


def install_advice(command: str) -> str:
    """Returns the sentence with the command that installs what is missing; `command` is run in a checkout."""
    return f"In a checkout of simstrategy, install it with: {command}"


def _experimental(name: str) -> str:
    return f" (Backend {name!r} is experimental: {EXPERIMENTAL[name]}.)" if name in EXPERIMENTAL else ""
