"""Finds the other processes and connects to them: opens the backend `gloo`.  It launches nothing.

Every opening has connections of its own, so a program's use of `torch.distributed` and ours never mix. On
a loopback address nothing listens on any other interface.
"""

import errno
import os
import socket
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from torch import distributed as _typed

from simstrategy.errors import BackendUnavailable, InvalidArgument, PeerFailed
from simstrategy_torch.gloo import GlooBackend

__all__ = ["open_gloo"]

distributed: Any = _typed  # for PyTorch's types leave out most of what is used here

_LOOPBACK: Final = "127.0.0.1"
_THREADS: Final = 2


class _Place(NamedTuple):
    """Where this process stands among how many, and where they meet."""

    rank: int
    size: int
    host: str
    port: int
    file: str
    """Used instead of host and port where it is not empty."""

    def __str__(self) -> str:
        return self.file or f"{self.host}:{self.port}"


def open_gloo(
    *,
    replicas: int | None = None,
    rank: int | None = None,
    world_size: int | None = None,
    init_method: str | None = None,
    timeout_s: float = 60.0,
) -> GlooBackend:
    """Opens this process's replicas of a group of processes; returns when all of them have come.

    replicas: of each process, default 1. rank, world_size: of the process and of all; default RANK and
    WORLD_SIZE, as torchrun sets them; with neither, the group that the program has initialised in
    `torch.distributed`, else a world of this process alone. init_method: where they meet, "env://" (the
    default: MASTER_ADDR and MASTER_PORT), "tcp://host:port" or "file:///path", a file that is removed once
    all have met. timeout_s: how long any call waits for another process.

    Raises InvalidArgument for impossible settings, BackendUnavailable where the meeting place cannot be
    had, and PeerFailed, with the missing ranks, where others do not come in time.
    """
    count = 1 if replicas is None else replicas
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InvalidArgument(f"The backend 'gloo' takes a number of replicas of at least 1, got {replicas!r}.")
    if not timeout_s > 0:
        raise InvalidArgument(f"timeout_s is a number of seconds above 0, got {timeout_s!r}.")
    timeout = timedelta(seconds=timeout_s)
    if rank is None and world_size is None and init_method is None and distributed.is_initialized():
        group = distributed.new_group(backend="gloo", timeout=timeout)
        rank, size = distributed.get_rank(), distributed.get_world_size()
        close: Callable[[Any], None] = distributed.destroy_process_group
        file = ""
    else:
        place = _place(rank, world_size, init_method)
        group, rank, size, close = _connect(place, timeout_s), place.rank, place.size, _shut
        file = place.file
    backend = GlooBackend(group, rank=rank, size=size, timeout_s=timeout_s, close_group=close, replicas=count)
    del group
    try:
        _meet(backend, count, timeout_s, file if rank == 0 else None, bool(file))
    except (PeerFailed, InvalidArgument):
        backend.close()
        raise
    return backend


def _meet(backend: GlooBackend, replicas: int, timeout_s: float, own_file: str | None, by_file: bool) -> None:
    """Waits until all are connected: rank 0, which may hold what they meet at, must not go on and close it."""
    counts = [int(note) for note in backend.exchange(str(replicas).encode(), timeout_s=timeout_s)]
    if by_file:
        if own_file is not None:
            Path(own_file).unlink(missing_ok=True)
        backend.exchange(b"", timeout_s=timeout_s)
    if set(counts) != {replicas}:
        raise InvalidArgument(
            f"The processes of a group need equally many replicas, and they have {counts}, in their order. Open "
            f"'gloo' with the same number in each."
        )


def _place(rank: int | None, size: int | None, method: str | None) -> _Place:
    if rank is None and size is None and not {"RANK", "WORLD_SIZE"} & set(os.environ):
        rank, size = 0, 1
    rank = _number("RANK", "rank", rank)
    size = _number("WORLD_SIZE", "world_size", size)
    if not 0 <= rank < size:
        raise InvalidArgument(f"The backend 'gloo' got rank {rank} of world_size {size}: ranks are 0 to {size - 1}.")
    if size == 1 and method is None:
        return _Place(0, 1, _LOOPBACK, 0, "")
    if method in (None, "env://"):
        host = os.environ.get("MASTER_ADDR", _LOOPBACK)
        return _Place(rank, size, host, _number("MASTER_PORT", "init_method", None), "")
    parts = urlsplit(str(method))
    if parts.scheme == "tcp" and parts.hostname and parts.port:
        return _Place(rank, size, parts.hostname, parts.port, "")
    if parts.scheme == "file" and not parts.netloc and parts.path:
        return _Place(rank, size, _LOOPBACK, 0, parts.path)
    raise InvalidArgument(f'init_method is "env://", "tcp://host:port" or "file:///path", got {method!r}.')


def _number(variable: str, option: str, given: int | None) -> int:
    text = os.environ.get(variable, "") if given is None else str(given)
    if not text.isdecimal():
        raise InvalidArgument(
            f"The backend 'gloo' takes {variable} from the environment, as torchrun sets it, or the option {option}; "
            f"found {text!r} instead of a number. Start the program with torchrun, or give rank=, world_size= and "
            f"init_method=."
        )
    return int(text)


def _connect(place: _Place, timeout_s: float) -> Any:
    """Returns gloo's connections to all other processes."""
    deadline = time.monotonic() + timeout_s
    while True:
        left = timedelta(seconds=max(deadline - time.monotonic(), 0.001))
        try:
            store = _store(place, left)
        except (RuntimeError, OSError) as error:
            raise BackendUnavailable(
                f"The backend 'gloo', worker {place.rank} of {place.size}, cannot meet the others at {place}: "
                f"{str(error).strip().splitlines()[0]} See that rank 0 runs there and that its port is free."
            ) from error
        try:
            return _group(place, store, left, timeout_s)
        except distributed.DistNetworkError as error:
            # What it met at was closed: an earlier opening's, which rank 0 had not yet closed. Meet at the next.
            if time.monotonic() >= deadline:
                raise _failed(place, "rank 0 closed before others came", timeout_s) from error


def _await_all(here: Any, place: _Place, left: timedelta, timeout_s: float) -> None:
    """Returns when all have come; raises PeerFailed, with the ranks that have not."""
    try:
        here.wait([f"here/{rank}" for rank in range(place.size)], left)
    except distributed.DistNetworkError:
        raise
    except RuntimeError as error:  # files and sockets name it differently
        absent = [str(rank) for rank in range(place.size) if not here.check([f"here/{rank}"])]
        raise _failed(place, f"ranks {', '.join(absent)} did not come", timeout_s) from error


def _failed(place: _Place, what: str, timeout_s: float) -> PeerFailed:
    return PeerFailed(
        f"The backend 'gloo', open in worker {place.rank} of {place.size}: {what} to {place} within {timeout_s:g} s. "
        f"Start every rank from 0 to {place.size - 1} once, or give a larger timeout_s; a file at which an earlier, "
        f"failed run met has to be removed."
    )


def _store(place: _Place, timeout: timedelta) -> Any:
    """Returns what the processes find each other through; rank 0 serves it, unless somebody does already."""
    if place.file:
        return distributed.FileStore(place.file)  # told the size, it removes the file in the end, but not reliably
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


def _listen(place: _Place) -> int | None:
    """Listens on the host's address alone, as TCPStore would not; None where the port is taken.

    Then it is this process that has taken it, for an earlier opening or for torch.distributed, whose store
    serves as well. A stranger's does not, and the connection fails. Where the address is not this machine's
    own but leads here, as in a container, it listens on all.
    """
    family, kind, _, _, address = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)[0]
    for one in (address, ("", place.port)):
        with socket.socket(family, kind) as server:
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                server.bind(one)
            except OSError as error:
                if error.errno == errno.EADDRNOTAVAIL:
                    continue
                if error.errno == errno.EADDRINUSE:
                    return None
                raise
            server.listen()
            return server.detach()
    return None


def _devices(host: str) -> list[Any]:
    """Returns what gloo listens on: this machine's address on the way to a host, or the interfaces of its variable."""
    make = distributed.ProcessGroupGloo.create_device
    interfaces = os.environ.get("GLOO_SOCKET_IFNAME", "")
    if interfaces:
        return [make(interface=interface) for interface in interfaces.split(",")]
    family, kind, _, _, address = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind) as probe:
        probe.connect(address)  # sends nothing: it looks up the route
        return [make(hostname=probe.getsockname()[0])]


def _group(place: _Place, store: Any, left: timedelta, timeout_s: float) -> Any:
    # An attempt of torchrun's finds the keys of the one that failed; each opening of a program has its own.
    run = f"simstrategy/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
    here = distributed.PrefixStore(f"{run}/{store.add(f'{run}/openings/{place.rank}', 1)}", store)
    here.set(f"here/{place.rank}", "")
    _await_all(here, place, left, timeout_s)
    options = distributed.ProcessGroupGloo._Options()  # noqa: SLF001 - PyTorch has no other name for it
    options._timeout = timedelta(seconds=timeout_s)  # noqa: SLF001
    options._threads = _THREADS  # noqa: SLF001
    options._devices = _devices(place.host)  # noqa: SLF001
    return distributed.ProcessGroupGloo(here, place.rank, place.size, options)


def _shut(group: Any) -> None:
    """Does nothing: the connections end with the last reference to the group, which the backend drops."""
