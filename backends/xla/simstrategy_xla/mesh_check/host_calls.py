"""Lets compiled programs read a number, and have an array computed by this process, when they run.

So one program serves several numbers, and what is done with an array needs no compiling. Callbacks of JAX do the same,
but JAX keeps no program on disk that has one. The calls here are named by numbers that are stable.
"""

import ctypes
from typing import Any, Final, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["Computed", "choose", "chosen", "on_host", "raise_problem"]

Host = np.ndarray[Any, Any]

_UNTYPED: Final = 0
"""As `jax.ffi` numbers targets that receive addresses alone: of the result, and of an array of the inputs'."""
_UNTYPED_CALL: Final = 1
"""The number of the same form in a call."""


class Computed(Protocol):
    """What is computed of an array.  Those that do the same are equal, and have one hash."""

    def of(self, value: Any, number: Any) -> Any:
        """Returns an array of the value's shape and dtype.  number: the one that was chosen.  Any thread calls it."""


class _Call(NamedTuple):
    computed: Computed
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


_number = ctypes.c_int32(0)
_calls: Final[list[_Call]] = []
_numbers: Final[dict[_Call, int]] = {}
_problems: Final[list[Exception]] = []


def choose(number: int) -> None:
    """Chooses what `chosen` gives in programs that run from now on, compiled ones too.

    >>> read = jax.jit(lambda: chosen() + 1)
    >>> choose(4), int(read())
    (None, 5)
    >>> choose(6), int(read())
    (None, 7)
    """
    _number.value = number


def chosen() -> Any:
    """Returns the number in a function that is compiled: an int32 array of shape ()."""
    return _call("simstrategy_chosen", (), np.dtype(np.int32))()


def on_host(computed: Computed, value: Any) -> Any:
    """Returns what is computed of a value [one element or more] of a function that is compiled, on the host.

    An exception there is raised by `raise_problem`.

    >>> class Times(NamedTuple):
    ...     factor: int
    ...     def of(self, value, number):
    ...         return value * np.float32(self.factor + number)
    >>> choose(1)
    >>> jax.jit(lambda value: on_host(Times(2), value))(jnp.arange(3.0)).tolist()
    [0.0, 3.0, 6.0]
    """
    key = _Call(computed, value.shape, np.dtype(value.dtype))
    if key not in _numbers:
        _numbers[key] = len(_calls)
        _calls.append(key)
    return _call("simstrategy_on_host", key.shape, key.dtype)(value, jnp.int32(_numbers[key]))


def raise_problem() -> None:
    """Raises the first exception of a function on the host, where there was one since the last time."""
    found = [*_problems]
    _problems.clear()
    if found:
        raise found[0]


def _call(target: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    result = jax.ShapeDtypeStruct(shape, dtype)  # type: ignore[no-untyped-call]
    return jax.ffi.ffi_call(target, result, custom_call_api_version=_UNTYPED_CALL)


def _write_number(result: int, _inputs: int) -> None:
    ctypes.c_int32.from_address(result).value = _number.value


def _write_result(result: int, inputs: Any) -> None:
    try:
        call = _calls[ctypes.c_int32.from_address(inputs[1]).value]
        size = int(np.prod(call.shape)) * call.dtype.itemsize
        memory = memoryview((ctypes.c_char * size).from_address(inputs[0])).cast("B")
        given = np.frombuffer(memory, call.dtype).reshape(call.shape)
        with np.errstate(all="ignore"):
            found = np.asarray(call.computed.of(given, _number.value), order="C")
        assert (found.shape, found.dtype) == (call.shape, call.dtype), (found.shape, found.dtype)
        ctypes.memmove(result, found.ctypes.data, size)
    except Exception as error:  # noqa: BLE001 - it would be printed, and no more
        _problems.append(error)


def _registered(name: str, function: Any, *arguments: Any) -> Any:
    """Registers a function as the target of calls, and returns what has to be kept.  arguments: their C types."""
    made = ctypes.CFUNCTYPE(None, *arguments)(function)
    capsule_of = ctypes.pythonapi.PyCapsule_New
    capsule_of.restype, capsule_of.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    target = capsule_of(ctypes.cast(made, ctypes.c_void_p), b"xla._CUSTOM_CALL_TARGET", None)
    jax.ffi.register_ffi_target(name, target, platform="cpu", api_version=_UNTYPED)
    return made


_KEPT: Final = (
    _registered("simstrategy_chosen", _write_number, ctypes.c_void_p, ctypes.c_void_p),
    _registered("simstrategy_on_host", _write_result, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)),
)
