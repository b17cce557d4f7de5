"""Addresses and ports of this machine.  It sends nothing."""

import socket
from typing import Final

__all__ = ["LOOPBACK", "address_towards", "free_port"]

LOOPBACK: Final = "127.0.0.1"
_ANY_PORT: Final = 9
"""The route to a host does not depend on the port."""


def address_towards(host: str) -> str:
    """Returns this machine's address on the route to a host.  Raises OSError where there is no route."""
    family, kind, _, _, address = socket.getaddrinfo(host, _ANY_PORT, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as probe:
        probe.connect(address)  # a datagram socket sends nothing here: the system looks up the route
        found: str = probe.getsockname()[0]
        return found


def free_port(host: str) -> int:
    """Returns a port of this machine's address `host` that no program uses at the moment."""
    with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as server:
        port: int = server.getsockname()[1]
        return port
