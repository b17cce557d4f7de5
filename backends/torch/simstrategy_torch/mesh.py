"""Notes between processes: one connection to each, so that whoever is missing has a name.

Plain bytes over TCP; what arrives is compared and shown, never executed. No tensors travel here, and no
process is found or started.
"""

import math
import os
import select
import socket
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple, final

from simstrategy.errors import PeerFailed

__all__ = ["CLOSED", "Mesh"]

CLOSED: Final = "the backend was closed"
"""What a mesh says that was closed, and did not fail."""
_NOTE: Final = b"n"
_FAULT: Final = b"f"
_HEAD_BYTES: Final = 9
"""What it is, then the length of what follows."""
_PIECE_BYTES: Final = 1 << 14
_SPIN_S: Final = 0.00005
"""Others mostly come at nearly the same time, and to be woken takes longer than this."""
_ROLL_CALL_S: Final = 1.0
"""How long the others get to say that they are alive, once something failed."""


class _Absent(NamedTuple):
    """Who is missing, and why, in words."""

    ranks: tuple[int, ...]
    why: str


@final
class _Peer:
    """The connection to one other process, and what has come of it or has yet to go."""

    __slots__ = ("arrived", "gone", "line", "notes", "told", "unsent")

    def __init__(self, line: socket.socket) -> None:
        line.setblocking(False)
        self.line = line
        self.unsent = bytearray()
        self.arrived = bytearray()
        self.notes: list[bytes] = []
        """At most two: who has all notes of one exchange may begin the next."""
        self.told: bytes | None = None
        """Why it goes no further, once it has said so."""
        self.gone = False

    def post(self, kind: bytes, data: bytes) -> None:
        """Sends a message, as far as it goes at once."""
        self.pass_on(_message(kind, data))

    def pass_on(self, message: bytes) -> None:
        """Sends what `_message` returned, as far as it goes at once."""
        self.unsent += message
        self.send()

    def send(self) -> None:
        try:
            while self.unsent and not self.gone:
                del self.unsent[: self.line.send(self.unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self.unsent.clear()  # it may have said why before it went: `receive` tells

    def receive(self) -> None:
        """Takes in what has come.  At the end of the stream the peer is gone."""
        try:
            data = self.line.recv(_PIECE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.gone = True
            return
        self.arrived += data
        while len(self.arrived) >= _HEAD_BYTES:
            end = _HEAD_BYTES + int.from_bytes(self.arrived[1:_HEAD_BYTES])
            if len(self.arrived) < end:
                return
            message = bytes(self.arrived[_HEAD_BYTES:end])
            if self.arrived[:1] == _NOTE:
                self.notes.append(message)
            else:
                self.told = message
            del self.arrived[:end]


@final
class Mesh:
    """This process's connections to all others.

    lines: a connected socket for each other rank; the mesh owns them. After a failure it only tells of it.
    """

    __slots__ = ("_peers", "_poll", "_ranks", "_size", "failure", "rank")

    def __init__(self, rank: int, lines: Mapping[int, socket.socket]) -> None:
        self.rank = rank
        self._size = len(lines) + 1
        self._peers = {other: _Peer(lines[other]) for other in sorted(lines)}
        self._ranks = {peer.line.fileno(): other for other, peer in self._peers.items()}
        self._poll = select.poll()
        for descriptor in self._ranks:
            self._poll.register(descriptor, select.POLLIN)
        self.failure: str | None = None
        """Who was missing and why, once it happened."""

    def exchange(self, note: bytes, timeout_s: float) -> tuple[bytes, ...]:
        """Sends a note to all and returns all, in rank order.  Raises PeerFailed, with the ranks that are missing."""
        if self.failure is not None:
            raise PeerFailed(self.failure)
        try:
            message = _message(_NOTE, note)
            for peer in self._peers.values():
                peer.pass_on(message)
            absent = self._await_notes(time.monotonic() + timeout_s, timeout_s)
        except BaseException as error:
            self.fail(f"worker {self.rank} was interrupted by {type(error).__name__}", (self.rank,))
            raise
        if absent is not None:
            self.fail(absent.why, absent.ranks)
            raise PeerFailed(absent.why)
        notes = [peer.notes.pop(0) for peer in self._peers.values()]
        notes.insert(self.rank, note)
        return tuple(notes)

    def roll_call(self, what: str) -> str:
        """Finds out who is missing after a call failed; returns it in words, with all that is known.

        what: the call, and what is known of its failure.
        """
        if self.failure is not None:
            return self.failure
        for peer in self._peers.values():
            peer.post(_FAULT, b"")
        deadline = time.monotonic() + _ROLL_CALL_S
        while (absent := self._gone()) is None and time.monotonic() < deadline:
            silent = [rank for rank, peer in self._peers.items() if peer.told is None]
            if not silent:
                break
            self._wait(deadline - time.monotonic())
        if absent is None:
            silent = [rank for rank, peer in self._peers.items() if peer.told is None]
            why = f"{_named(silent)} did not answer" if silent else "all processes answered"
            absent = _Absent(tuple(silent), why)
        # What another found out already says which call it was.
        why = absent.why if what.partition(" ")[0] in absent.why else f"{absent.why}; {what}"
        self.fail(why, absent.ranks)
        return why

    def look(self) -> str | None:
        """Returns who is missing and why, if that is known by now; does not wait."""
        self._wait(0.0)
        absent = self._gone()
        return None if absent is None else absent.why

    def fail(self, why: str, ranks: Iterable[int]) -> None:
        """Tells all others, as far as they hear it, that this process goes no further, and who is to blame."""
        self.failure = why
        # Told at second hand, it is to read the same.
        data = f"{','.join(map(str, ranks))}:{why}".encode()
        for peer in self._peers.values():
            peer.post(_FAULT, data)

    def close(self) -> None:
        """Ends all connections.  What was sent arrives."""
        for peer in self._peers.values():
            # Closed with something unread, a connection drops what it has not yet delivered.
            with suppress(OSError):
                peer.line.shutdown(socket.SHUT_WR)
                while not peer.gone and peer.line.recv(_PIECE_BYTES):
                    pass
            peer.line.close()
        self._peers.clear()
        self.failure = self.failure or CLOSED

    def _await_notes(self, deadline: float, timeout_s: float) -> _Absent | None:
        while True:
            missing = [rank for rank, peer in self._peers.items() if not peer.notes or peer.unsent]
            if not missing:
                return None  # whatever became of anybody since: it is the next exchange's
            absent = self._gone()
            if absent is not None:
                return absent
            left = deadline - time.monotonic()
            if left <= 0:
                return _Absent(tuple(missing), f"{_named(missing)} did not come within {timeout_s:g} s")
            self._wait(left)

    def _gone(self) -> _Absent | None:
        """Returns who is known to be missing by now: as another process tells it, or because its connection ended."""
        for rank, peer in self._peers.items():
            if peer.told:
                ranks, colon, why = peer.told.decode(errors="replace").partition(":")
                if not colon:
                    return _Absent((rank,), f"worker {rank} sent what is no note")
                return _Absent(tuple(int(one) for one in ranks.split(",") if one.isdecimal()), why)
        gone = [rank for rank, peer in self._peers.items() if peer.gone and not peer.notes]
        if gone:
            return _Absent(tuple(gone), f"{_named(gone)} ended or lost the connection")
        return None

    def _wait(self, seconds: float) -> None:
        """Waits until something comes or can go on, and takes it in."""
        blocked = [peer for peer in self._peers.values() if peer.unsent and not peer.gone]
        for peer in blocked:
            self._poll.modify(peer.line, select.POLLIN | select.POLLOUT)
        for descriptor, _ in self._events(seconds):
            peer = self._peers[self._ranks[descriptor]]
            peer.receive()
            if peer.gone:
                peer.unsent.clear()
                self._poll.unregister(descriptor)
        for peer in blocked:
            peer.send()
            if not peer.gone:
                self._poll.modify(peer.line, select.POLLIN)

    def _events(self, seconds: float) -> list[tuple[int, int]]:
        """Returns what has come or can go on, after at most so long; looks a while before it sleeps."""
        looking = time.monotonic() + min(seconds, _SPIN_S)
        while not (found := self._poll.poll(0)) and time.monotonic() < looking:
            os.sched_yield()
        return found or self._poll.poll(math.ceil(max(seconds, 0.0) * 1000))


def _message(kind: bytes, data: bytes) -> bytes:
    return kind + len(data).to_bytes(_HEAD_BYTES - 1) + data


def _named(ranks: list[int]) -> str:
    return f"worker{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
