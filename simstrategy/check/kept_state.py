"""Which globals of a program, and which global generators, its runs change: the next run begins with what is left.

A value is known by the digest of its pickle. What cannot be pickled, or takes more than `BYTES_MAX`, is not known.
"""

import pickle
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from types import FunctionType, ModuleType
from typing import Final, final

from simstrategy.check.callables import bound_around, function_of
from simstrategy.device import GLOBAL_GENERATORS

__all__ = ["BYTES_MAX", "what_is_changed"]

BYTES_MAX: Final = 64 << 20
"""The largest pickle of a value that is compared."""
_NAMED_MAX: Final = 4

V = object
_STATED: Final = (
    "Runs change {names}, and each run begins with what the one before has left. Make this anew in the program, or "
    "seed it there."
)


@final
class _Digest:
    """A file that keeps a digest of what is written.  write() raises ValueError after `BYTES_MAX`."""

    def __init__(self) -> None:
        self._left = BYTES_MAX
        self._hash = blake2b(digest_size=16)

    def write(self, data: "bytes | pickle.PickleBuffer | memoryview") -> int:
        size = memoryview(data).nbytes
        self._left -= size
        if self._left < 0:
            raise ValueError
        self._hash.update(data)
        return size

    def value(self) -> bytes:
        return self._hash.digest()


def what_is_changed(program: Callable[..., V], run: Callable[[], V]) -> str | None:
    """Runs a program once more, and returns what the run has changed, as a sentence; None where nothing is known to be.

    run: runs it. Looked at are the globals of the module of its function, what its function has of the functions around
    it, and the global generators of modules that are loaded.
    """
    function = function_of(program)
    before = _digests(function)
    run()
    after = _digests(function)
    names = [name for name, found in before.items() if after.get(name, found) != found]
    return _STATED.format(names=_listed(names)) if names else None


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED_MAX
    return ", ".join([*names[:_NAMED_MAX], *[f"and {more} more"] * (more > 0)])


def _digests(function: FunctionType | None) -> dict[str, bytes]:
    found = {}
    for name, value in _values(function):
        digest = _digest(value)
        if digest is not None:
            found[name] = digest
    return found


def _values(function: FunctionType | None) -> Iterator[tuple[str, V]]:
    """Yields what runs may change, with how it is named in a sentence."""
    if function is not None:
        for name, value in [*function.__globals__.items()]:
            if not name.startswith("__"):
                yield f"the global {name!r}", value
        for name, value in bound_around(function).items():
            yield f"{name!r} of the function around it", value
    for generator in GLOBAL_GENERATORS:
        module = sys.modules.get(generator.module)
        if module is not None:
            yield f"the global generator of {generator.module}", generator.read(module)


def _digest(value: V) -> bytes | None:
    """Returns the digest of a value; None of one that is not known, and of what is pickled as its name."""
    if isinstance(value, ModuleType | type | FunctionType):
        return None
    file = _Digest()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pickle.Pickler(file, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    except Exception:  # noqa: BLE001 - of a class of the user's, which may raise anything
        return None
    return file.value()
