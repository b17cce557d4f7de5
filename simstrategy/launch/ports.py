"""Reserves a port of this machine.  Nothing listens and nothing connects here."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["reserved_port"]

_LOOPBACK = "127.0.0.1"


@contextmanager
def reserved_port() -> Iterator[int]:
    """Yields a port of the loopback address, for a server that binds it with SO_REUSEADDR, as servers do.

    The port is bound and does not listen: so the system assigns it to no other process that needs any free port, and
    to no outgoing connection, while a server can bind it by its number. A port that is only found free and closed
    again can belong to another process a moment later.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind((_LOOPBACK, 0))
        port: int = holder.getsockname()[1]
        yield port
