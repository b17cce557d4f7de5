"""How processes get to know each other: each says who it is and where it listens, then all connect to all.

It says at once what does not fit: another number of processes, of replicas, another backend. What is heard
is parsed as JSON and never executed; who cannot name what was agreed on is not let in.
"""

import json
import os
import socket
import time
from contextlib import suppress
from typing import Any, Final, NamedTuple

from simstrategy.errors import InvalidArgument, PeerFailed
from simstrategy_torch.environment import Place
from simstrategy_torch.mesh import Mesh

__all__ = ["LINGER_S", "Opening", "introduce"]

_PAUSE_S: Final = 0.0005
_PAUSE_S_MAX: Final = 0.05
_TOKEN_BYTES: Final = 16
_GREETING_BYTES: Final = _TOKEN_BYTES + 4
_GREETING_S: Final = 1.0
LINGER_S: Final = 1.0
"""How long rank 0, at whom all meet, stays where nobody can agree: the others are to hear why."""


class Opening(NamedTuple):
    """What one process opens, and until when it waits for the others."""

    name: str
    place: Place
    replicas: int
    folded_bytes_max: int
    timeout_s: float
    deadline: float
    """By time.monotonic()."""

    @property
    def left_s(self) -> float:
        """Seconds to the deadline; never 0, which sockets and stores take for something else."""
        return max(self.deadline - time.monotonic(), 0.001)

    def __str__(self) -> str:
        return f"The backend {self.name!r}, open in worker {self.place.rank} of {self.place.size}"


class _Person(NamedTuple):
    """What a process says of itself."""

    name: str
    size: int
    replicas: int
    folded_bytes_max: int
    host: str
    port: int
    token: str


def introduce(store: Any, opening: Opening, address: str) -> Mesh:
    """Meets all others at a store and returns connections to them.

    address: of this machine, where the others reach it. Raises InvalidArgument, in all processes that have
    come, where they were started differently, and PeerFailed, with the missing ranks.
    """
    place = opening.place
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as door:
        door.bind((address, 0))
        door.listen(place.size)
        token = os.urandom(_TOKEN_BYTES)
        port = door.getsockname()[1]
        me = _Person(opening.name, place.size, opening.replicas, opening.folded_bytes_max, address, port, token.hex())
        store.set(f"here/{place.rank}", json.dumps(me))
        try:
            people = _others(store, opening, me)
        except (PeerFailed, InvalidArgument) as error:
            if place.rank == 0 and not place.file:
                store.set("failed", str(error))
                time.sleep(LINGER_S)
            raise
        lines: dict[int, socket.socket] = {}
        try:
            for rank in range(place.rank):
                lines[rank] = _call_on(people[rank], rank, opening)
            while len(lines) < place.size - 1:
                _let_in(door, token, opening, lines)
        except BaseException:
            for line in lines.values():
                line.close()
            raise
    for line in lines.values():
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Mesh(place.rank, lines)


def _others(store: Any, opening: Opening, me: _Person) -> dict[int, _Person]:
    """Returns who all are, as soon as all have come."""
    place = opening.place
    people: dict[int, _Person] = {}
    pause = _PAUSE_S
    while True:
        for rank in range(place.size):
            if rank not in people and store.check([f"here/{rank}"]):
                people[rank] = _Person(*json.loads(store.get(f"here/{rank}")))
                _require_alike(opening, me, rank, people[rank])
        missing = [rank for rank in range(place.size) if rank not in people]
        if not missing:
            return people
        if store.check(["failed"]):
            raise PeerFailed(f"{opening}: rank 0 gave up. It says: {store.get('failed').decode()}")
        if time.monotonic() > opening.deadline:
            raise _not_come(opening, missing)
        time.sleep(pause := min(2 * pause, _PAUSE_S_MAX))  # a store's own waiting tells everybody of its time-outs


def _require_alike(opening: Opening, me: _Person, rank: int, other: _Person) -> None:
    for what, mine, theirs in (
        ("backends", me.name, other.name),
        ("a different world_size", me.size, other.size),
        ("different numbers of replicas", me.replicas, other.replicas),
        ("a different folded_bytes_max", me.folded_bytes_max, other.folded_bytes_max),
    ):
        if mine != theirs:
            raise InvalidArgument(
                f"{opening}: the processes were started with {what}: {mine} here and {theirs} in worker {rank}. Give "
                f"each of them the same."
            )


def _not_come(opening: Opening, missing: list[int]) -> PeerFailed:
    place, many = opening.place, "s" if len(missing) > 1 else ""
    return PeerFailed(
        f"{opening}: rank{many} {', '.join(map(str, missing))} did not come to {place} within {opening.timeout_s:g} s. "
        f"Start every rank from 0 to {place.size - 1} once, or give a larger timeout_s; a file at which an earlier, "
        f"failed run met has to be removed."
    )


def _call_on(person: _Person, rank: int, opening: Opening) -> socket.socket:
    try:
        line = socket.create_connection((person.host, person.port), timeout=opening.left_s)
        line.sendall(bytes.fromhex(person.token) + opening.place.rank.to_bytes(_GREETING_BYTES - _TOKEN_BYTES))
    except OSError as error:
        raise PeerFailed(
            f"{opening}: worker {rank} cannot be reached at {person.host}:{person.port} ({error}). See that it still "
            f"runs and that the machines can reach each other there; GLOO_SOCKET_IFNAME names the interface to use."
        ) from error
    return line


def _let_in(door: socket.socket, token: bytes, opening: Opening, lines: dict[int, socket.socket]) -> None:
    """Waits for somebody, and adds the line if it is one of those who have yet to come."""
    place = opening.place
    door.settimeout(opening.left_s)
    try:
        line, _ = door.accept()
    except TimeoutError as error:
        missing = [rank for rank in range(place.rank + 1, place.size) if rank not in lines]
        raise _not_come(opening, missing) from error
    greeting = b""
    line.settimeout(_GREETING_S)
    with suppress(OSError):
        while len(greeting) < _GREETING_BYTES and (piece := line.recv(_GREETING_BYTES - len(greeting))):
            greeting += piece
    rank = int.from_bytes(greeting[_TOKEN_BYTES:])
    known = len(greeting) == _GREETING_BYTES and greeting[:_TOKEN_BYTES] == token
    if known and place.rank < rank < place.size and rank not in lines:
        lines[rank] = line
    else:
        line.close()
