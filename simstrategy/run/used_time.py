"""The processor time of one thread, as the system reports it."""

import os
import threading
from pathlib import Path
from typing import Final

__all__ = ["passed", "used_in", "used_s"]

_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
_NS: Final = 1e9


def used_s(ident: int) -> float | None:
    """Returns for how many seconds a thread has computed, or could have: the processor may have been others' meanwhile.

    None where the system does not report it.
    """
    native = next((one.native_id for one in threading.enumerate() if one.ident == ident), None)
    return used_in(Path(f"/proc/self/task/{native}"))


def used_in(folder: Path) -> float | None:
    """Returns the same of the thread that this folder is of; where a system reports no more, without others' time."""
    for file, read in (("schedstat", _with_delays), ("stat", _in_ticks)):
        try:
            return read((folder / file).read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
    return None


def passed(before: float | None, now: float | None) -> float:
    """Returns the seconds between two times of a thread; 0 where one is not known."""
    return 0.0 if before is None or now is None else now - before


def _with_delays(text: str) -> float:
    used_ns, delayed_ns, _ = text.split()
    return (int(used_ns) + int(delayed_ns)) / _NS


def _in_ticks(text: str) -> float:
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_S
