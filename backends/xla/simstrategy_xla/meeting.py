"""How processes find each other before JAX does: rank 0 listens, the others come, and each connects to each.

What is sent is JSON, and nothing of it is ever executed. It starts no process, and JAX knows nothing of it: JAX
would end a process whose peers do not come.
"""

import json
import socket
import time
from typing import Any, Final, NamedTuple

from simstrategy.errors import BackendUnavailable, PeerFailed
from simstrategy_xla.peers import NAME, Peers

__all__ = ["LOOPBACK", "Place", "free_port", "meet", "own_address"]

LOOPBACK: Final = "127.0.0.1"
_LINE_BYTES_MAX: Final = 1 << 16
_RETRY_S: Final = 0.02
_STRANGER_S: Final = 2.0
"""How long one who has connected gets to say who it is."""


class Place(NamedTuple):
    """Which process this is among how many, and where rank 0 listens."""

    rank: int
    size: int
    host: str
    port: int


def meet(place: Place, timeout_s: float) -> Peers:
    """Returns connections to all others.  Raises PeerFailed with those that are missing, BackendUnavailable."""
    deadline = time.monotonic() + timeout_s
    lines: dict[int, socket.socket] = {}
    try:
        if place.rank == 0:
            _receive_all(place, lines, deadline)
        else:
            _come(place, lines, deadline)
    except (OSError, ValueError) as error:
        for line in lines.values():
            line.close()
        missing = [str(one) for one in range(place.size) if one != place.rank and one not in lines]
        if place.rank and 0 not in lines:
            missing = ["0"]
        raise PeerFailed(
            f"Backend {NAME!r}, opening in worker {place.rank} of {place.size}: worker{'s' * (len(missing) > 1)} "
            f"{', '.join(missing)} did not come to {place.host}:{place.port} within {timeout_s:g} s. Read the other "
            f"processes' output and start all of them anew; where they only need longer, open the backend with a "
            f"larger timeout_s."
        ) from error
    return Peers(place.rank, lines)


def _receive_all(place: Place, lines: dict[int, socket.socket], deadline: float) -> None:
    """Rank 0: takes everybody's address, and tells all of them to everybody."""
    try:
        server = socket.create_server((place.host, place.port), backlog=place.size)
    except OSError as error:
        raise BackendUnavailable(
            f"The backend {NAME!r} cannot listen at {place.host}:{place.port}: {error.strerror}. Choose another port "
            f"for all processes."
        ) from error
    addresses: dict[int, Any] = {}
    with server:
        while len(lines) < place.size - 1:
            line, said = _accepted(server, deadline)
            rank, address = said if isinstance(said, list) and len(said) == len(("rank", "address")) else (0, None)
            if not isinstance(rank, int) or rank not in range(1, place.size) or rank in lines:
                line.close()  # another program's
                continue
            lines[rank] = line
            addresses[rank] = address
    for line in lines.values():
        _write(line, sorted(addresses.items()))


def _come(place: Place, lines: dict[int, socket.socket], deadline: float) -> None:
    """Another rank: comes to rank 0, and connects to those before it; those after it come by themselves."""
    first = _connected(place.host, place.port, deadline)
    with socket.create_server((own_address(place.host), 0), backlog=place.size) as server:
        _write(first, [place.rank, server.getsockname()[:2]])
        addresses = dict(_read(first, deadline))
        lines[0] = first
        for other in range(1, place.rank):
            host, port = addresses[other]
            lines[other] = _connected(host, port, deadline)
            _write(lines[other], place.rank)
        while len(lines) < place.size - 1:
            line, rank = _accepted(server, deadline)
            if rank not in range(place.rank + 1, place.size) or rank in lines:
                line.close()
                continue
            lines[rank] = line


def _accepted(server: socket.socket, deadline: float) -> tuple[socket.socket, Any]:
    """Returns the next connection and what it says first: None where that is no line of ours."""
    server.settimeout(_left(deadline))
    line, _ = server.accept()
    try:
        return line, _read(line, min(deadline, time.monotonic() + _STRANGER_S))
    except (OSError, ValueError):
        return line, None


def _connected(host: str, port: int, deadline: float) -> socket.socket:
    while True:
        try:
            return socket.create_connection((host, port), timeout=_left(deadline))
        except OSError:
            if time.monotonic() + _RETRY_S >= deadline:
                raise
            time.sleep(_RETRY_S)  # it does not listen yet


def _write(line: socket.socket, value: Any) -> None:
    line.sendall(json.dumps(value).encode() + b"\n")


def _read(line: socket.socket, deadline: float) -> Any:
    """Returns one line's value, and takes nothing of what follows."""
    data = bytearray()
    while not data.endswith(b"\n"):
        line.settimeout(_left(deadline))
        one = line.recv(1)
        if not one or len(data) > _LINE_BYTES_MAX:
            raise OSError("the connection ended, or is another program's")
        data += one
    return json.loads(data)


def _left(deadline: float) -> float:
    return max(0.001, deadline - time.monotonic())


def own_address(host: str) -> str:
    """Returns the address that this machine has towards a host; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, 9))
        own: str = probe.getsockname()[0]
        return own


def free_port(host: str) -> int:
    """Returns a port that nobody has now."""
    with socket.create_server((host, 0)) as server:
        port: int = server.getsockname()[1]
        return port
