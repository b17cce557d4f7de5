"""Addresses and ports of this machine.  It sends nothing."""

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["LOOPBACK", "address_towards", "free_port"]

LOOPBACK: Final = "127.0.0.1"
_ANY_PORT: Final = 9
"""The route to a host does not depend on the port."""
_LOWEST_PORT: Final = 10_000
_TRIES: Final = 50
_GIVEN_PORTS: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_USUAL_FIRST_GIVEN: Final = 32_768


def address_towards(host: str) -> str:
    """Returns this machine's address on the route to a host.  Raises OSError where there is no route."""
    family, kind, _, _, address = socket.getaddrinfo(host, _ANY_PORT, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as probe:
        probe.connect(address)  # a datagram socket sends nothing here: the system looks up the route
        found: str = probe.getsockname()[0]
        return found


def free_port(host: str) -> int:
    """Returns a port of this machine's address `host` that no program uses at the moment.

    It is none of those that the system gives to outgoing connections, so none of these takes it before it is used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    count = _first_given() - _LOWEST_PORT
    for port in [*(_LOWEST_PORT + int.from_bytes(os.urandom(4)) % count for _ in range(_TRIES)), 0]:
        with suppress(OSError), socket.create_server((host, port), family=family) as server:
            found: int = server.getsockname()[1]
            return found
    raise OSError(f"No port of {host} is free.")


def _first_given() -> int:
    """Returns the lowest port that the system gives to outgoing connections."""
    with suppress(OSError, ValueError):
        return max(int(_GIVEN_PORTS.read_text().split()[0]), _LOWEST_PORT + _TRIES)
    return _USUAL_FIRST_GIVEN
