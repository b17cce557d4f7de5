"""Rendezvous at rank 0: every other rank sends it a hello, and rank 0 sends the hellos of all, or why not.

For frameworks without a store of their own. It starts no process.
"""

import json
import socket
import time
from typing import Any, Final, NamedTuple

from simstrategy.errors import BackendUnavailable, PeerFailed
from simstrategy.peers.addresses import address_towards
from simstrategy.peers.channel import ControlChannel
from simstrategy.peers.connecting import connect_all
from simstrategy.peers.handshake import HandshakeFailed, connect, new_token, read_exactly
from simstrategy.peers.hello import Hello, Opening, did_not_come, parsed, require_alike
from simstrategy.peers.listener import Listener, PeerEnded

__all__ = ["rendezvous_at_rank_0"]

_ANSWER_BYTES_MAX: Final = 1 << 20
_SIZE_BYTES: Final = 4
_ANSWER_S: Final = 1.0
"""How much longer than its own limit a process waits for the answer of rank 0, which may have begun later."""
_ANEW: Final = "Read the other processes' output and start all of them anew."
_LINGER_S: Final = 1.0
"""How long rank 0 accepts others after a failure, so that they receive the reason."""


class _Answer(NamedTuple):
    """What rank 0 sends to every process."""

    reason: str
    """Why the group cannot be made; empty where it can."""
    hellos: dict[int, Hello]

    def encode(self) -> bytes:
        hellos = [hello._asdict() for hello in self.hellos.values()]
        data = json.dumps({"reason": self.reason, "hellos": hellos}).encode()
        return len(data).to_bytes(_SIZE_BYTES) + data

    @staticmethod
    def decode(data: bytes) -> "_Answer":
        """Returns the answer.  Raises ValueError for anything else."""
        fields: Any = parsed(data)
        if not isinstance(fields, dict) or not isinstance(fields.get("reason"), str):
            raise ValueError("it is no answer")
        found = fields.get("hellos")
        hellos = [Hello.of(one) for one in found] if isinstance(found, list) else []
        return _Answer(fields["reason"], {hello.rank: hello for hello in hellos})


def rendezvous_at_rank_0(opening: Opening, host: str, port: int, secret: bytes) -> ControlChannel:
    """Returns the control channel of the group, once all processes have come to rank 0 at `host`:`port`.

    secret: the token of the rendezvous, the same in all processes. Raises BackendUnavailable where rank 0
    cannot listen or cannot be reached, InvalidArgument, in all processes that have come, where they were
    started differently, and PeerFailed, with the missing ranks.
    """
    if opening.size == 1:
        return ControlChannel(opening.backend, 0, {})
    if opening.rank == 0:
        return _receive_all(opening, host, port, secret)
    return _join(opening, host, port, secret)


def _receive_all(opening: Opening, host: str, port: int, secret: bytes) -> ControlChannel:
    """Rank 0: receives the hellos, and sends the answer to all that have come."""
    try:
        listener = Listener(host, port, secret, opening.size)
    except OSError as error:
        raise _not_reached(opening, error.strerror or str(error)) from error
    connections: dict[int, socket.socket] = {}
    surplus: list[socket.socket] = []
    try:
        hellos = {0: Hello(0, opening.settings, host, port, "")}
        reason = _collect(opening, listener, hellos, connections, surplus)
        data = _Answer(reason, hellos).encode()
        for connection in (*connections.values(), *surplus):
            _send(connection, data)
        for hello in hellos.values():
            require_alike(opening, hello)
        if reason:
            raise PeerFailed(f"{opening}: {reason}")
    except BaseException:
        for connection in connections.values():
            connection.close()
        raise
    finally:
        listener.close()
        for connection in surplus:
            connection.close()
    return ControlChannel(opening.backend, 0, connections)


def _collect(
    opening: Opening,
    listener: Listener,
    hellos: dict[int, Hello],
    connections: dict[int, socket.socket],
    surplus: list[socket.socket],
) -> str:
    """Fills `hellos` and `connections`; returns why the group cannot be made, or an empty text."""
    reason, deadline = "", opening.deadline
    while missing := [rank for rank in range(opening.size) if rank not in hellos]:
        try:
            joined = listener.accept(deadline, {} if reason else connections)
            hello = Hello.decode(joined.hello)
            if hello.rank != joined.rank or hello.rank >= opening.size:
                raise ValueError("it has two ranks, or none of this group")
        except TimeoutError:
            return reason or did_not_come(opening, missing, listener.refused)
        except PeerEnded as error:
            return reason or f"worker {error.rank} ended or lost the connection before all had come."
        except ValueError:
            joined.connection.close()
            continue
        joined.connection.setblocking(True)
        if joined.rank in hellos:
            surplus.append(joined.connection)
            return reason or (
                f"two processes came as rank {joined.rank}, and rank {', '.join(map(str, missing))} did not come to "
                f"{opening.address} so far. Start every rank from 0 to {opening.size - 1} once."
            )
        hellos[joined.rank] = hello
        connections[joined.rank] = joined.connection
        if not reason and hello.settings != opening.settings:
            # The others come soon, and all are to receive the reason.
            reason = "the processes were started differently."
            deadline = min(deadline, time.monotonic() + _LINGER_S)
    return reason


def _join(opening: Opening, host: str, port: int, secret: bytes) -> ControlChannel:
    """Another rank: sends its hello to rank 0, receives the answer, and connects to the ranks besides."""
    token = new_token()
    try:
        own = address_towards(host)
        listener = Listener(own, 0, secret + token, opening.size)
    except OSError as error:
        raise _not_reached(opening, error.strerror or str(error)) from error
    try:
        hello = Hello(opening.rank, opening.settings, own, listener.port, token.hex())
        try:
            first = connect((host, port), secret, opening.rank, opening.deadline, hello=hello.encode(), retry=True)
        except HandshakeFailed as error:
            raise _not_reached(opening, str(error)) from error
        try:
            answer = _answer_of(opening, first)
            for other in answer.hellos.values():
                require_alike(opening, other)
            if answer.reason or set(answer.hellos) != set(range(opening.size)):
                raise PeerFailed(f"{opening}: rank 0 reports: {answer.reason}")
        except BaseException:
            first.close()
            raise
        return connect_all(opening, listener, answer.hellos, secret, {0: first})
    finally:
        listener.close()


def _answer_of(opening: Opening, first: socket.socket) -> _Answer:
    """Receives the answer of rank 0.  Raises PeerFailed."""
    deadline = opening.deadline + _ANSWER_S
    try:
        size = int.from_bytes(read_exactly(first, _SIZE_BYTES, deadline))
        if size > _ANSWER_BYTES_MAX:
            raise ValueError(f"it has {size} bytes, and {_ANSWER_BYTES_MAX} are allowed")
        answer = _Answer.decode(read_exactly(first, size, deadline))
    except TimeoutError as error:
        problem = f"did not answer within {opening.timeout_s + _ANSWER_S:g} s"
        raise PeerFailed(f"{opening}: worker 0 {problem}. {_ANEW}") from error
    except OSError as error:
        raise PeerFailed(f"{opening}: worker 0 ended or lost the connection before all had come. {_ANEW}") from error
    except ValueError as error:
        raise PeerFailed(f"{opening}: worker 0 sent an invalid answer ({error}). {_ANEW}") from error
    first.settimeout(None)
    return answer


def _send(connection: socket.socket, data: bytes) -> None:
    connection.settimeout(_ANSWER_S)
    try:
        connection.sendall(data)
    except OSError:  # it has ended: the control channel reports that
        return


def _not_reached(opening: Opening, problem: str) -> BackendUnavailable:
    return BackendUnavailable(
        f"{opening}, cannot reach the others at {opening.address}: {problem}. See that rank 0 runs there, that the "
        f"address leads to it, and that no other program has the port."
    )
