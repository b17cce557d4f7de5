"""A port of this machine that nobody else is given while it is held.  It listens to nothing and connects to nothing."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["reserved_port"]

_LOOPBACK = "127.0.0.1"


@contextmanager
def reserved_port() -> Iterator[int]:
    """Yields a port of the loopback address, for whoever binds it with SO_REUSEADDR, as servers do.

    It is bound and does not listen: so the system gives it to nobody who asks for any free port, and to no
    outgoing connection, while a server that names it may have it. A port that is found free and let go
    can be somebody else's a moment later.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind((_LOOPBACK, 0))
        port: int = holder.getsockname()[1]
        yield port
