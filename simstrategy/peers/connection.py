"""One connection of a control channel: frames messages, limits their size, never blocks.

A message is its kind (1 byte), its length (8 bytes) and its data. This file executes nothing of the data.
"""

import socket
from contextlib import suppress
from typing import Final, final

__all__ = ["FAULT", "FAULT_BYTES_MAX", "NOTE", "NOTE_BYTES_MAX", "Connection", "framed"]

NOTE: Final = b"n"
FAULT: Final = b"f"
NOTE_BYTES_MAX: Final = 1 << 26
FAULT_BYTES_MAX: Final = 1 << 16
_BYTES_MAX: Final = {NOTE: NOTE_BYTES_MAX, FAULT: FAULT_BYTES_MAX}
_HEAD_BYTES: Final = 9
_PIECE_BYTES: Final = 1 << 14
_NOTES_MAX: Final = 2
"""A process that has received all notes of one exchange may begin the next one, and not the one after it."""


def framed(kind: bytes, data: bytes) -> bytes:
    """Returns a message as it is sent."""
    return kind + len(data).to_bytes(_HEAD_BYTES - 1) + data


@final
class Connection:
    """The connection to one other process: its socket, the bytes that arrived, and the bytes not yet sent."""

    __slots__ = ("_received", "fault", "has_ended", "notes", "socket", "unsent", "violation")

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        if connected.family in (socket.AF_INET, socket.AF_INET6):
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = connected
        self.unsent = bytearray()
        self._received = bytearray()
        self.notes: list[bytes] = []
        """Received and not yet returned, in order."""
        self.fault: bytes | None = None
        """The first fault that the other process reported; empty where it answered a probe and reported none."""
        self.violation: str | None = None
        """What was wrong with a message.  Nothing is read after it."""
        self.has_ended = False
        """Whether nothing more will arrive."""

    def queue(self, message: bytes) -> None:
        """Sends what `framed` returned as far as possible now, and keeps the rest in `unsent`."""
        self.unsent += message
        self.send()

    def send(self) -> None:
        """Sends the rest as far as possible now."""
        try:
            while self.unsent and not self.has_ended:
                del self.unsent[: self.socket.send(self.unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self.unsent.clear()  # a fault that the other process sent before it ended may still arrive

    def receive(self) -> None:
        """Reads what has arrived.  At the end of the stream, and after a violation, the connection has ended."""
        try:
            data = self.socket.recv(_PIECE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.has_ended = True
            return
        received = self._received
        received += data
        while len(received) >= _HEAD_BYTES:
            kind, size = bytes(received[:1]), int.from_bytes(received[1:_HEAD_BYTES])
            if not self._is_allowed(kind, size):
                self.has_ended = True
                received.clear()
                return
            if len(received) < _HEAD_BYTES + size:
                return
            message = bytes(received[_HEAD_BYTES : _HEAD_BYTES + size])
            del received[: _HEAD_BYTES + size]
            if kind == NOTE:
                self.notes.append(message)
            else:
                self.fault = self.fault or message

    def close(self) -> None:
        """Ends the connection.  What the system has accepted for sending arrives."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)
            # A socket that is closed with unread data drops what is not yet delivered.
            while not self.has_ended and self.socket.recv(_PIECE_BYTES):
                pass
        self.socket.close()

    def _is_allowed(self, kind: bytes, size: int) -> bool:
        """Compares a message with the limits before its data is stored."""
        limit = _BYTES_MAX.get(kind)
        if limit is None:
            self.violation = "sent a message of an unknown kind"
        elif size > limit:
            self.violation = f"sent a message of {size} bytes, and {limit} are allowed"
        elif kind == NOTE and len(self.notes) >= _NOTES_MAX:
            self.violation = "sent a note too many"
        return self.violation is None
