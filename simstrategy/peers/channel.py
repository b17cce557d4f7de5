"""The control channel: one connection to each other process, for small notes and for faults.

Every process sends each note to every other one, so a missing process has a rank. The first process that
finds a fault sends it to all others before it raises: all of them name the same ranks and the same reason.
Only bytes travel; tensors do not.
"""

import math
import os
import select
import socket
import time
from collections.abc import Iterable, Mapping
from typing import Final, final

from simstrategy.errors import BackendUnavailable, InvalidArgument, PeerFailed
from simstrategy.peers.connection import FAULT, NOTE, NOTE_BYTES_MAX, Connection, framed
from simstrategy.peers.fault import Fault, known_fault, workers

__all__ = ["ControlChannel"]

_SPIN_S: Final = 0.00005
"""Notes mostly arrive at nearly the same time, and a thread that sleeps takes longer than this to wake up."""
_PROBE_S: Final = 1.0
"""How long the other processes may take to answer a probe."""


@final
class ControlChannel:
    """This process's connections to all other processes of a group.

    backend: its name, for messages. rank: of this process. connections: a connected socket for each other
    rank; the channel closes them. After a fault every call raises PeerFailed with the same reason.
    """

    __slots__ = ("_backend", "_connections", "_is_closed", "_poll", "_ranks", "failure", "rank", "size")

    def __init__(self, backend: str, rank: int, connections: Mapping[int, socket.socket]) -> None:
        self.rank = rank
        self.size = len(connections) + 1
        self.failure: str | None = None
        """The reason of the fault, once there was one."""
        self._backend = backend
        self._is_closed = False
        self._connections = {other: Connection(connections[other]) for other in sorted(connections)}
        self._ranks = {one.socket.fileno(): other for other, one in self._connections.items()}
        self._poll = select.poll()
        for descriptor in self._ranks:
            self._poll.register(descriptor, select.POLLIN)

    def exchange(self, note: bytes, timeout_s: float) -> tuple[bytes, ...]:
        """Sends a note to all processes and returns the notes of all, in rank order.

        timeout_s: seconds until the missing processes count as failed. Raises PeerFailed with the ranks that
        are missing, BackendUnavailable after `close`, InvalidArgument for a note above 64 MiB.
        """
        self.require_alive("exchange")
        if len(note) > NOTE_BYTES_MAX:
            raise InvalidArgument(
                f"A note has at most {NOTE_BYTES_MAX} bytes, got {len(note)}. Send large values with a collective."
            )
        try:
            message = framed(NOTE, note)
            for connection in self._connections.values():
                connection.queue(message)
            fault = self._await_notes(time.monotonic() + timeout_s, timeout_s)
        except BaseException as error:
            self.report_fault(f"worker {self.rank} was interrupted by {type(error).__name__}", (self.rank,))
            raise
        if fault is not None:
            self.report_fault(fault.reason, fault.ranks)
            raise self.peer_failed("exchange", fault.reason)
        notes = [connection.notes.pop(0) for connection in self._connections.values()]
        notes.insert(self.rank, note)
        return tuple(notes)

    def require_alive(self, call: str) -> None:
        """Raises BackendUnavailable after `close`, and PeerFailed after a fault.  call: its name, for the message."""
        if self.failure is not None:
            raise self.peer_failed(call, self.failure)
        if self._is_closed:
            raise BackendUnavailable(f"This backend {self._backend!r} was closed. Open another one in every process.")

    def require_no_fault(self, call: str) -> None:
        """Does the same as `require_alive`, and raises PeerFailed also for a fault that has arrived by now."""
        self.require_alive(call)
        self._wait(0.0)
        fault = known_fault(self._connections)
        if fault is not None:
            self.report_fault(fault.reason, fault.ranks)
            raise self.peer_failed(call, fault.reason)

    def probe_peers(self, call: str, problem: str) -> str:
        """Finds the cause after a call of the framework failed, and reports it; returns it in words.

        call: its name. problem: what the framework reported. Waits up to 1 s for the other processes' answers.
        """
        if self.failure is not None:
            return self.failure
        for connection in self._connections.values():
            connection.queue(framed(FAULT, b""))
        deadline = time.monotonic() + _PROBE_S
        while (fault := known_fault(self._connections)) is None and time.monotonic() < deadline:
            if all(connection.fault is not None for connection in self._connections.values()):
                break
            self._wait(deadline - time.monotonic())
        if fault is None:
            silent = [rank for rank, one in self._connections.items() if one.fault is None]
            fault = Fault(tuple(silent), f"{workers(silent)} did not answer" if silent else "all processes answered")
        # A fault that another process reported may name the call already.
        reason = fault.reason if call in fault.reason else f"{fault.reason}; {call} ended with: {problem}"
        self.report_fault(reason, fault.ranks)
        return reason

    def find_fault(self) -> str | None:
        """Returns the reason of a fault that is known by now, else None.  Does not wait."""
        if self.failure is None:
            self._wait(0.0)
            fault = known_fault(self._connections)
            return None if fault is None else fault.reason
        return self.failure

    def report_fault(self, reason: str, ranks: Iterable[int]) -> None:
        """Ends the use of the channel and sends the fault to every process that is still connected.

        ranks: the processes that caused it. Does nothing after an earlier fault.
        """
        if self.failure is not None:
            return
        self.failure = reason
        message = framed(FAULT, Fault(tuple(ranks), reason).encode())
        for connection in self._connections.values():
            connection.queue(message)

    def peer_failed(self, call: str, reason: str) -> PeerFailed:
        """Returns the error of a call that other processes made impossible."""
        return PeerFailed(
            f"Backend {self._backend!r}, {call} in worker {self.rank} of {self.size}: {reason}. Read the other "
            f"processes' output and start all of them anew; where they only need longer, open the backend with a "
            f"larger timeout_s."
        )

    def close(self) -> None:
        """Ends all connections.  What was sent arrives.  May be repeated."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self._poll = select.poll()  # a closed socket would be ready for ever
        self._is_closed = True

    def _await_notes(self, deadline: float, timeout_s: float) -> Fault | None:
        while True:
            missing = [rank for rank, one in self._connections.items() if not one.notes or one.unsent]
            if not missing:
                return None  # a fault that arrived after the notes fails the next exchange
            fault = known_fault(self._connections)
            if fault is not None:
                return fault
            left = deadline - time.monotonic()
            if left <= 0:
                return Fault(tuple(missing), f"{workers(missing)} did not come within {timeout_s:g} s")
            self._wait(left)

    def _wait(self, seconds: float) -> None:
        """Waits until data arrives or can be sent, at most so long, and receives and sends it."""
        blocked = [one for one in self._connections.values() if one.unsent and not one.has_ended]
        for connection in blocked:
            self._poll.modify(connection.socket, select.POLLIN | select.POLLOUT)
        for descriptor, _ in self._events(seconds):
            connection = self._connections[self._ranks[descriptor]]
            connection.receive()
            if connection.has_ended:
                connection.unsent.clear()
                self._poll.unregister(descriptor)
        for connection in blocked:
            connection.send()
            if not connection.has_ended:
                self._poll.modify(connection.socket, select.POLLIN)

    def _events(self, seconds: float) -> list[tuple[int, int]]:
        """Returns the sockets that are ready, after at most so long; polls for 50 µs before it sleeps."""
        spinning = time.monotonic() + min(seconds, _SPIN_S)
        while not (found := self._poll.poll(0)) and time.monotonic() < spinning:
            os.sched_yield()
        return found or self._poll.poll(math.ceil(max(seconds, 0.0) * 1000))
