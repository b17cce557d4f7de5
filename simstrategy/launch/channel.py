"""JSON messages between a launcher, its forkserver and its workers, over sockets that have no name.

Nobody but the processes that were handed an end can reach them, and nothing that arrives is executed.
"""

import json
import math
import select
import socket
from collections.abc import Sequence
from typing import Any, Final, final

__all__ = ["Channel", "Closed", "pair", "ready"]

_LENGTH_BYTES: Final = 8


class Closed(Exception):
    """The process at the other end has ended."""


@final
class Channel:
    """One end; each message is a JSON value, after its length."""

    __slots__ = ("_socket", "_unread")

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._unread = bytearray()

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: Any, *, hand: int | None = None) -> None:
        """Sends a message, and with it an open file.  Raises Closed; TypeError where JSON has no such value."""
        data = json.dumps(message).encode()
        head = len(data).to_bytes(_LENGTH_BYTES)
        try:
            if hand is None:
                self._socket.sendall(head)
            else:
                socket.send_fds(self._socket, [head], [hand])
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Closed from error

    def receive(self) -> tuple[Any, int | None]:
        """Waits for a message; returns it and the open file that came with it.  Raises Closed."""
        handed: list[int] = []
        while (message := self._message()) is None:
            self._read(handed)
        return message[0], handed[0] if handed else None

    def poll(self) -> tuple[Any] | None:
        """Returns a message if a whole one has come, without waiting.  Raises Closed."""
        while (message := self._message()) is None:
            if not ready([self], 0.0):
                return None
            self._read([])
        return message

    def close(self) -> None:
        self._socket.close()

    def _read(self, handed: list[int]) -> None:
        try:
            data, files, _, _ = socket.recv_fds(self._socket, 1 << 16, 1)
        except ConnectionResetError as error:
            raise Closed from error
        handed.extend(files)
        if not data:
            raise Closed
        self._unread += data

    def _message(self) -> tuple[Any] | None:
        if len(self._unread) < _LENGTH_BYTES:
            return None
        end = _LENGTH_BYTES + int.from_bytes(self._unread[:_LENGTH_BYTES])
        if len(self._unread) < end:
            return None
        data = bytes(self._unread[_LENGTH_BYTES:end])
        del self._unread[:end]
        return (json.loads(data),)


def pair() -> tuple[Channel, socket.socket]:
    """Returns two ends: one to keep, and one to hand on."""
    kept, given = socket.socketpair()
    return Channel(kept), given


def ready(channels: Sequence[Channel], seconds: float) -> list[Channel]:
    """Waits until something has come, or seconds are over; returns the channels where something has."""
    poll = select.poll()
    for channel in channels:
        poll.register(channel, select.POLLIN)
    found = [descriptor for descriptor, _ in poll.poll(math.ceil(max(seconds, 0.0) * 1000))]
    return [channel for channel in channels if channel.fileno() in found]
