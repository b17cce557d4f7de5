"""Reports each run of a compiled program whose devices belong to several processes, before it begins.

JAX demands that all processes run the same such programs in the same order, and compares nothing: it waits without a
limit, ends in the library that carries the collectives, or combines what does not belong together. Here the function of
JAX that begins every run reports it first. Nothing here compares processes.
"""

import hashlib
import sys
import weakref
from collections import Counter
from types import FrameType
from typing import Any, Final, final

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import pjit
from jax._src.interpreters import pxla

from simstrategy.errors import InvalidArgument
from simstrategy.launch.calls import Call, Form, message_of
from simstrategy.launch.reporting import Reporter
from simstrategy_xla.hlo import collectives_in
from simstrategy_xla.mesh_check.lowering import is_of_program

__all__ = ["GIVEN_WHOLE", "Launches"]

GIVEN_WHOLE: Final = "whole "
"""Begins the digest of a value that each process gives whole, and of which it has a part."""

_BEGIN: Final = "__call__"
_FAST: Final = "create_cpp_call"
_FAST_DATA: Final = "_get_fastpath_data"
_MULTIHOST: Final = "multihost_utils.py"
"""JAX's file of functions that all processes call, which run compiled programs themselves."""
_PUT: Final = "device_put"
_PMAP: Final = "pmap"


@final
class Launches:
    """Reports runs from `watch` on."""

    def __init__(self, reporter: Reporter) -> None:
        self._report = reporter.report
        self._collectives: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()

    def watch(self) -> None:
        """Puts the report before every run of this process.

        Source of what begins a run: JAX 0.10.2. Its C++ code begins the later runs of a function without Python; it
        does not where the data for that are missing.
        """
        execute = vars(pxla.ExecuteReplicated)[_BEGIN]

        def reported(program: Any, *arguments: Any) -> Any:
            if _is_spread(program):
                self._report(message_of(self._call(program, arguments, sys._getframe(1))))
            return execute(program, *arguments)

        # JAX has no public place for this; `test_mesh_workers.py` fails where another version begins runs elsewhere.
        setattr(pxla.ExecuteReplicated, _BEGIN, reported)
        setattr(pxla.MeshExecutable, _FAST, lambda _executable, _parameters: None)
        vars(pjit)[_FAST_DATA] = lambda *_, **__: None

    def _call(self, program: Any, arguments: tuple[Any, ...], frame: FrameType) -> Call:
        name, site = _place(frame, program.name.removeprefix("jit(").removesuffix(")"))
        kept = [argument for place, argument in enumerate(arguments) if place in program.kept_var_idx]
        copies = [
            _copy(value, sharding) for value, sharding in zip(kept, program.in_handler.in_shardings, strict=False)
        ]
        return Call(f"{name}{self._collectives_of(program)}", tuple(map(_form, kept)), site, tuple(copies))

    def _collectives_of(self, program: Any) -> str:
        """Returns the collectives of a compiled program, in their order, as a part of its name."""
        found = self._collectives.get(program)
        if found is None:
            found = self._collectives[program] = _written(program.xla_executable)
        return found


def _is_spread(program: Any) -> bool:
    """Returns whether a compiled program has devices of other processes."""
    shardings = [*program.in_handler.in_shardings, *program.out_handler.out_shardings]
    return any(not sharding.is_fully_addressable for sharding in shardings)


def _written(executable: Any) -> str:
    try:
        found = collectives_in("\n".join(module.to_string() for module in executable.hlo_modules()))
    except InvalidArgument:  # a form of XLA's text that is not known: the arguments are compared all the same
        return ""
    texts = [f"{one.kind}{f' {one.reducer}' if one.reducer else ''} of {one.elements} {one.dtype}" for one in found]
    counts = Counter(texts)
    named = [text if count == 1 else f"{count} times {text}" for text, count in counts.items()]
    return f" ({', '.join(named)})" if named else ""


def _form(value: Any) -> Form:
    aval = jax.typeof(value)
    return tuple(map(int, aval.shape)), str(aval.dtype)


def _copy(value: Any, sharding: Any) -> str:
    """Returns a digest of what this process has of a value that it gives whole, or as a copy; "" for another value.

    It begins with `GIVEN_WHOLE` for a value of which only a part is taken in each process.
    """
    whole = not isinstance(value, jax.Array) or value.is_fully_addressable
    if not (whole or sharding.is_fully_replicated):
        return ""
    if jnp.issubdtype(jax.typeof(value).dtype, jax.dtypes.prng_key):
        value = value._base_array  # noqa: SLF001 - `jax.random.key_data` would begin another run
    host = np.ascontiguousarray(value if whole else value.addressable_data(0))
    digest = hashlib.blake2b(host.reshape(-1).view(np.uint8).data, digest_size=8).hexdigest()
    return digest if sharding.is_fully_replicated else f"{GIVEN_WHOLE}{digest}"


def _place(frame: FrameType | None, name: str) -> tuple[str, tuple[str, int]]:
    """Returns what the program calls, and its line: the innermost one, or else that of a library."""
    library: tuple[str, int] | None = None
    while frame is not None and not is_of_program(frame.f_code.co_filename):
        code = frame.f_code
        if code.co_filename.endswith(_MULTIHOST) and not code.co_name.startswith(("_", "<", "pre_", "post_")):
            name = code.co_name
        elif code.co_name == _PUT:
            name = _PUT
        elif code.co_filename.endswith(f"{_PMAP}.py"):
            name = _PMAP
        library = library or (code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return name, library or ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
