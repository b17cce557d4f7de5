"""A backend of several processes that the kit can examine: this process holds the arrays, workers make the group-calls.

The kit's programs hold the arrays of all ranks in one process. Every array is sent to the workers and back, so it is
slow, and it examines nothing of a strategy that spans processes.
"""

import base64
import itertools
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from simstrategy import errors
from simstrategy.device import Array, ArraySpec, Backend, Op, available, open_backend
from simstrategy.device.wrapper import Wrapper
from simstrategy.errors import InvalidArgument, PeerFailed
from simstrategy.launch.launcher import Launcher

__all__ = ["RemoteBackend", "open_remote"]

_LIMIT_S = 60.0
_MODULE = __name__

JsonArray = list[Any] | None
"""An array as JSON: dtype, shape and bytes; None for no array."""


def open_remote(name: str, processes: int, *, replicas: int | None = None, **options: Any) -> "RemoteBackend":
    """Opens backend `name` with its ranks in worker processes: as many as divide the ranks, at most `processes`.

    The workers are kept for the next backend and end with this process. Raises InvalidArgument for less than one
    process and for a backend that does not span processes, PeerFailed where a worker ends, and what opening the
    backend raises, in this process or in a worker.
    """
    if not isinstance(processes, int) or isinstance(processes, bool) or processes < 1:
        raise InvalidArgument(f"A number of processes is an int of at least 1, got {processes!r}.")
    inner = open_backend(name, replicas=replicas, **options)
    if not inner.capabilities.spans_processes:
        inner.close()
        raise InvalidArgument(f"The backend {name!r} runs in one process only, and {processes} were asked for.")
    ranks = len(inner.devices)
    return RemoteBackend(inner, name, options, max(n for n in range(1, processes + 1) if ranks % n == 0))


@final
class RemoteBackend(Wrapper):
    """Wraps a backend of one process; sends its group-calls to `processes` workers.

    inner: holds the arrays. name, options: what each worker opens, with an equal part of the replicas.
    """

    __slots__ = ("_each", "_launcher", "_number", "processes")

    def __init__(self, inner: Backend, name: str, options: dict[str, Any], processes: int) -> None:
        Wrapper.__init__(self, inner)
        self.processes = processes
        self._each = len(inner.devices) // processes
        self._launcher = _launcher(processes, name)
        self._number: int | None = next(_NUMBERS)
        self._call_all("open_part", [self._number, name, self._each, options])

    def all_reduce(self, arrays: tuple[Array, ...], op: Op) -> tuple[Array, ...]:
        return self._whole(self._call("all_reduce", [self._to_json(arrays), op]))

    def reduce(self, arrays: tuple[Array, ...], op: Op, *, root: int) -> Array | None:
        result: Array | None = self._whole(self._call("reduce", [self._to_json(arrays), op, root]))[root]
        return result

    def broadcast(self, array: Array | None, *, spec: ArraySpec, root: int) -> tuple[Array, ...]:
        assert array is not None
        return self._whole(self._call("broadcast", [self._to_json((array,))[0], list(spec), root]))

    def all_gather(self, arrays: tuple[Array, ...], *, axis: int, sizes: tuple[int, ...]) -> tuple[Array, ...]:
        return self._whole(self._call("all_gather", [self._to_json(arrays), axis, list(sizes)]))

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        """Makes the workers exchange the note, and returns it once: the caller is one process."""
        sent = base64.b64encode(note).decode()
        for rank, notes in enumerate(self._call("exchange", [sent, timeout_s])):
            if notes != [sent] * self.processes:
                raise PeerFailed(f"Worker {rank} of {self.processes} received other notes: {notes!r}.")
        return (note,)

    def close(self) -> None:
        number, self._number = self._number, None
        if number is not None:
            self._call_all("close_part", [number])
        self._inner.close()

    def _to_json(self, arrays: Sequence[Array]) -> list[JsonArray]:
        return [_to_json(self._inner.get(array)) for array in arrays]

    def _whole(self, results: Sequence[list[JsonArray]]) -> tuple[Any, ...]:
        """Returns all workers' results as arrays, each on its rank's device, None where there is none."""
        every_rank = [one for result in results for one in result]
        pairs = zip(every_rank, self.local_devices, strict=True)
        return tuple([None if one is None else self._inner.put(_from_json(one), device) for one, device in pairs])

    def _call(self, call: str, arguments: list[Any]) -> list[Any]:
        if self._number is None:
            raise errors.BackendUnavailable(f"This backend {self.name!r} was closed. Open another one.")
        return self._call_all(call, [self._number, *arguments])

    def _call_all(self, call: str, arguments: list[Any]) -> list[Any]:
        """Calls a function of this file in all workers; raises the error of the first that failed."""
        ended = self._launcher.run(f"{_MODULE}:{call}", arguments, timeout_s=_LIMIT_S)
        for rank, one in enumerate(ended):
            if one.error is not None:
                kind, text, trace = one.error
                known = vars(errors).get(kind)
                error = PeerFailed(f"{kind}: {text}") if known is None else known(text)
                error.add_note(f"In worker {rank} of {self.processes}:\n{trace}")
                raise error
            if one.code is not None:
                which = f"Worker {rank} of {self.processes}"
                raise PeerFailed(f"{which} ended with code {one.code}. Its output: {one.output}")
        return [one.value for one in ended]


_NUMBERS = itertools.count(1)
_LAUNCHERS: dict[tuple[int, str], Launcher] = {}
"""By the number of workers and the backend.  They end with this process."""


def _launcher(processes: int, name: str) -> Launcher:
    if (processes, name) not in _LAUNCHERS:
        known = available().get(name)
        preload = () if known is None else (known.module,)
        _LAUNCHERS[processes, name] = Launcher(processes, preload=preload)
    return _LAUNCHERS[processes, name]


def _to_json(array: "np.ndarray[Any, Any]") -> JsonArray:
    return [array.dtype.name, list(array.shape), base64.b64encode(array.tobytes()).decode()]


def _from_json(sent: list[Any]) -> "np.ndarray[Any, Any]":
    dtype, shape, data = sent
    return np.frombuffer(base64.b64decode(data), np.dtype(dtype)).reshape(shape)


# What follows runs in the workers. A worker keeps its open backends from job to job.

_OPENED: dict[int, Backend] = {}


def open_part(number: int, name: str, replicas: int, options: dict[str, Any]) -> None:
    """Opens a worker's part of a backend, under that number."""
    _OPENED[number] = open_backend(name, replicas=replicas, **options)


def close_part(number: int) -> None:
    """Closes a worker's part of a backend."""
    backend = _OPENED.pop(number, None)
    if backend is not None:  # a restarted worker has none
        backend.close()


def exchange(number: int, note: str, timeout_s: float | None) -> list[str]:
    """Exchanges a note; returns all workers'."""
    notes = _OPENED[number].exchange(base64.b64decode(note), timeout_s=timeout_s)
    return [base64.b64encode(one).decode() for one in notes]


def all_reduce(number: int, arrays: list[list[Any]], op: Op) -> list[JsonArray]:
    """Combines the arrays of all ranks; returns this worker's results, as the functions below do."""
    backend, own = _own(number, arrays)
    return [_to_json(backend.get(one)) for one in backend.all_reduce(own, op)]


def reduce(number: int, arrays: list[list[Any]], op: Op, root: int) -> list[JsonArray]:
    backend, own = _own(number, arrays)
    result: Any = backend.reduce(own, op, root=root)
    return [_to_json(backend.get(result)) if device.rank == root else None for device in backend.local_devices]


def broadcast(number: int, array: list[Any], spec: list[Any], root: int) -> list[JsonArray]:
    backend, _ = _own(number, [])
    holder = [device for device in backend.local_devices if device.rank == root]
    shape, dtype, _ = spec
    sent = backend.put(_from_json(array), holder[0]) if holder else None
    form = ArraySpec(tuple(shape), dtype, backend.devices[root].placement)
    return [_to_json(backend.get(one)) for one in backend.broadcast(sent, spec=form, root=root)]


def all_gather(number: int, arrays: list[list[Any]], axis: int, sizes: list[int]) -> list[JsonArray]:
    backend, own = _own(number, arrays)
    return [_to_json(backend.get(one)) for one in backend.all_gather(own, axis=axis, sizes=tuple(sizes))]


def _own(number: int, arrays: list[list[Any]]) -> tuple[Backend, tuple[Array, ...]]:
    """Returns a backend and its ranks' arrays, after the exchange that the core makes before every group-call."""
    backend = _OPENED[number]
    note = f"{len(arrays)} arrays".encode()
    if set(backend.exchange(note, timeout_s=None)) != {note}:
        raise PeerFailed("The workers received different calls.")
    local = [(device, arrays[device.rank]) for device in backend.local_devices] if arrays else []
    return backend, tuple([backend.put(_from_json(sent), device) for device, sent in local])
