"""Meetings: replicas come with a request each, and either all get an answer or all hear who differs.

Two levels: the local lanes first, then, where the group spans processes, one note a process. This is
the whole coordination of a run; lanes only carry arrivals here, and what an answer is made of is the
business of the `resolve` that an arrival brings.
"""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn, final

from simstrategy.device.protocol import Backend
from simstrategy.errors import BackendUnavailable, CallSitesDiffer, PeerFailed, ReplicasDisagree
from simstrategy.run.functions import function_key
from simstrategy.run.lanes import FINISHED
from simstrategy.run.notes import Note, Sizes, compare_notes, disagreement, fingerprint, located, raised_where
from simstrategy.trace import Request, Site, Trace, describe_request, describe_site

__all__ = ["Arrival", "Meeting", "MeetingRoom", "Resolve"]

Resolve = Callable[[Request, list[Any], Sizes], Sequence[Any]]
"""Makes the answers, in lane order, from the request, the lanes' payloads and every rank's size."""


class Arrival(NamedTuple):
    """What a replica brings to a meeting.  Hot paths pass plain tuples of the same form."""

    request: Request
    payload: Any
    site: Site
    resolve: Resolve
    size: int | None
    """A size that replicas choose freely, such as that along a gathered axis; None where there is none."""


@final
class _Habit:
    """What this process said last on one kind of occasion, and what all said then: steps repeat themselves."""

    __slots__ = ("data", "note", "sizes", "told", "what")

    def __init__(self) -> None:
        self.what: object = None
        """What the note was made of: as long as it is equal, so is the note."""
        self.note = Note("left", "", (), ())
        self.data = b""
        """The note, encoded."""
        self.told: tuple[bytes, ...] = ()
        """All processes' notes when they last agreed, and the sizes in them."""
        self.sizes: Sizes = ()

    def change(self, what: object, note: Note) -> None:
        self.what, self.note, self.data = what, note, note.encode()


@final
class MeetingRoom:
    """What all meetings of one strategy share: the group, the trace, and what was warned of.

    checks: False compares requests and not their call sites; "strict" makes `CallSitesDiffer` an error.
    """

    def __init__(self, backend: Backend, *, trace: Trace | None, checks: bool | str) -> None:
        self.backend = backend
        self.trace = trace
        self.checks = checks
        self.ranks = tuple(device.rank for device in backend.local_devices)
        self.worker = backend.local_devices[0].process
        self.processes = len({device.process for device in backend.devices})
        self._warned: set[tuple[str, str]] = set()
        self._shared: BaseException | None = None
        self._asking, self._ending = _Habit(), _Habit()
        self._failure: tuple[BaseException, tuple[str, ...]] | None = None
        """The last exception of a local replica, and a line on each replica for the other processes."""

    def announce(self, request: Request, site: Site, sizes: Sequence[int] = ()) -> Sizes:
        """Meets as a whole worker, outside replica functions; returns the sizes of all workers' ranks."""
        if self.trace is not None:
            self.trace.record(self.worker, request, (None,), (site,))
        if self.processes == 1:
            return tuple(sizes)
        line = f"worker {self.worker}: {describe_request(request)} at {describe_site(site)}"
        return self.exchange(Note("request", fingerprint(request), (line,), tuple(sizes)))

    def end_run(self, function: Callable[..., Any], error: BaseException | None) -> None:
        """Tells the other processes that a run is over here; raises if theirs is not, or raised.

        Says nothing of an error that all processes have.
        """
        if self.processes == 1 or (error is not None and error is self._shared):
            return
        if error is None:
            key = function_key(function)
            if self._ending.what != key:
                lines = tuple(f"replica {rank}: returned from {key}" for rank in self.ranks)
                # Its values may differ: a worker's function may well know which worker it is.
                self._ending.change(key, Note("returned", key.code_fingerprint(), lines, ()))
            self._say(self._ending)
        else:
            self.leave(error)

    def leave(self, error: BaseException | None = None) -> None:
        """Tells the other processes that this one goes no further, and why; never raises what they tell.

        Says nothing after an error that all processes have, until they have agreed on something again.
        """
        if self.processes == 1 or (self._shared is not None and error in (None, self._shared)):
            return
        what = "the program ended" if error is None else raised_where(error)
        lines = tuple(f"replica {rank}: {what}" for rank in self.ranks)
        if self._failure is not None and self._failure[0] is error:
            lines = self._failure[1]
        self._failure = None
        self._shared = PeerFailed(what) if error is None else error
        note = Note("left" if error is None else "failed", "", lines, ())
        with suppress(PeerFailed, BackendUnavailable):  # what the others are told by is gone, and they know
            self.backend.exchange(note.encode(), timeout_s=None)

    def note_failure(self, error: BaseException, lines: tuple[str, ...]) -> None:
        """Keeps who raised and who was waiting until the other processes are told."""
        if self.processes > 1:
            self._failure = (error, lines)

    def ask(self, asked: tuple[Request, list[Site], Sizes], describe: Callable[[], tuple[str, ...]]) -> Sizes:
        """Meets the other processes for what all local replicas ask; see `exchange`.

        describe: returns a line for each replica. Most ask for what they asked for last, from the same lines.
        """
        if self._asking.what != asked:
            self._asking.change(asked, Note("request", fingerprint(asked[0]), describe(), asked[2]))
        return self._say(self._asking)

    def exchange(self, note: Note) -> Sizes:
        """Sends this process's note; returns all ranks' sizes, or raises what the notes tell."""
        once = _Habit()
        once.change(None, note)
        return self._say(once)

    def _say(self, habit: _Habit) -> Sizes:
        note = habit.note
        try:
            told = self.backend.exchange(habit.data, timeout_s=None)
        except PeerFailed as error:
            self._shared = located(error, note.lines)
            raise self._shared from error
        if told == habit.told:
            self._shared = None
            return habit.sizes
        notes = [Note.decode(data) for data in told]
        try:
            sizes = compare_notes(notes, self.worker)
            if self.checks and note.status == "request":
                self.compare_sites([line for one in notes for line in one.lines])
        except Exception as error:
            self._shared = error
            raise
        self._shared = None
        habit.told, habit.sizes = told, sizes
        return sizes

    def compare_sites(self, lines: Sequence[str]) -> None:
        """Warns once per pair of call sites in equal requests, or raises where checks are strict.

        lines: one for each replica or worker, as they stand in a note: who, what, where.
        """
        first_who, first_what, first_site = _parts(lines[0])
        for line in lines:
            who, _, site = _parts(line)
            if site == first_site or (first_site, site) in self._warned:
                continue
            text = (
                f"{first_who} and {who} make the same request, {first_what}, from different lines, {first_site} and "
                f"{site}; their values are combined."
            )
            if self.checks == "strict":
                raise ReplicasDisagree(text + " Call it from one line, or do without strict checks.")
            self._warned.add((first_site, site))
            warnings.warn(CallSitesDiffer(text + ' Call it from one line; checks="strict" refuses it.'), stacklevel=2)


def _parts(line: str) -> tuple[str, str, str]:
    who, _, rest = line.partition(": ")
    what, _, site = rest.rpartition(" at ")
    return who, what, site


@final
class Meeting:
    """The meetings of one `run`: the lanes' `meet` and `failed`."""

    __slots__ = ("_function", "_room")

    def __init__(self, room: MeetingRoom, function: Callable[..., Any]) -> None:
        self._room = room
        self._function = function

    def meet(self, arrivals: list[Any], order: list[int]) -> Sequence[Any]:
        """Returns the answers in lane order, or raises ReplicasDisagree with one line per replica."""
        room = self._room
        first = arrivals[0]
        if first is FINISHED:
            self._disagree(arrivals)
        request, _, site, resolve, size = first
        # Column by column, and counted by C: identity is asked first, and a repeated request is often the very object.
        requests, payloads, sites, _, all_sizes = zip(*arrivals, strict=True)
        count = len(arrivals)
        if requests.count(request) != count:
            self._disagree(arrivals)
        if sites.count(site) != count and room.checks and room.processes == 1:
            room.compare_sites(self._lines(arrivals))
        if room.trace is not None:
            ranks = room.ranks
            room.trace.record(room.worker, request, [ranks[i] for i in order], [sites[i] for i in order])
        sizes: Sizes = () if size is None else all_sizes
        if room.processes > 1:
            asked = (request, list(sites), sizes)
            sizes = room.ask(asked, lambda: self._lines(arrivals))
        try:
            answers: Sequence[Any] = resolve(request, list(payloads), sizes)
        except PeerFailed as error:
            raise located(error, self._lines(arrivals)) from error
        return answers

    def failed(self, index: int, error: BaseException, arrivals: list[Any], order: list[int]) -> None:
        """Adds a note to a replica's exception that says which, where, and who was waiting."""
        ranks = self._room.ranks
        raised = raised_where(error)
        waiting = {
            rank: f"was waiting in {describe_request(arrivals[i][0])} at {describe_site(arrivals[i][2])}"
            for i, rank in enumerate(ranks)
            if i in order and arrivals[i] is not FINISHED
        }
        absent = [rank for i, rank in enumerate(ranks) if i != index and i not in order]
        lines = [f"  replica {rank} {text}" for rank, text in waiting.items()]
        if absent:
            lines.append(f"  replica{'s' if len(absent) > 1 else ''} {', '.join(map(str, absent))} had not come so far")
        error.add_note("\n".join([f"In replica {ranks[index]}: {raised}", *lines]))
        told = dict.fromkeys(absent, "had not come so far") | waiting | {ranks[index]: raised}
        self._room.note_failure(error, tuple(f"replica {rank}: {told.get(rank, 'had returned')}" for rank in ranks))

    def _disagree(self, arrivals: list[Any]) -> NoReturn:
        lines = self._lines(arrivals)
        if self._room.processes > 1:
            self._room.exchange(Note("disagree", "", lines, ()))
        raise ReplicasDisagree(disagreement(lines))

    def _lines(self, arrivals: list[Any]) -> tuple[str, ...]:
        texts = [
            f"returned from {function_key(self._function)}"
            if arrival is FINISHED
            else f"{describe_request(arrival[0])} at {describe_site(arrival[2])}"
            for arrival in arrivals
        ]
        return tuple(f"replica {rank}: {text}" for rank, text in zip(self._room.ranks, texts, strict=True))
