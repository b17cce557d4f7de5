"""Connects every process of a group to every other one, once all hellos are known."""

import socket
import time
from collections.abc import Mapping
from typing import Final

from simstrategy.errors import PeerFailed
from simstrategy.peers.channel import ControlChannel
from simstrategy.peers.handshake import HandshakeFailed, connect
from simstrategy.peers.hello import Hello, Opening, did_not_come, unreachable
from simstrategy.peers.listener import Listener, PeerEnded

__all__ = ["connect_all"]

_CONNECT_S: Final = 1.0
"""The least time for the connections: the last hello may have come at the very end of the opening's time."""


def connect_all(
    opening: Opening,
    listener: Listener,
    hellos: Mapping[int, Hello],
    secret: bytes,
    connections: dict[int, socket.socket] | None = None,
) -> ControlChannel:
    """Returns the control channel of the group: connects to all lower ranks, and accepts all higher ones.

    listener: of this process, with the token `secret` + the token of its hello. hellos: of all ranks to connect.
    connections: those that exist already; they are closed if the others cannot be made. Raises PeerFailed.
    """
    made = {} if connections is None else connections
    deadline = max(opening.deadline, time.monotonic() + _CONNECT_S)
    try:
        for rank in range(opening.rank):
            if rank not in made:
                made[rank] = _connected(opening, hellos[rank], secret, deadline)
        _accept_higher(opening, listener, made, deadline)
    except BaseException:
        for connection in made.values():
            connection.close()
        raise
    return ControlChannel(opening.backend, opening.rank, made)


def _connected(opening: Opening, hello: Hello, secret: bytes, deadline: float) -> socket.socket:
    token = secret + bytes.fromhex(hello.token)
    try:
        return connect((hello.host, hello.port), token, opening.rank, deadline)
    except HandshakeFailed as error:
        raise unreachable(opening, hello.rank, f"{hello.host}:{hello.port}", error) from error


def _accept_higher(opening: Opening, listener: Listener, made: dict[int, socket.socket], deadline: float) -> None:
    while missing := [rank for rank in range(opening.rank + 1, opening.size) if rank not in made]:
        try:
            joined = listener.accept(deadline, made)
        except TimeoutError as error:
            raise PeerFailed(f"{opening}: {did_not_come(opening, missing, listener.refused)}") from error
        except PeerEnded as error:
            raise PeerFailed(f"{opening}: worker {error.rank} ended or lost the connection.") from error
        if joined.rank in missing:
            made[joined.rank] = joined.connection
        else:
            joined.connection.close()
