"""JSON messages between a launcher, its forkserver and its workers, over anonymous sockets.

Only processes that inherit or receive an end can use them, and no message is executed as code.
"""

import json
import math
import select
import socket
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, final

__all__ = ["Channel", "Closed", "pair", "ready"]

_LENGTH_BYTES: Final = 8
_HAS_FILE: Final = 1 << 62
"""Marks the length of a message that came with a file descriptor."""


class Closed(Exception):
    """The process at the other end has ended."""


@final
class Channel:
    """One end of a connection; each message is its length in 8 bytes and a JSON value."""

    __slots__ = ("_files", "_has_file", "_socket", "_unread")

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._unread = bytearray()
        self._files: deque[int] = deque()
        """File descriptors that have come before their messages were complete."""
        self._has_file = False
        """Whether one of them belongs to the newest message."""

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: Any, *, hand: int | None = None) -> None:
        """Sends a message, and with it an open file descriptor.

        Raises Closed if the other process has ended, and TypeError for a value that JSON does not have.
        """
        data = json.dumps(message).encode()
        head = len(data).to_bytes(_LENGTH_BYTES)
        try:
            if hand is None:
                self._socket.sendall(head + data)
            else:
                head = (len(data) | _HAS_FILE).to_bytes(_LENGTH_BYTES)
                socket.send_fds(self._socket, [head], [hand])
                self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Closed from error

    def receive(self, *, within_s: float | None = None) -> tuple[Any, int | None]:
        """Waits for a message; returns it and the file descriptor that was sent with it.

        within_s: seconds, after which TimeoutError is raised; None for no limit. Raises Closed.
        """
        while (message := self._message()) is None:
            if within_s is not None and not ready([self], within_s):
                raise TimeoutError(f"It did not answer within {within_s:g} s.")
            self._read()
        return message[0], self._files.popleft() if self._has_file else None

    def poll(self) -> tuple[Any] | None:
        """Returns a message as a tuple of one, or None if none is complete, without waiting.  Raises Closed."""
        while (message := self._message()) is None:
            if not ready([self], 0.0):
                return None
            self._read()
        return message

    def drain(self) -> list[Any]:
        """Waits for data, reads it once, and returns the messages that are complete then.  Raises Closed.

        A message that came with a file descriptor is for `receive`.
        """
        self._read()
        messages = []
        while (message := self._message()) is not None:
            messages.append(message[0])
        return messages

    def close(self) -> None:
        self._socket.close()

    def _read(self) -> None:
        try:
            data, files, _, _ = socket.recv_fds(self._socket, 1 << 16, 1)
        except ConnectionResetError as error:
            raise Closed from error
        self._files.extend(files)
        if not data:
            raise Closed
        self._unread += data

    def _message(self) -> tuple[Any] | None:
        if len(self._unread) < _LENGTH_BYTES:
            return None
        length = int.from_bytes(self._unread[:_LENGTH_BYTES])
        end = _LENGTH_BYTES + (length & ~_HAS_FILE)
        if len(self._unread) < end:
            return None
        self._has_file = bool(length & _HAS_FILE)
        data = bytes(self._unread[_LENGTH_BYTES:end])
        del self._unread[:end]
        return (json.loads(data),)


def pair() -> tuple[Channel, socket.socket]:
    """Returns the two ends of a new connection: one for this process, and one for another process."""
    here, there = socket.socketpair()
    return Channel(here), there


def ready(channels: Sequence[Channel], seconds: float) -> list[Channel]:
    """Waits until a channel has data, at most `seconds`; returns the channels that have data."""
    poll = select.poll()
    for channel in channels:
        poll.register(channel, select.POLLIN)
    found = [descriptor for descriptor, _ in poll.poll(math.ceil(max(seconds, 0.0) * 1000))]
    return [channel for channel in channels if channel.fileno() in found]
