"""Finds backends by name and opens them.

A backend is an entry point of the group `simstrategy.backends`, the simulator too, or `module:factory`. It is imported
only when it is opened by name. A factory has the signature
``open(*, replicas: int | None = None, **options) -> Backend``.
"""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from simstrategy.device.protocol import PROTOCOL_VERSION, Backend, is_backend, missing_part
from simstrategy.errors import BackendNotFound, BackendUnavailable, InvalidArgument

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["EXPERIMENTAL", "GROUP", "INSTALL_HINTS", "available", "install_advice", "open_backend", "require_complete"]

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

EXPERIMENTAL: Final = {"nccl": "it has never run on GPUs", "tpu": "it has never run on a TPU"}
"""The backends whose hardware no run has used so far, and why."""

_OWN: Final = {"sim": "simstrategy.sim:open_sim"}
"""This distribution's own entry points, for a quick start: to search all installed distributions is slow."""


def available() -> dict[str, "EntryPoint"]:
    """Returns the installed backends by name, in alphabetical order, and imports none of them."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import, see _OWN

    found = {point.name: point for point in entry_points(group=GROUP)}
    return {name: found[name] for name in sorted(found)}


def open_backend(name: str, /, **options: Any) -> Backend:
    """Opens the backend called `name`, or the factory at `module:factory`.

    Raises `BackendNotFound` for an unknown name, `BackendUnavailable` where it is installed and cannot be imported or
    where it lacks an attribute of `Backend`, and what the factory raises. An error of an experimental backend has a
    note that names it as experimental.
    """
    factory = _import_factory(name, name) if ":" in name else _load(name)
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
    if not module_name or not factory_name:
        raise InvalidArgument(f"{location!r} is no backend: write a backend's name, or 'module:factory'.")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        hint = INSTALL_HINTS.get(name)
        advice = install_advice(hint) if hint else f"Install what provides {error.name or module_name}."
        text = f"Backend {name!r} cannot be imported: {error}. {advice}{_experimental(name)}"
        raise BackendUnavailable(text) from error
    factory: Callable[..., Any] | None = vars(module).get(factory_name)
    if factory is None:
        raise BackendUnavailable(f"Backend {name!r}: module {module_name} has no {factory_name!r}. Check its spelling.")
    return factory


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
