"""The listening side of the handshake: accepts the processes that prove the token, and no others.

It stores at most `HELLO_BYTES_MAX` of what a connection sends, and parses none of it.
"""

import hmac
import os
import select
import socket
import time
from collections.abc import Mapping
from typing import Final, NamedTuple, final

from simstrategy.peers.handshake import (
    CLAIM_BYTES,
    MAGIC,
    NONCE_BYTES,
    RANK_BYTES,
    REFUSAL,
    SIZE_BYTES,
    left_s,
    proof,
)
from simstrategy.peers.hello import HELLO_BYTES_MAX

__all__ = ["Joined", "Listener", "PeerEnded"]

_HANDSHAKE_S: Final = 2.0
"""How long a connection may take to prove the token and to send its hello."""
_BACKLOG_MIN: Final = 128
"""Beyond its backlog a system drops connections, which then take a second longer."""
_PENDING_MAX: Final = 64
"""Connections that have not finished the handshake; beyond that the oldest one without a proof is closed."""


class PeerEnded(Exception):
    """The connection of a process that had joined has ended."""

    def __init__(self, rank: int) -> None:
        Exception.__init__(self, f"worker {rank}")
        self.rank = rank


class Joined(NamedTuple):
    """A process that has proved the token."""

    rank: int
    hello: bytes
    """At most HELLO_BYTES_MAX, not parsed."""
    connection: socket.socket


class _Refused(Exception):
    """A connection ended, or broke the protocol of the handshake."""


@final
class _Pending:
    """A connection that has not finished the handshake."""

    __slots__ = ("connection", "deadline", "is_proved", "nonce", "received")

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        connection.setblocking(False)
        self.connection = connection
        self.deadline = deadline
        self.nonce = os.urandom(NONCE_BYTES)
        self.received = bytearray()
        self.is_proved = False

    def greet(self) -> None:
        """Sends the magic number and the nonce.  Raises _Refused."""
        self._send(MAGIC + self.nonce)

    def step(self, token: bytes) -> Joined | None:
        """Reads what has arrived, and returns the process once it has joined.  Raises _Refused."""
        self._read()
        received = self.received
        if len(received) < CLAIM_BYTES:
            return None
        number = bytes(received[:RANK_BYTES])
        theirs = bytes(received[RANK_BYTES : RANK_BYTES + NONCE_BYTES])
        claimed = bytes(received[RANK_BYTES + NONCE_BYTES : CLAIM_BYTES])
        if not self.is_proved:
            self.is_proved = hmac.compare_digest(claimed, proof(token, b"connect", number, self.nonce, theirs))
        if not self.is_proved:
            self._send(REFUSAL)
            raise _Refused
        start = CLAIM_BYTES + SIZE_BYTES
        size = int.from_bytes(received[CLAIM_BYTES:start])
        if size > HELLO_BYTES_MAX or len(received) > start + size:
            raise _Refused
        if len(received) < start + size:
            return None
        self._send(proof(token, b"accept", number, self.nonce, theirs))
        return Joined(int.from_bytes(number), bytes(received[start:]), self.connection)

    def _read(self) -> None:
        try:
            data = self.connection.recv(CLAIM_BYTES + SIZE_BYTES + HELLO_BYTES_MAX + 1 - len(self.received))
        except BlockingIOError:
            return
        except OSError as error:
            raise _Refused from error
        if not data:
            raise _Refused
        self.received += data

    def _send(self, data: bytes) -> None:
        # The system takes so few bytes at once on a connection that is new.
        try:
            sent = self.connection.send(data)
        except OSError as error:
            raise _Refused from error
        if sent != len(data):
            raise _Refused


@final
class Listener:
    """Listens at one address of this machine and accepts the connections that prove the token.

    Connections that prove nothing are served beside each other, so none of them can delay the others. Where there are
    too many, the oldest is closed: a process of the group proves the token at once, and connects again where it was
    closed all the same.
    Raises OSError where it cannot listen there.
    """

    def __init__(self, host: str, port: int, token: bytes, backlog: int) -> None:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self._server = socket.create_server(address[:2], family=family, backlog=max(backlog, _BACKLOG_MIN))
        self._server.setblocking(False)
        self._token = token
        self._pending: dict[int, _Pending] = {}
        self.refused = 0
        """How many connections did not prove the token."""

    @property
    def port(self) -> int:
        port: int = self._server.getsockname()[1]
        return port

    def accept(self, deadline: float, watched: Mapping[int, socket.socket]) -> Joined:
        """Returns the next process that proves the token.

        deadline: by time.monotonic(). watched: the connections of those that have joined, by rank. Raises
        TimeoutError after the deadline, and PeerEnded where a watched connection ends.
        """
        ranks = {connection.fileno(): rank for rank, connection in watched.items()}
        while time.monotonic() < deadline:
            for descriptor in self._ready(deadline, ranks):
                if descriptor == self._server.fileno():
                    self._admit()
                elif descriptor in ranks:
                    _require_connected(ranks[descriptor], watched[ranks[descriptor]])
                else:
                    joined = self._step(descriptor)
                    if joined is not None:
                        return joined
            for descriptor, pending in list(self._pending.items()):
                if pending.deadline < time.monotonic():
                    self._refuse(descriptor)
        raise TimeoutError

    def close(self) -> None:
        """Ends the listening and the unfinished handshakes."""
        for pending in self._pending.values():
            pending.connection.close()
        self._pending.clear()
        self._server.close()

    def _ready(self, deadline: float, ranks: Mapping[int, int]) -> list[int]:
        poll = select.poll()
        # The server comes last: a proof that has arrived is read before a new connection closes the oldest.
        for descriptor in (*self._pending, *ranks, self._server.fileno()):
            poll.register(descriptor, select.POLLIN)
        until = min([deadline, *(pending.deadline for pending in self._pending.values())])
        return [descriptor for descriptor, _ in poll.poll(int(left_s(until) * 1000) + 1)]

    def _admit(self) -> None:
        try:
            connection, _ = self._server.accept()
        except OSError:  # it ended before it was accepted
            return
        if len(self._pending) >= _PENDING_MAX:
            unproved = (descriptor for descriptor, pending in self._pending.items() if not pending.is_proved)
            self._refuse(next(unproved, next(iter(self._pending))))
        descriptor = connection.fileno()
        pending = self._pending[descriptor] = _Pending(connection, time.monotonic() + _HANDSHAKE_S)
        try:
            pending.greet()
        except _Refused:
            self._refuse(descriptor)

    def _step(self, descriptor: int) -> Joined | None:
        try:
            joined = self._pending[descriptor].step(self._token)
        except _Refused:
            self._refuse(descriptor)
            return None
        if joined is not None:
            del self._pending[descriptor]
        return joined

    def _refuse(self, descriptor: int) -> None:
        self._pending.pop(descriptor).connection.close()
        self.refused += 1


def _require_connected(rank: int, connection: socket.socket) -> None:
    try:
        piece = connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return
    except OSError:
        piece = b""
    if not piece:
        raise PeerEnded(rank)
