"""In which waits the threads of a process are, as /proc shows them.  Linux on x86-64; elsewhere no wait is proven.

A wait counts if only the ranks of a run can end it: for a lock, a condition or a future (a futex of the process,
without a timeout), for a key of the run's store, and for an answer. Whatever else sleeps, for a time, a file, a process
or the network, proves nothing.
"""

import os
import platform
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["Waits", "waits_of", "woken"]

_LOCK: Final = "a lock, a condition or a future"
_KEY: Final = "a key of the store"
_FUTEX, _POLL = 202, 7
"""Numbers of system calls of Linux on x86-64."""
_FUTEX_PRIVATE: Final = 128
_FUTEX_WAITS: Final = frozenset({0, 9})
"""FUTEX_WAIT and FUTEX_WAIT_BITSET."""
_TIMEOUT_MS: Final = 300_000
"""A shorter wait for a key may be one that the script expects to fail: 300 s is torch's own timeout of a store."""
_ALARM: Final = 1 << 13
"""SIGALRM in the mask of signals with a handler: a timer may end any wait."""
_POLLED_MAX: Final = 8
_SOCKET_COLUMNS: Final = 10

Marks = tuple[tuple[str, ...], ...]


class Waits(NamedTuple):
    """what: what the first thread waits for.  marks: of each thread, equal as long as none has been woken."""

    what: str
    marks: Marks


def waits_of(process: int, channel: int, port: int | None) -> Waits | None:
    """Returns what a process waits for if all of its threads sleep in waits that only its own ranks can end, else None.

    channel: the number of the socket on which it receives answers. port: of the store, None where there is none.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return None
    try:
        if _catches_alarms(process):
            return None
        kinds = {}
        for task in _tasks(process):
            if (task / "children").read_text():
                return None  # a child process might end the wait
            kind = _kind(process, (task / "syscall").read_text().split(), channel, port)
            if kind is None:
                return None
            kinds[task.name] = kind
        return Waits(kinds[str(process)], woken(process)) if kinds.get(str(process)) else None
    except (OSError, ValueError, struct.error):  # it has ended, or this system does not show it
        return None


def _kind(process: int, call: list[str], channel: int, port: int | None) -> str | None:
    """Returns what a thread waits for, empty for answers; None for any other wait.  call: its number and arguments."""
    if len(call) < 2 or not call[0].isdecimal():
        return None
    number, arguments = int(call[0]), [int(one, 16) for one in call[1:]]
    if number == _FUTEX:
        private = arguments[1] & _FUTEX_PRIVATE and arguments[1] & 0x7F in _FUTEX_WAITS
        return _LOCK if private and not arguments[3] else None
    if number != _POLL or not 0 < arguments[1] <= _POLLED_MAX:
        return None
    sockets = {os.stat(f"/proc/{process}/fd/{file}").st_ino for file in _polled(process, *arguments[:2])}
    if sockets == {channel}:
        return ""
    if port is None or arguments[2] < _TIMEOUT_MS:
        return None
    return _KEY if sockets <= set(_sockets_to(process, port)) else None


def _polled(process: int, place: int, count: int) -> Iterator[int]:
    """Yields the file descriptors that a call of poll waits for."""
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        memory.seek(place)
        for file, _, _ in struct.iter_unpack("ihh", memory.read(8 * count)):
            yield file


def _sockets_to(process: int, port: int) -> Iterator[int]:
    """Yields the numbers of the sockets that are connected to a port."""
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            columns = line.split()
            if len(columns) >= _SOCKET_COLUMNS and int(columns[2].rpartition(":")[2], 16) == port:
                yield int(columns[9])


def woken(process: int) -> Marks:
    """Returns for each thread its number, where it waits, and how often it has run."""
    return tuple(
        (task.name, (task / "syscall").read_text(), *_values(task / "status", "ctxt_switches"))
        for task in _tasks(process)
    )


def _tasks(process: int) -> list[Path]:
    return sorted(Path(f"/proc/{process}/task").iterdir())


def _values(file: Path, name: str) -> list[str]:
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line.split()[1] for line in lines if name in line.partition(":")[0]]


def _catches_alarms(process: int) -> bool:
    (mask,) = _values(Path(f"/proc/{process}/status"), "SigCgt")
    return bool(int(mask, 16) & _ALARM)
