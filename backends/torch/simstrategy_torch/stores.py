"""PyTorch's stores of plain bytes, through which processes find each other, and a time limit for calls of them.

It does not interpret the values in a store.
"""

import errno
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

from torch import distributed as _typed

from simstrategy.errors import BackendUnavailable
from simstrategy_torch.environment import Place

__all__ = ["open_store", "within_limit"]

distributed: Any = _typed  # for PyTorch's types leave out most of what is used here

T = TypeVar("T")

_SHUTDOWN_S: Final = 1.0
_FILES: Final = Path("/proc/self/fd")
_LISTENERS: Final = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
_LISTENING: Final = "0A"


def open_store(place: Place, seconds: float) -> Any:
    """Returns the store of a rendezvous; rank 0 serves it, unless its process serves it already.

    seconds: the limit of every later call of the store. Raises BackendUnavailable where another program has
    rank 0's port or the file's folder does not exist, and what PyTorch and the system raise.
    """
    timeout = timedelta(seconds=seconds)
    if place.file:
        if not Path(place.file).parent.is_dir():
            raise BackendUnavailable(
                f"there is no folder for the file {place.file}. Make it, on all machines the same."
            )
        # Given the size as well, PyTorch removes the file in the end, but not reliably.
        store = distributed.FileStore(place.file)
        store.set_timeout(timeout)
        return store
    if place.size == 1:
        return distributed.HashStore()
    serves = place.rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    listening = _listen(place) if serves else None
    return distributed.TCPStore(
        place.host,
        place.port,
        place.size,
        is_master=listening is not None,
        timeout=timeout,
        wait_for_workers=False,
        master_listen_fd=listening,
    )


def within_limit(work: Callable[[], T], place: Place, seconds: float) -> T:
    """Returns what `work` returns, or raises what it raises.  Raises TimeoutError if it takes longer.

    seconds: the limit. After it the connections to the store are shut down: PyTorch's clients wait without a
    limit for a server that accepted the connection and sends nothing, such as a process that was stopped.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised below, in the calling thread
            errors.append(error)

    before = _open_files()
    thread = threading.Thread(target=run, name="simstrategy rendezvous", daemon=True)
    thread.start()
    in_time = False
    try:
        thread.join(seconds)
        in_time = not thread.is_alive()
    finally:
        if not in_time:
            _shut_connections(place, before)
            thread.join(_SHUTDOWN_S)
    if not in_time:
        raise TimeoutError(f"it did not answer within {seconds:.1f} s.")
    if errors:
        try:
            raise errors[0]
        finally:
            errors.clear()  # a traceback that refers to itself would keep the store and its port open
    return results[0]


def _listen(place: Place) -> int | None:
    """Listens at the host's address alone, which TCPStore does not, and returns the socket's descriptor.

    Returns None where this process listens there already, for an earlier opening or for torch.distributed:
    that store serves this opening as well. Where the address is no address of this machine but leads to it,
    as in a container, it listens at all addresses.
    """
    family, kind, _, _, address = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)[0]
    for one in (address, ("", place.port)):
        with socket.socket(family, kind) as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                server.bind(one)
                server.listen()  # fails where another socket was bound to the port and did not listen yet
            except OSError as error:
                if error.errno == errno.EADDRNOTAVAIL:
                    continue
                if error.errno != errno.EADDRINUSE:
                    raise
                if not _is_ours(place.port):
                    raise BackendUnavailable(f"another program has port {place.port}.") from error
                return None
            return server.detach()
    return None


def _is_ours(port: int) -> bool:
    """Returns whether this process listens at a port; True where the system has no list of sockets."""
    if not _FILES.is_dir():
        return True
    own = _open_files()
    for table in _LISTENERS:
        with suppress(OSError):
            for line in table.read_text().splitlines()[1:]:
                fields = line.split()
                here = fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port
                if here and f"socket:[{fields[9]}]" in own.values():
                    return True
    return False


def _open_files() -> dict[int, str]:
    """Returns the numbers and names of this process's open files; nothing where the system has no list of them."""
    found = {}
    if _FILES.is_dir():
        for file in _FILES.iterdir():
            with suppress(OSError):
                found[int(file.name)] = os.readlink(file)
    return found


def _shut_connections(place: Place, before: dict[int, str]) -> None:
    """Shuts the connections to the store down that are not in `before`, which ends the calls that wait on them."""
    for number, name in _open_files().items():
        if name.startswith("socket:") and name not in before.values():
            with suppress(OSError), socket.socket(fileno=os.dup(number)) as connection:
                if connection.getpeername()[1] == place.port:
                    connection.shutdown(socket.SHUT_RDWR)
