"""Compares what replicas hold: a digest of each at one synchronisation point, and the place of the first difference.

Equal digests end it. Else all processes exchange digests of leaves, then of parts of the first leaf that differs, and
then that element's text: few small messages, however large the arrays are. All raise the same error.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

import numpy as np

from simstrategy.errors import CannotCompile, ReplicasDisagree
from simstrategy.run import Coordinator, Resolve, Sizes, StatusMessage
from simstrategy.short_repr import short_repr
from simstrategy.strategy.bits import fingerprint
from simstrategy.strategy.group import Group
from simstrategy.strategy.held import Held, Leaf, held_by
from simstrategy.trace import Request, Site, describe_site

__all__ = [
    "equality_request",
    "held_here",
    "require_equal_across",
    "require_equal_after",
    "resolve_equal",
]

_PARTS: Final = 256
"""Digests of one replica in a message, while the first difference is looked for."""
_BYTES_SHOWN: Final = 400
"""Of a value; a number of so many digits fits in a message."""
_BEFORE: Final = 20
"""Characters of a text that are shown before the first one that differs."""
_LINES_MAX: Final = 16
_NAMES_MAX: Final = 5


def equality_request(name: str | None) -> Request:
    """Returns the request of all replicas.  name: as in `require_equal`."""
    return Request("require_equal", None, None, name, None, ())


def held_here(group: Group, value: Any, index: int, site: Site) -> tuple[Held, int]:
    """Returns what a local replica holds, and its digest.  Raises what `held_by` raises."""
    if group.tracing is not None:
        raise CannotCompile(
            f"A compiled step calls require_equal at {describe_site(site)}, which reads values. Call it outside of the "
            f"step, such as strategy.require_equal after the run."
        )
    held = held_by(group, value, index, site)
    return held, fingerprint(b"".join([leaf.form.encode() + b"\0" + _print(leaf) for leaf in held.leaves]))


def resolve_equal(group: Group) -> Resolve[Held, None]:
    """Returns the function that ends the call for all local replicas, or raises ReplicasDisagree."""

    def resolve(request: Request, payloads: Sequence[Held], sizes: Sizes) -> Sequence[None]:
        _require(group, request, payloads, sizes)
        return [None] * len(payloads)

    return resolve


def require_equal_across(group: Group, value: Any, name: str | None, site: Site) -> None:
    """Compares the components of a nest, over all workers; outside of replica functions."""
    pairs = [held_here(group, value, index, site) for index in range(len(group.local_devices))]
    request = equality_request(name)
    if not group.kind.has_collectives:
        return
    sizes = group.coordinator.agree(request, site, [size for _, size in pairs])
    group.coordinator.one_thread.call(site, _require, group, request, [held for held, _ in pairs], sizes)


def require_equal_after(group: Group, getters: Mapping[str, Callable[[], Any]], site: Site) -> None:
    """Compares what each getter returns, by name, at the end of a run."""
    for name, getter in list(getters.items()):
        require_equal_across(group, getter(), name, site)


def _require(group: Group, request: Request, held: Sequence[Held], sizes: Sizes) -> None:
    if any(size != sizes[0] for size in sizes):
        raise _Search(group.coordinator, request, held).difference()


def _print(leaf: Leaf) -> bytes:
    return fingerprint(leaf.data).to_bytes(8, "little")


@final
class _Search:
    """The search for the first difference.  All processes make the same steps: they depend on shared numbers alone.

    held: of the local replicas.
    """

    def __init__(self, coordinator: Coordinator, request: Request, held: Sequence[Held]) -> None:
        self._coordinator = coordinator
        self._what = "require_equal" if request.subject is None else f"require_equal {request.subject!r}"
        self._held = held

    def difference(self) -> ReplicasDisagree:
        """Returns the error that names leaf, element, replicas and call sites."""
        structures = self._rows([[fingerprint(one.leaves[0].data)] for one in self._held])
        if _differ(structures, 0):
            return self._error(0, [])
        prints = [[fingerprint(leaf.form.encode() + b"\0" + _print(leaf)) for leaf in one.leaves] for one in self._held]
        rows = self._rows(prints)
        first, *others = [number for number in range(len(rows[0])) if _differ(rows, number)]
        return self._error(first, [self._held[0].leaves[one].place for one in others])

    def _error(self, number: int, others: Sequence[str]) -> ReplicasDisagree:
        leaves = [one.leaves[number] for one in self._held]
        forms = self._texts([leaf.form for leaf in leaves])
        place, where, texts = leaves[0].place, "", forms
        if len(dict.fromkeys(forms)) == 1:
            offset = self._offset([leaf.data for leaf in leaves])
            shown = self._texts([_shown(leaf, offset) for leaf in leaves])
            texts = [f"{form}, {text}" for form, text in zip(forms, shown, strict=True)]
            where = _where(leaves[0], offset)
        sites = self._texts([describe_site(one.site) for one in self._held])
        lines = [
            f"replica {rank}: {text} at {site}"
            for rank, (text, site) in enumerate(zip(texts, sites, strict=True))
            if rank == 0 or text != texts[0]
        ]
        equal = [rank for rank, text in enumerate(texts) if rank and text == texts[0]]
        if equal:
            who = "replicas" if len(equal) > 1 else "replica"
            lines.append(f"{who} {', '.join(map(str, equal[:_LINES_MAX]))}: as replica 0 there")
        if len(lines) > _LINES_MAX:
            lines[_LINES_MAX:] = [f"… and {len(lines) - _LINES_MAX} more"]
        leaf = f"leaf {place}" if place else "the structure of the nest" if number == 0 else "the value"
        more = f"; {len(others)} more differ: {', '.join(others[:_NAMES_MAX])}" if others else ""
        return ReplicasDisagree(
            "\n  ".join([f"{self._what} found unequal values: {leaf}{where}{more}.", *lines])
            + "\nCombine it over the replicas before, such as by all_reduce, or compute it alike in all of them."
        )

    def _offset(self, mine: Sequence[bytes]) -> int:
        """Returns the first byte that differs; the shortest length where that many are equal."""
        start, stop = 0, min(self._share([len(data) for data in mine]))
        while start < stop:
            step = -(-(stop - start) // _PARTS)
            bounds = range(start, stop, step)
            rows = self._rows([[fingerprint(data[at : min(at + step, stop)]) for at in bounds] for data in mine])
            found = next((number for number in range(len(bounds)) if _differ(rows, number)), None)
            if found is None:
                return stop
            start, stop = bounds[found], min(bounds[found] + step, stop)
            if step == 1:
                break
        return start

    def _rows(self, mine: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        """Returns every rank's row of numbers, in rank order; all rows have one length."""
        length = len(mine[0])
        every = self._share([number for row in mine for number in row])
        return [every[at : at + length] for at in range(0, len(every), length)]

    def _texts(self, mine: Sequence[str]) -> list[str]:
        """Returns every rank's text, in rank order; long ones are cut."""
        shared = self._share([_number_of(text) for text in mine])
        return [_text_of(number) for number in shared]

    def _share(self, numbers: Sequence[int]) -> Sequence[int]:
        coordinator = self._coordinator
        if coordinator.processes == 1:
            return numbers
        line = f"worker {coordinator.worker}: {self._what}"
        return coordinator.exchange(StatusMessage("request", "where values differ", (line,), tuple(numbers)))


def _differ(rows: Sequence[Sequence[int]], number: int) -> bool:
    return any(row[number] != rows[0][number] for row in rows)


def _number_of(text: str) -> int:
    return int.from_bytes(b"\1" + text.encode("utf-8", "backslashreplace")[:_BYTES_SHOWN], "big")


def _text_of(number: int) -> str:
    return number.to_bytes((number.bit_length() + 7) // 8, "big")[1:].decode("utf-8", "ignore")


def _index(leaf: Leaf, offset: int) -> tuple[int, ...] | None:
    """Returns the indices of the element with this byte; None for what is no array."""
    if leaf.array is None or not leaf.array.size:
        return None
    size = len(leaf.data) // leaf.array.size
    return tuple(int(one) for one in np.unravel_index(offset // size, leaf.array.shape))


def _where(leaf: Leaf, offset: int) -> str:
    index = _index(leaf, offset)
    return "" if not index else f", first at {list(index)}"


def _shown(leaf: Leaf, offset: int) -> str:
    index = _index(leaf, offset)
    if index is not None and leaf.array is not None:
        return str(leaf.array[index])
    start = max(offset - _BEFORE, 0)
    text = leaf.data[start:].decode("utf-8", "replace")
    return ("…" if start else "") + short_repr(text)[1:-1]
