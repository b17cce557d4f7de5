"""What a name such as `c10d:gloo` stands for: a backend of `torch.distributed`, and how its ranks are started.

    c10d:NAME             a backend that torch has, or that is registered when torch is imported
    c10d:MODULE:NAME      one that is registered when MODULE is imported

An installed distribution may give a name another meaning, by an entry point of the group `simstrategy.c10d`: it names a
mapping with the keys backend, command and object. Nothing here imports torch.
"""

import re
from importlib.metadata import entry_points
from typing import Any, Final, Literal, NamedTuple

from simstrategy.errors import BackendUnavailable, InvalidArgument

__all__ = ["GROUP", "PREFIX", "Named", "is_c10d", "named"]

PREFIX: Final = "c10d:"
GROUP: Final = "simstrategy.c10d"
_NAME: Final = re.compile(r"(?:(?P<module>[A-Za-z_][\w.]*):)?(?P<backend>[A-Za-z_][\w-]*)", re.ASCII)
_OF_TORCH: Final = {
    "fake": "torch.testing._internal.distributed.fake_pg",
    "threaded": "torch.testing._internal.distributed.multi_threaded_pg",
}
"""Backends that torch registers in modules of its own tests."""


class Named(NamedTuple):
    """One backend to examine.

    backend: what `init_process_group` takes. module: what registers it; "" for none. ranks: whether ranks are
    processes, threads of one process, or started by a command. command: that command, with {ranks} for their number and
    {python} for the interpreter; "-m" and a module are put behind it. object: what the backend's object has to be
    called; "" for the same as the backend.
    """

    name: str
    backend: str
    module: str = ""
    ranks: Literal["processes", "threads", "command"] = "processes"
    command: tuple[str, ...] = ()
    object: str = ""


def is_c10d(backend: str) -> bool:
    """Returns whether a name on the command line is that of a backend of `torch.distributed`."""
    return backend.startswith(PREFIX)


def named(name: str) -> Named:
    """Returns what a name stands for.

    >>> named("c10d:acme_torch:acme").module
    'acme_torch'

    Raises InvalidArgument for another form, BackendUnavailable for an entry point that cannot be imported.
    """
    found = _NAME.fullmatch(name.removeprefix(PREFIX))
    if not is_c10d(name) or found is None:
        raise InvalidArgument(
            f"{name!r} names no backend of torch.distributed. Write c10d:NAME, or c10d:MODULE:NAME where importing "
            f"MODULE registers it."
        )
    module, backend = found["module"] or "", found["backend"].lower()
    points = () if module else tuple(entry_points(group=GROUP, name=backend))
    if points:
        return _installed(name, points[0])
    module = module or _OF_TORCH.get(backend, "")
    return Named(name, backend, module, "threads" if backend == "threaded" else "processes")


def _installed(name: str, point: Any) -> Named:
    try:
        given = point.load()
        return Named(name, given["backend"], "", "command", tuple(given["command"]), given["object"])
    except Exception as error:
        raise BackendUnavailable(
            f"{name} is {point.value}, an entry point of {GROUP}, and cannot be used: {type(error).__name__}: {error}. "
            f"It has to be a mapping with the keys backend, command and object."
        ) from error
