"""Notes between processes: one connection to each, so that whoever is missing has a name.

Plain bytes over TCP; what arrives is compared and shown, never executed. No arrays travel here: XLA sends those,
and would wait for ever for a process that has ended.
"""

import select
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, final

from simstrategy.errors import BackendUnavailable, PeerFailed

__all__ = ["NAME", "Peers"]

NAME: Final = "xla_processes"
_HEAD_BYTES: Final = 8
_PIECE_BYTES: Final = 1 << 16


@final
class Peers:
    """This process's connections to all others.  lines: a connected socket for each other rank; they are owned here."""

    __slots__ = ("_arrived", "_closed", "_gone", "_lines", "_unsent", "failure", "rank", "size")

    def __init__(self, rank: int, lines: Mapping[int, socket.socket]) -> None:
        self.rank = rank
        self.size = len(lines) + 1
        self._lines = {other: lines[other] for other in sorted(lines)}
        for line in self._lines.values():
            line.setblocking(False)
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._arrived = {other: bytearray() for other in self._lines}
        self._unsent = {other: bytearray() for other in self._lines}
        self._gone: list[int] = []
        self._closed = False
        self.failure: str | None = None
        """Who was missing, once somebody was: nothing goes on after that."""

    def exchange(self, note: bytes, timeout_s: float) -> tuple[bytes, ...]:
        """Sends a note to all and returns all, in rank order.  Raises PeerFailed with the ranks that are missing."""
        if self._closed:
            raise BackendUnavailable(f"This backend {NAME!r} was closed. Start all processes anew.")
        if self.failure is not None:
            raise self.failed("exchange", self.failure)
        for unsent in self._unsent.values():
            unsent.extend(len(note).to_bytes(_HEAD_BYTES) + note)
        deadline = time.monotonic() + timeout_s
        while missing := [other for other in self._lines if self._unsent[other] or not self._has_note(other)]:
            gone = [other for other in missing if other in self._gone and not self._has_note(other)]
            left = deadline - time.monotonic()
            if gone or left <= 0:
                why = f"did not come within {timeout_s:g} s"
                self.failure = f"{_named(gone)} ended" if gone else f"{_named(missing)} {why}"
                raise self.failed("exchange", self.failure)
            self._move(left)
        return tuple([note if rank == self.rank else self._taken(rank) for rank in range(self.size)])

    def gone(self, within_s: float = 0.0) -> str | None:
        """Returns who has ended by now, or does so within some seconds, in words."""
        deadline = time.monotonic() + within_s
        self._move(0.0)
        while not self._gone and (left := deadline - time.monotonic()) > 0:
            self._move(left)
        return f"{_named(self._gone)} ended" if self._gone else None

    def failed(self, call: str, why: str) -> PeerFailed:
        """Returns the error for a call that somebody did not come to; from then on all calls fail."""
        self.failure = self.failure or why
        return PeerFailed(
            f"Backend {NAME!r}, {call} in worker {self.rank} of {self.size}: {why}. Read the other processes' output "
            f"and start all of them anew; where they only need longer, open the backend with a larger timeout_s."
        )

    def close(self) -> None:
        """Ends all connections; what was sent arrives."""
        for line in self._lines.values():
            with suppress(OSError):
                line.shutdown(socket.SHUT_WR)
            line.close()
        self._closed = True

    def _has_note(self, other: int) -> bool:
        arrived = self._arrived[other]
        return len(arrived) >= _HEAD_BYTES and len(arrived) >= _HEAD_BYTES + int.from_bytes(arrived[:_HEAD_BYTES])

    def _taken(self, other: int) -> bytes:
        arrived = self._arrived[other]
        end = _HEAD_BYTES + int.from_bytes(arrived[:_HEAD_BYTES])
        note = bytes(arrived[_HEAD_BYTES:end])
        del arrived[:end]
        return note

    def _move(self, seconds: float) -> None:
        """Waits until something comes or can go on, and moves it."""
        alive = {line: other for other, line in self._lines.items() if other not in self._gone}
        if not alive:
            return
        blocked = [line for line, other in alive.items() if self._unsent[other]]
        readable, writable, _ = select.select([*alive], blocked, [], seconds)
        for line in writable:
            unsent = self._unsent[alive[line]]
            try:
                del unsent[: line.send(unsent)]
            except BlockingIOError:
                pass
            except OSError:
                unsent.clear()  # it has ended: reading tells, after what it still said
        for line in readable:
            try:
                data = line.recv(_PIECE_BYTES)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            if not data:
                self._gone.append(alive[line])
                self._unsent[alive[line]].clear()
            self._arrived[alive[line]] += data


def _named(ranks: list[int]) -> str:
    return f"worker{'s' if len(ranks) > 1 else ''} {', '.join(map(str, sorted(ranks)))}"
