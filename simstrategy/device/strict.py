"""Checks a backend's contract at every group-call: its arguments and its results.

On by default. A failure is a `ContractViolation` that names call, rank, what was found and what the contract requires.
It checks forms and places, never values: the conformance kit compares values.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, NoReturn, final

import numpy as np

from simstrategy.device.optional import UnifiedMemory
from simstrategy.device.protocol import Backend
from simstrategy.device.terms import UNKNOWN, Array, ArraySpec, Cell, Device, Op, Spec, process_count
from simstrategy.device.wrapper import Wrapper
from simstrategy.errors import ContractViolation

__all__ = ["Strict"]

_OPS = frozenset(("SUM", "MIN", "MAX"))
_FORMS_KEPT: Final = 1024
_RANK: Final = attrgetter("rank")


@final
class Strict(Wrapper):
    """A backend that examines the backend inside it."""

    __slots__ = (
        "_first_rank",
        "_form",
        "_good",
        "_local_ranks",
        "_placements",
        "_process",
        "_processes",
        "_shared_placements",
        "_spec",
        "_summable",
    )

    def __init__(self, inner: Backend) -> None:
        Wrapper.__init__(self, inner)
        self._spec = inner.spec
        self._form: Callable[[Array], object] = inner.spec if inner.forms is None else inner.forms.form
        self._good: dict[object, list[object]] = {}
        """The forms of summable arrays on all local devices that were found to be good, by the first one's."""
        self._summable = self.capabilities.dtypes - {"bool"}
        self._local_ranks = frozenset(device.rank for device in self.local_devices)
        self._placements = tuple(device.placement for device in self.local_devices)
        self._shared_placements = len(set(self._placements)) < len(self._placements)
        good = {} if self._shared_placements else self._good
        self.memory = (
            None if inner.memory is None else _StrictMemory(inner.memory, self._form, good, self._check_shared)
        )
        self._check_devices()
        self._processes = process_count(self.devices)
        self._process = self.local_devices[0].process
        self._first_rank = self.local_devices[0].rank

    def _check_devices(self) -> None:
        ranks = list(map(_RANK, self.devices))
        if ranks != list(range(len(ranks))) or not ranks:
            self._fail("devices", f"ranks are {ranks}", "0, 1, 2, … in order, at least one")
        if not set(self.local_devices) <= set(self.devices) or not self.local_devices:
            self._fail("local_devices", str(self.local_devices), "at least one, all among devices")
        if process_count(self.local_devices) != 1:
            self._fail("local_devices", str(self.local_devices), "devices of one process")

    # Group-calls.

    def all_reduce(self, arrays: tuple[Array, ...], op: Op) -> tuple[Array, ...]:
        # Most are like some before, and their results like their arguments.
        forms = list(map(self._form, arrays))
        if not forms or self._good.get(forms[0]) != forms or op not in _OPS:
            self._check_equal_arrays("all_reduce", arrays, op)
        results = self._inner.all_reduce(arrays, op)
        if self._shared_placements or list(map(self._form, results)) != forms:
            shape, dtype, _ = self._spec(arrays[0])
            self._check_results("all_reduce", results, shape, dtype)
        return results

    def reduce(self, arrays: tuple[Array, ...], op: Op, *, root: int) -> Array | None:
        forms = list(map(self._form, arrays))
        if not forms or self._good.get(forms[0]) != forms or op not in _OPS:
            self._check_equal_arrays("reduce", arrays, op)
        if root != self._first_rank:
            self._check_rank("reduce", root)
        result = self._inner.reduce(arrays, op, root=root)
        if result is None or root != self._first_rank or self._form(result) != forms[0]:
            shape, dtype, _ = self._spec(arrays[0])
            self._check_root("reduce", result, (shape, dtype, self.devices[root].placement), root)
        return result

    def broadcast(self, array: Array | None, *, spec: ArraySpec, root: int) -> tuple[Array, ...]:
        placement = self._check_rank("broadcast", root)
        self._check_root("broadcast", array, (spec.shape, spec.dtype, placement), root)
        results = self._inner.broadcast(array, spec=spec, root=root)
        self._check_results("broadcast", results, spec.shape, spec.dtype)
        return results

    def all_gather(self, arrays: tuple[Array, ...], *, axis: int, sizes: tuple[int, ...]) -> tuple[Array, ...]:
        if len(sizes) != len(self.devices):
            self._fail("all_gather", f"{len(sizes)} sizes", f"one for each of {len(self.devices)} ranks")
        if len(arrays) != len(self.local_devices):
            self._fail("all_gather", f"{len(arrays)} arrays", f"{len(self.local_devices)}, one for each local rank")
        first, dtype, _ = self._spec(arrays[0])
        if not 0 <= axis < len(first):
            self._fail("all_gather", f"axis {axis}", f"an axis of shape {first}, not negative")
        # While a framework traces, sizes may have no value yet.
        unknown = UNKNOWN in sizes
        for array, device in zip(arrays, self.local_devices, strict=True):
            size: Any = None if unknown else sizes[device.rank]
            self._check_spec("all_gather", "arrays", device, array, (*first[:axis], size, *first[axis + 1 :]), dtype)
        results = self._inner.all_gather(arrays, axis=axis, sizes=sizes)
        total: Any = None if unknown else sum(sizes)
        whole = (*first[:axis], total, *first[axis + 1 :])
        self._check_results("all_gather", results, whole, dtype)
        return results

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        notes = self._inner.exchange(note, timeout_s=timeout_s)
        if len(notes) != self._processes or notes[self._process] != note:
            wanted = f"{self._processes}, number {self._process} being the one sent"
            self._fail("exchange", f"{len(notes)} notes", wanted)
        return notes

    # Arrays and cells.

    def put(self, value: np.ndarray | Array, device: Device) -> Array:
        array = self._inner.put(value, device)
        if isinstance(value, np.ndarray) and not isinstance(value, self.array_types):
            form = (value.shape, _name_of(value.dtype))
        else:
            form = self._spec(value)[:2]
        found = self._spec(array)
        if found != (*form, device.placement):
            self._fail("put", _text(found), _text((*form, device.placement)))
        return array

    def get(self, array: Array) -> np.ndarray:
        value = self._inner.get(array)
        shape, dtype, _ = spec = self._spec(array)
        if type(value) is not np.ndarray or value.shape != shape or _name_of(value.dtype) != dtype:
            found = f"a {type(value).__name__} {value.dtype}{list(value.shape)}"
            self._fail("get", found, f"an ndarray of {_text(spec)}")
        return value

    def cell(self, initial: Array) -> Cell:
        cell = self._inner.cell(initial)
        found, wanted = self._spec(cell.read()), self._spec(initial)
        if found != wanted:
            self._fail("cell", f"reads {_text(found)}", f"its initial value's {_text(wanted)}")
        return cell

    # The checks.

    def _check_shared(self, array: Array, results: tuple[Array, ...]) -> None:
        shape, dtype, _ = self._spec(array)
        self._check_results("share", results, shape, dtype)

    def _check_equal_arrays(self, call: str, arrays: tuple[Array, ...], op: str) -> None:
        if op not in _OPS:
            self._fail(call, f"op {op!r}", "SUM, MIN or MAX")
        if not arrays:
            self._fail(call, "0 arrays", f"{len(self._placements)}, one for each local rank")
        shape, dtype, _ = self._spec(arrays[0])
        if len(arrays) != len(self._placements):
            self._fail(call, f"{len(arrays)} arrays", f"{len(self._placements)}, one for each local rank")
        if dtype not in self._summable:
            self._fail(call, f"dtype {dtype}", f"one of {sorted(self._summable)}")
        for array, device in zip(arrays, self.local_devices, strict=True):
            self._check_spec(call, "arrays", device, array, shape, dtype)
        self._keep_good(arrays, dtype)

    def _keep_good(self, arrays: Sequence[Array], dtype: str) -> None:
        if len(self._good) >= _FORMS_KEPT:
            self._good.clear()
        if dtype in self._summable:
            forms = list(map(self._form, arrays))
            self._good[forms[0]] = forms

    def _check_results(self, call: str, results: tuple[Array, ...], shape: tuple[int, ...], dtype: str) -> None:
        forms = list(map(self._form, results))
        if not forms or forms != self._good.get(forms[0]) or self._spec(results[0])[:2] != (shape, dtype):
            if len(results) != len(self._placements):
                self._fail(call, f"{len(results)} results", f"{len(self._placements)}, one for each local rank")
            for array, device in zip(results, self.local_devices, strict=True):
                self._check_spec(call, "results", device, array, shape, dtype)
            self._keep_good(results, dtype)
        # An object is on one device, so where all devices differ the right places prove different objects.
        if self._shared_placements and len(set(map(id, results))) != len(results):
            self._fail(call, "one object for several ranks", "an array object of its own for each rank")

    def _check_spec(
        self, call: str, what: str, device: Device, array: Array, shape: tuple[int, ...], dtype: str
    ) -> None:
        found, wanted = self._spec(array), ArraySpec(shape, dtype, device.placement)
        if found != wanted:
            self._fail(call, f"{what} of rank {device.rank}: {_text(found)}", _text(wanted))

    def _check_rank(self, call: str, root: int) -> str:
        if not 0 <= root < len(self.devices):
            self._fail(call, f"root {root}", f"a rank below {len(self.devices)}")
        return self.devices[root].placement

    def _check_root(self, call: str, array: Array | None, spec: Spec, root: int) -> None:
        if (array is not None) != (root in self._local_ranks):
            self._fail(call, "an array" if array is not None else "no array", f"one exactly where rank {root} is local")
        if array is not None and self._spec(array) != spec:
            self._fail(call, f"root {root}: {_text(self._spec(array))}", _text(spec))

    def _fail(self, call: str, found: str, wanted: str) -> NoReturn:
        raise ContractViolation(
            f"Backend {self.name!r}, {call}: found {found}; the contract of simstrategy.device requires {wanted}. "
            f"Report it to the backend's author."
        )


@final
class _StrictMemory:
    """A `UnifiedMemory` whose results are examined, unless their forms are among those that were found to be good."""

    __slots__ = ("_check", "_form", "_good", "_share")

    def __init__(
        self,
        inner: UnifiedMemory,
        form: Callable[[Array], object],
        good: dict[object, list[object]],
        check: Callable[[Array, tuple[Array, ...]], None],
    ) -> None:
        self._share = inner.share
        self._form = form
        self._good = good
        self._check = check

    def share(self, array: Array, cells: tuple[Cell, ...] = ()) -> tuple[Array, ...]:
        results = self._share(array, cells)
        if list(map(self._form, results)) != self._good.get(self._form(array)):
            self._check(array, results)
        return results


@lru_cache(maxsize=256)
def _name_of(dtype: "np.dtype[Any]") -> str:
    """Returns a dtype's name, which NumPy computes at each look: that takes longer than to copy a small array."""
    return dtype.name


def _text(spec: Spec) -> str:
    shape, dtype, placement = spec
    return f"{dtype}{list(shape)} on {placement}"
