"""Matches the calls of all replicas: either all get an answer, or all get the same error with one line per replica.

Two levels: the local tasks first (`CollectiveMatcher`), then, where the group spans processes, one status message a
process (`Coordinator`). Who runs when is in `handoff.py` and `hub.py`; the `resolve` of each call makes the answers.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, final

from simstrategy import tree
from simstrategy.device.protocol import Backend
from simstrategy.device.terms import process_count
from simstrategy.errors import BackendUnavailable, CallSitesDiffer, PeerFailed, ReplicasDisagree
from simstrategy.run.call_paths import described
from simstrategy.run.calls import AnyCall, PendingCall, Sizes
from simstrategy.run.functions import function_key
from simstrategy.run.kept_text import KeptText
from simstrategy.run.observing import observer_of
from simstrategy.run.one_thread import OneThread
from simstrategy.run.status import (
    StatusMessage,
    add_note,
    compare_messages,
    disagreement,
    fingerprint,
    located,
    raise_located,
    raised_where,
    read_replies,
    words_of,
)
from simstrategy.run.task import FINISHED
from simstrategy.trace import Request, Site, Subject, describe_request, warn_at

if TYPE_CHECKING:
    from simstrategy.trace import AnyTrace

__all__ = ["CollectiveMatcher", "Coordinator"]


@final
class _MessageCache:
    """The last message of one sort that this process sent, and what all processes replied: steps repeat themselves.

    Valid as long as `source` is equal: `set` replaces everything. See docs/caches.md.
    """

    __slots__ = ("data", "message", "replies", "site", "sizes", "source")

    def __init__(self) -> None:
        self.source: object = None
        """What the message was made of."""
        self.site: Site = ("", 0)
        """This process's call site, for warnings."""
        self.message = StatusMessage("left", "", (), ())
        self.data = b""
        """The message, encoded."""
        self.replies: tuple[bytes, ...] = ()
        """All processes' messages when they last agreed, and the sizes in them."""
        self.sizes: Sizes = ()

    def set(self, source: object, message: StatusMessage, site: Site = ("", 0)) -> None:
        self.source, self.message, self.data, self.site = source, message, message.encode(), site


@final
class Coordinator:
    """What all synchronization points of one strategy share: the group, the trace, and which warnings were given.

    checks: False compares no call sites, "paths" also what led there, "strict" raises. observer: for a recorder.
    """

    def __init__(
        self, backend: Backend, *, trace: "AnyTrace | None", checks: bool | str, wait_limit_s: float | None = None
    ) -> None:
        self.backend = backend
        self.trace = trace
        self.observer = observer_of(backend, trace)
        self.checks = checks
        self.ranks = tuple(device.rank for device in backend.local_devices)
        self.worker = backend.local_devices[0].process
        self.processes = process_count(backend.devices)
        self.compares_held = self.processes > 1 and bool(checks)
        """Whether arrays that functions hold are compared with those of other processes: see `closures.py`."""
        self.one_thread = OneThread(wait_limit_s)
        self._warned: set[tuple[str, str]] = set()
        self._shared: BaseException | None = None
        """An error that all processes have raised: no status message is needed for it."""
        self._requests, self._endings, self._ended_text = _MessageCache(), _MessageCache(), KeptText()
        self._failure: tuple[BaseException, tuple[str, ...]] | None = None
        """The last exception of a local replica, and a line on each replica for the other processes."""

    def agree(self, request: Request, site: Site, sizes: Sequence[int] = ()) -> Sizes:
        """Compares a worker's request, made outside replica functions; returns the sizes of all workers' ranks."""
        if self.trace is not None:
            self.trace.record(self.worker, request, (None,), (site,))
        if self.processes == 1:
            return tuple(sizes)
        lines = (f"worker {self.worker}: {described(request, site)}",)
        message = StatusMessage("request", fingerprint(request), lines, tuple(sizes))
        return self.one_thread.call(site, self.exchange, message, site)

    def end_run(self, function: Callable[..., Any], error: BaseException | None, exposed: int = 0) -> Sizes:
        """Sends the other processes the end of a run; raises if theirs has not ended, or has raised.

        exposed: how many variables this process has to compare. Returns the numbers of all processes. Sends nothing
        for an error that all processes have.
        """
        if self.processes == 1 or (error is not None and error is self._shared):
            return ()
        if error is None:
            text = self._ended_text.of(function)
            if self._endings.source != (text, exposed):
                lines = tuple(f"replica {rank}: returned from {text}" for rank in self.ranks)
                # The values in it may differ: a function may depend on its worker.
                message = StatusMessage("returned", function_key(function).code_fingerprint(), lines, (exposed,))
                self._endings.set((text, exposed), message)
            return self._exchange(self._endings)
        self.disconnect(error)
        return ()

    def disconnect(self, error: BaseException | None = None) -> None:
        """Sends the other processes that this one ends, and why; never raises what they reply.

        Sends nothing after an error that all processes have, until they have agreed on something again.
        """
        if self.processes == 1 or (self._shared is not None and error in (None, self._shared)):
            return
        what = "the program ended" if error is None else raised_where(error)
        lines = tuple(f"replica {rank}: {what}" for rank in self.ranks)
        if self._failure is not None and self._failure[0] is error:
            lines = self._failure[1]
        self._failure = None
        self._shared = PeerFailed(what) if error is None else error
        message = StatusMessage("left" if error is None else "failed", "", lines, ())
        with suppress(PeerFailed, BackendUnavailable):  # the connection has ended, and the others have noticed it
            self.backend.exchange(message.encode(), timeout_s=None)

    def note_failure(self, error: BaseException, lines: tuple[str, ...]) -> None:
        """Keeps which replica raised and which were waiting, for the message to the other processes."""
        if self.processes > 1:
            self._failure = (error, lines)

    def compare(self, source: tuple[Request, list[Site], Sizes], describe: Callable[[], tuple[str, ...]]) -> Sizes:
        """Compares what all local replicas request with the other processes; see `exchange`.

        describe: returns a line for each replica. It is called only where the request, its sites or sizes are new.
        """
        request, sites, sizes = source
        if isinstance(request.subject, Subject):  # what a function holds may change while the function stays
            source = (request._replace(subject=request.subject.fingerprint()), sites, sizes)
        if self._requests.source != source:
            self._requests.set(source, StatusMessage("request", fingerprint(request), describe(), sizes), sites[0])
        return self._exchange(self._requests)

    def exchange(self, message: StatusMessage, site: Site = ("", 0)) -> Sizes:
        """Sends this process's message; returns all ranks' sizes, or raises what the messages of the others report.

        site: this process's call site, for a warning.
        """
        once = _MessageCache()
        once.set(None, message, site)
        return self._exchange(once)

    def _exchange(self, cache: _MessageCache) -> Sizes:
        message = cache.message
        try:
            replies = self.backend.exchange(cache.data, timeout_s=None)
        except PeerFailed as error:
            self._shared = located(error, message.lines)
            raise self._shared from error
        if replies == cache.replies:
            self._shared = None
            return cache.sizes
        found = read_replies(replies)
        try:
            sizes = compare_messages(found.messages, self.worker) if found.sizes is None else found.sizes
            if self.checks and message.status == "request" and not found.one_site:
                self.compare_sites(found.lines, [cache.site])
        except Exception as error:
            self._shared = error
            raise
        self._shared = None
        cache.replies, cache.sizes = replies, sizes
        return sizes

    def has_warned(self, key: tuple[str, str]) -> bool:
        """Returns whether `warn_once` has warned of this."""
        return key in self._warned

    def warn_once(self, key: tuple[str, str], kind: type[Warning], text: str, site: Site) -> None:
        """Warns at a call site, once for each key; raises ReplicasDisagree where checks are strict."""
        if self.checks == "strict":
            raise ReplicasDisagree(f"{text}, or do without strict checks.")
        if key not in self._warned:
            self._warned.add(key)
            warn_at(kind(f'{text}; checks="strict" refuses it.'), site)

    def compare_sites(self, lines: Sequence[str], sites: Sequence[Site]) -> None:
        """Warns once per pair of call sites in equal requests, or raises where checks are strict.

        lines: one for each replica or worker, as they stand in a status message: who, what, where. sites: their call
        sites, or this process's alone; a warning is shown at the one that differs.
        """
        first_who, first_what, first_site = words_of(lines[0])
        for number, line in enumerate(lines):
            who, _, site = words_of(line)
            if site == first_site or (first_site, site) in self._warned:
                continue
            text = (
                f"{first_who} and {who} make the same request, {first_what}, from different lines, {first_site} and "
                f"{site}; their values are combined."
            )
            if self.checks == "strict":
                raise ReplicasDisagree(text + " Call it from one line, or do without strict checks.")
            text += ' Call it from one line; checks="strict" refuses it.'
            self._warned.add((first_site, site))
            warn_at(CallSitesDiffer(text), sites[min(number, len(sites) - 1)])


@final
class CollectiveMatcher:
    """Matches the calls of one `run`: the `match` and `failed` of its tasks."""

    __slots__ = ("_coordinator", "_function")

    def __init__(self, coordinator: Coordinator, function: Callable[..., Any]) -> None:
        self._coordinator = coordinator
        self._function = function

    def match(self, calls: list[AnyCall], order: list[int]) -> Sequence[Any]:
        """Returns the answers in task order, or raises ReplicasDisagree with one line per replica.

        calls: the plain tuples of `PendingCall`, or FINISHED.
        """
        coordinator = self._coordinator
        first = calls[0]
        if first is FINISHED:
            self._disagree(calls)
        request, _, site, resolve, size = first
        # Column by column, and counted by C: identity is compared first, and a repeated request is mostly one object.
        requests, payloads, sites, _, all_sizes = zip(*calls, strict=True)
        count = len(calls)
        if requests.count(request) != count and not all(_is_alike(request, one) for one in requests):
            self._disagree(calls)
        if sites.count(site) != count and coordinator.checks and coordinator.processes == 1:
            coordinator.compare_sites(self._lines(calls), sites)
        if coordinator.trace is not None:
            ranks = [coordinator.ranks[i] for i in order]
            coordinator.trace.record(coordinator.worker, request, ranks, [sites[i] for i in order])
        sizes: Sizes = () if size is None else all_sizes
        if coordinator.processes > 1:
            sizes = coordinator.compare((request, list(sites), sizes), lambda: self._lines(calls))
        try:
            return resolve(request, list(payloads), sizes)
        except Exception as error:  # noqa: BLE001 - raised again
            raise_located(error, request, self._lines(calls))

    def failed(self, index: int, error: BaseException, calls: list[AnyCall], order: list[int]) -> None:
        """Adds a note to a replica's exception that names the replica, the line, and which replicas were waiting."""
        ranks = self._coordinator.ranks
        raised = raised_where(error)
        waiting = {
            rank: f"was waiting in {_described(calls[i])}"
            for i, rank in enumerate(ranks)
            if i in order and calls[i] is not FINISHED
        }
        absent = [rank for i, rank in enumerate(ranks) if i != index and i not in order]
        lines = [f"  replica {rank} {text}" for rank, text in waiting.items()]
        if absent:
            lines.append(
                f"  replica{'s' if len(absent) > 1 else ''} {', '.join(map(str, absent))} had not started this call"
            )
        add_note(error, "\n".join([f"In replica {ranks[index]}: {raised_where(error, with_text=False)}", *lines]))
        status = dict.fromkeys(absent, "had not started this call") | waiting | {ranks[index]: raised}
        lines = [f"replica {rank}: {status.get(rank, 'had returned')}" for rank in ranks]
        self._coordinator.note_failure(error, tuple(lines))

    def _disagree(self, calls: list[AnyCall]) -> NoReturn:
        lines = (*self._lines(calls), *_difference(calls, self._coordinator.ranks))
        if self._coordinator.processes > 1:
            self._coordinator.exchange(StatusMessage("disagree", "", lines, ()))
        raise ReplicasDisagree(disagreement(lines))

    def _lines(self, calls: list[AnyCall]) -> tuple[str, ...]:
        texts = [
            f"returned from {function_key(self._function)}" if call is FINISHED else _described(call) for call in calls
        ]
        return tuple(f"replica {rank}: {text}" for rank, text in zip(self._coordinator.ranks, texts, strict=True))


def _is_alike(first: Request, other: Request | None) -> bool:
    """Returns whether two requests differ in nothing but objects of their structures that replicas cannot share.

    None is the request of a task that has returned.
    """
    return other is not None and (
        other == first
        or (other._replace(structure=first.structure) == first and tree.alike(first.structure, other.structure))
    )


def _difference(calls: list[AnyCall], ranks: Sequence[int]) -> tuple[str, ...]:
    """Returns a line on where the subject of a request differs from the first one's, if both read alike."""
    if any(call is FINISHED for call in calls):
        return ()
    first, *others = [PendingCall(*call).request for call in calls]
    for request, rank in zip(others, ranks[1:], strict=True):
        alike = request != first and describe_request(request) == describe_request(first)
        if alike and isinstance(first.subject, Subject) and isinstance(request.subject, Subject):
            found = first.subject.difference(request.subject)
            if found is not None:
                return (f"replicas {ranks[0]} and {rank} differ in {found}",)
    return ()


def _described(call: AnyCall) -> str:
    fields = PendingCall(*call)
    return described(fields.request, fields.site)
