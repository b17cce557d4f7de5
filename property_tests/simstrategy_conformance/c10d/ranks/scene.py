"""One call of one rank: the group it is made in, what each member gives, and how the result is compared."""

import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import torch
import torch.distributed as dist

from simstrategy_conformance.c10d.answers import Refused, Wrong
from simstrategy_conformance.c10d.inputs import carrier_of, given_by, index_of, members_of
from simstrategy_conformance.c10d.ranks.marks import Marks
from simstrategy_conformance.c10d.ranks.tensors import Held, Memory, host_of
from simstrategy_conformance.covering import Row
from simstrategy_conformance.observe import first_difference

__all__ = ["Scene", "refusing"]

Host = np.ndarray[Any, Any]
_OTHERS_S: Final = 1.0
"""So long a late rank waits until the others have made their calls; a backend may keep them inside the call."""
_LATE_S: Final = 0.02
"""So much later the late rank makes its call: a wait that does not wait has returned by then."""
_FILL: Final = 77
_CHANGING: Final = (
    (r"\[rank\d+\]: ?|\[[A-Z]\d{4} [\d:.]+ ", ""),
    (r"\]:\d{2,5}(?:\$\d+)?", "]:…"),
    (r"0x[0-9a-f]+", "0x…"),
)
"""Ranks, times, ports and addresses in the texts of errors, and what stands in their place."""


class Scene(NamedTuple):
    """group: None for the default group.  me: this rank's index in it, as all indices here.  number: of the call.

    memory: of the row's tensors. ends: whether a work is examined after it was waited for, too. repeat: how often the
    call was made before.
    """

    row: Row
    group: Any
    me: int
    device: torch.device
    marks: Marks
    number: str
    memory: Memory
    ends: bool = False
    repeat: int = 0

    @property
    def members(self) -> tuple[int, ...]:
        """The members' ranks in the world."""
        return members_of(self.row.part, self.row.ranks)

    @property
    def size(self) -> int:
        """How many members there are."""
        return len(self.members)

    @property
    def root(self) -> int:
        """The member that the row names."""
        return index_of(self.row)

    def array(self, index: int, *, op: str = "", copy: int = 0) -> Host:
        """Returns what a member gives, [row's shape]."""
        return given_by(self.row, index, op=op, copy=copy, repeat=self.repeat)

    def arrays(self, *, op: str = "", copy: int = 0) -> list[Host]:
        """Returns what all members give, one [row's shape] each."""
        return [self.array(index, op=op, copy=copy) for index in range(self.size)]

    def hold(self, host: Host) -> Held:
        """Puts an array, [...], into a tensor of the row's dtype and memory layout."""
        return self.memory.hold(host, self.row.dtype, self.device, strided=self.row.strided)

    def blank(self, shape: Sequence[int], *, alike: bool = False) -> Held:
        """Returns a tensor for a result that is to come, [shape]: contiguous beside arguments that are transposed.

        alike: whether it has their layout in that case, too.
        """
        host = np.full(tuple(shape), _FILL).astype(carrier_of(self.row.dtype))
        strided = self.row.strided if alike else self.row.strided is True
        return self.memory.hold(host, self.row.dtype, self.device, strided=strided)

    def run(self, call: Callable[[bool], Any], *, late: int | None = None, waits: Sequence[int] | None = None) -> None:
        """Makes a call, which takes whether it is asynchronous.

        In a late row the member `late`, the root where none is given, makes its call when all others have made theirs,
        and none of `waits`, by default of all members, may report before that its own is complete. Raises Refused for
        what torch or the backend raises, Wrong for a work that is complete too early.
        """
        if not self.row.late:
            refusing(call, False)
            return
        late = self.root if late is None else late
        waits = range(self.size) if waits is None else waits
        is_late = self.me == late and self.size > 1
        try:
            if is_late:
                self.marks.await_all([f"{self.number}-{one}" for one in range(self.size) if one != late], _OTHERS_S)
                time.sleep(_LATE_S)
                self.marks.put(f"{self.number}-{late}")
            work = refusing(call, True)
            if work is None:
                raise Wrong("with async_op=True the call returned None, and no work")
            is_early = not is_late and self.me in waits and self.size > 1 and self.device.type == "cpu"
            if is_early and refusing(work.is_completed) and not self.marks.has(f"{self.number}-{late}"):
                raise Wrong(f"is_completed() is True before rank {self.members[late]} has made its call")
        finally:
            self.marks.put(f"{self.number}-{self.me}")
        refusing(work.wait)
        if self.ends and not refusing(work.is_completed):
            raise Wrong("is_completed() is False after wait()")

    def require(self, held: Held, wanted: Host, what: str, *, bound: Host | None = None) -> Host:
        """Fails unless a tensor holds an array, [...]; returns what it holds.  bound: how far parts may be off."""
        changed = held.changed()
        if changed:
            raise Wrong(f"{what}: {changed}")
        found = host_of(held.tensor, self.row.dtype)
        if bound is None:
            different = first_difference(np.asarray(wanted, carrier_of(self.row.dtype)), found)
        else:
            different = _beyond(wanted, found, bound)
        if different is not None:
            raise Wrong(f"{what}: {different}")
        return found

    def require_kept(self, held: Held, host: Host, what: str = "the input") -> None:
        """Fails unless a tensor that is only read still holds its array, [...], and writes other numbers into it.

        The call is complete: the tensor is the program's again, and what it writes may reach no other rank.
        """
        self.require(held, host, what)
        held.overwrite()

    def require_all_kept(self, held: Sequence[Held], hosts: Sequence[Host]) -> None:
        """Does so for tensors and their arrays, [...] each."""
        for index, (one, host) in enumerate(zip(held, hosts, strict=True)):
            self.require_kept(one, host, f"input {index}")


def refusing(call: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """Makes a call; raises Refused with the text of whatever it raises."""
    try:
        return call(*given, **options)
    except Exception as error:
        line = (str(error).strip().splitlines() or [""])[0]
        for pattern, instead in _CHANGING:
            line = re.sub(pattern, instead, line)
        raise Refused(f"{type(error).__name__}: {line[:300]}", is_lost=_is_lost(error)) from error


def _is_lost(error: Exception) -> bool:
    """Returns whether an error is of a call that was given up, or whose peer was lost, and refuses nothing."""
    text = str(error).lower()
    if isinstance(error, NotImplementedError):
        return False
    lost = ("timed out", "timeout after", "operation timeout", "connection closed", "connection reset", "broken pipe")
    return isinstance(error, (TimeoutError, dist.DistNetworkError)) or any(one in text for one in lost)


def _beyond(wanted: Host, found: Host, bound: Host) -> str | None:
    """Describes the first element, [...], of which a part is farther than the bound from what it has to be."""
    if wanted.shape != found.shape:
        return f"expected the shape {list(wanted.shape)}, found {list(found.shape)}"
    wide = np.asarray(found, wanted.dtype)
    away = np.maximum(np.abs(wide.real - wanted.real), np.abs(wide.imag - wanted.imag))
    places = np.argwhere(~(away <= bound))
    if not len(places):
        return None
    place = tuple(int(one) for one in places[0])
    return f"element {list(place)}: expected {wanted[place]} within {bound[place]:.3g}, found {wide[place]}"
