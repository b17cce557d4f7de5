"""What processes find each other through: PyTorch's stores of plain bytes, and a limit to how long one may be silent.

Nothing here knows what is kept in them.
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

__all__ = ["answered", "open_store"]

distributed: Any = _typed  # for PyTorch's types leave out most of what is used here

T = TypeVar("T")

_HANGING_UP_S: Final = 1.0
_FILES: Final = Path("/proc/self/fd")
_LISTENERS: Final = (Path("/proc/self/net/tcp"), Path("/proc/self/net/tcp6"))
_LISTENING: Final = "0A"


def open_store(place: Place, seconds: float) -> Any:
    """Returns what the processes of a place meet at; rank 0 serves it, unless this process does already.

    Raises BackendUnavailable where rank 0's port is another program's, or the file's folder is not there, and
    what PyTorch and the system raise.
    """
    timeout = timedelta(seconds=seconds)
    if place.file:
        if not Path(place.file).parent.is_dir():
            raise BackendUnavailable(
                f"there is no folder for the file {place.file}. Make it, on all machines the same."
            )
        store = distributed.FileStore(place.file)  # told the size, it removes the file in the end, but not reliably
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


def answered(work: Callable[[], T], place: Place, seconds: float) -> T:
    """Returns what `work` returns, or raises what it raises; hangs up, and raises TimeoutError, if it takes longer.

    PyTorch's clients wait without a limit for whoever took the connection and is silent: a stranger, or a
    process that was stopped.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised below, where somebody hears it
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
            _hang_up(place, before)
            thread.join(_HANGING_UP_S)
    if not in_time:
        raise TimeoutError(f"it did not answer within {seconds:.1f} s.")
    if errors:
        try:
            raise errors[0]
        finally:
            errors.clear()  # a traceback that led to itself would keep the store, and its port, for long
    return results[0]


def _listen(place: Place) -> int | None:
    """Listens on the host's address alone, as TCPStore would not; None where this process does so already.

    Then it does for an earlier opening or for torch.distributed, whose store serves as well. Where the
    address is not this machine's own but leads here, as in a container, it listens on all.
    """
    family, kind, _, _, address = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)[0]
    for one in (address, ("", place.port)):
        with socket.socket(family, kind) as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                server.bind(one)
                server.listen()  # here too a port may turn out to be taken: it was bound, and not listened at
            except OSError as error:
                if error.errno == errno.EADDRNOTAVAIL:
                    continue
                if error.errno != errno.EADDRINUSE:
                    raise
                if not _is_ours(place.port):
                    raise BackendUnavailable(f"port {place.port} is another program's.") from error
                return None
            return server.detach()
    return None


def _is_ours(port: int) -> bool:
    """Tells whether it is this process that listens at a port; True where the system does not tell."""
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
    """Returns this process's open files: number and name; nothing where the system does not tell."""
    found = {}
    if _FILES.is_dir():
        for file in _FILES.iterdir():
            with suppress(OSError):
                found[int(file.name)] = os.readlink(file)
    return found


def _hang_up(place: Place, before: dict[int, str]) -> None:
    """Ends connections to the meeting place that were not there before: who waits for an answer gets an end."""
    for number, name in _open_files().items():
        if name.startswith("socket:") and name not in before.values():
            with suppress(OSError), socket.socket(fileno=os.dup(number)) as line:
                if line.getpeername()[1] == place.port:
                    line.shutdown(socket.SHUT_RDWR)
