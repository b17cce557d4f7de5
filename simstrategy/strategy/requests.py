"""The request that replicas made last: they mostly make the same one, and then share one object.

One per group, used by `replica.py` alone. See docs/caches.md for when each entry is valid.
"""

from collections.abc import Callable, Hashable
from itertools import repeat
from typing import Any, final

import numpy as np

from simstrategy import tree
from simstrategy.device import Array, Backend, Device, Spec, host_array
from simstrategy.run import Resolve
from simstrategy.strategy.enums import ReduceOp
from simstrategy.strategy.reductions.arithmetic import Reductions
from simstrategy.strategy.validation import require_numbers
from simstrategy.trace import Request, Subject

__all__ = ["GradientOf", "RequestCache"]

Forms = tuple[tuple[tuple[int, ...], str], ...]
"""Shape and dtype of each array."""


@final
class GradientOf(Subject):
    """What the gradient of a collective is of: the number of the forward call among its replica's.

    Replicas that compute gradients in another order make equal requests from one line; this distinguishes them.
    """

    __slots__ = ("_number",)
    __hash__ = None  # type: ignore[assignment]  # compared, and no key of anything

    def __init__(self, number: int) -> None:
        self._number = number

    def __eq__(self, other: object) -> bool:
        return self._number == other._number if isinstance(other, GradientOf) else NotImplemented

    def __str__(self) -> str:
        return f"gradient of collective {self._number}"

    def fingerprint(self) -> str:
        return str(self)

    def described(self) -> str:
        return str(self)

    def recorded(self) -> None:
        """Returns None: a trace shows the call site of the forward call."""

    def difference(self, other: Subject) -> None:
        """Returns None: the number is in `described`."""


@final
class RequestCache:
    """The last request to all-reduce, and what `ReplicaContext.all_reduce` needs to recognise it.

    has_collectives: False for a group whose all_reduce returns its argument; see `kinds.Kind`.
    """

    __slots__ = (
        "_devices",
        "_last",
        "_last_specs",
        "_put",
        "form",
        "last_one",
        "plain_types",
        "puts",
        "resolve_one",
        "spec",
        "tracks",
    )

    def __init__(self, backend: Backend, reductions: Reductions, *, has_collectives: bool) -> None:
        self.plain_types = backend.array_types if has_collectives else ()
        """The types of arrays that all_reduce may take the quick way, unless a gradient has to flow through them."""
        self.puts: dict[type, Callable[[Any, Device], Array]] = {}
        """For each type of host data that becomes such an array, what puts it on a device; its form has yet to be
        compared."""
        if has_collectives and backend.autodiff is None:
            self.puts = {np.ndarray: backend.put, float: self._put_number, int: self._put_number}
        self._put = backend.put
        self._devices = backend.local_devices
        self.spec: Callable[[Any], Spec] = backend.spec
        self.form: Callable[[Any], Hashable] = backend.spec if backend.forms is None else backend.forms.form
        self.tracks = None if backend.autodiff is None else backend.autodiff.tracks
        self.resolve_one: Resolve[Any, Any] = reductions.one
        self._last = Request("all_reduce", None, None, None, None, ())
        self._last_specs: tuple[Request | None, list[list[Spec]]] = (None, [])
        """A request for a nest, and the specs of its arrays for each local replica."""
        none: list[Hashable] = [None] * len(self._devices)
        self.last_one: tuple[ReduceOp | str | None, list[Hashable], Request] = (None, none, self._last)
        """The op of the last request for one array as it was given, the array's form for each local replica, and the
        request."""

    def one(self, given: ReduceOp | str, op: ReduceOp, array: Any, index: int) -> Request:
        """Returns the request of replica `index` to all-reduce one array [any shape], and keeps it in `last_one`.

        given: what the program wrote for `op`.
        """
        request = self.many(op.value, None, (self.spec(array)[:2],))
        last_given, forms, last = self.last_one
        if last is not request:
            # None is the form of no array: each replica enters its own.
            forms = [None] * len(self._devices)
        if last_given is not given or last is not request:
            self.last_one = (given, forms, request)
        forms[index] = self.form(array)
        return request

    def many(self, op: str, structure: tree.Structure | None, forms: Forms) -> Request:
        """Returns the request to all-reduce a nest.  Raises InvalidArgument for bool."""
        last = self._last
        if last[5] == forms and last[4] == structure and last[1] == op:
            return last
        require_numbers(forms, "all_reduce")
        # Kept in a variable: another thread may replace the entry at any time.
        request = self._last = Request("all_reduce", op, None, None, structure, forms)
        return request

    def last_nest(self, op: str, nest: Any, index: int) -> tuple[Request, list[Array]] | None:
        """Returns the last request and the nest's arrays, if the nest of replica `index` is like the last one.

        Each array is on the replica's device, or is made there of host data, has the form of the last one, and no
        gradient flows through it.
        """
        _, last_op, _, _, structure, _ = last = self._last
        if last_op != op or structure is None or not self.plain_types:
            return None
        leaves = tree.leaves_like(nest, structure) or []
        if not all(map(isinstance, leaves, repeat(self.plain_types))):
            leaves = self._all_placed(leaves, index)
        if not leaves or (self.tracks and any(map(self.tracks, leaves))):
            return None
        return (last, leaves) if list(map(self.spec, leaves)) == self._specs_of(last)[index] else None

    def _all_placed(self, leaves: list[Any], index: int) -> list[Array]:
        """Returns arrays of leaves that are arrays of the backend or such host data; [] where one is neither."""
        arrays, put_of, device = [], self.puts.get, self._devices[index]
        for leaf in leaves:
            put = put_of(type(leaf))
            if put is not None:
                arrays.append(put(leaf, device))
            elif isinstance(leaf, self.plain_types):
                arrays.append(leaf)
            else:
                return []
        return arrays

    def _put_number(self, number: float, device: Device) -> Array:
        return self._put(host_array(number), device)

    def _specs_of(self, request: Request) -> list[list[Spec]]:
        kept, specs = self._last_specs
        if kept is not request:
            forms: Any = request.leaves  # of all-reduces, whose sizes are all stated
            specs = [[(shape, dtype, placement) for shape, dtype in forms] for _, _, placement in self._devices]
            self._last_specs = (request, specs)
        return specs
