"""Where a rank is that does not answer: a signal makes it write its stack to a file of its world's folder.

The rank registers it before anything of the backend is imported; the kit reads it. A stack of compiled code ends at the
last line of Python.
"""

import contextlib
import faulthandler
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

__all__ = ["show_on_signal", "stacks_of"]

_SIGNAL: Final = signal.SIGUSR1
_WAIT_S: Final = 1.0
_LINES: Final = 4
_KIT: Final = "/simstrategy_conformance/"


def show_on_signal(folder: str, rank: int) -> None:
    """Makes this process, which is one rank, write its main thread's stack when the kit sends the signal."""
    faulthandler.register(_SIGNAL, _file(folder, rank).open("w"), all_threads=False)


def stacks_of(folder: Path, processes: Mapping[int, int]) -> str:
    """Returns where ranks are, a line for each call; "" where no file has them.  processes: their numbers, by rank.

    Ranks that are at the same place have its lines once.
    """
    signalled = []
    for rank, process in processes.items():
        if _file(folder, rank).exists():
            with contextlib.suppress(OSError):
                os.kill(process, _SIGNAL)
                signalled.append(rank)
    until_s, found = time.monotonic() + _WAIT_S, dict.fromkeys(signalled, "")
    while not all(map(_is_whole, found.values())) and time.monotonic() < until_s:
        time.sleep(0.02)
        found = {rank: _file(folder, rank).read_text("utf-8", "replace") for rank in signalled}
    ranks: dict[str, list[int]] = {}
    for rank, text in found.items():
        if text:
            ranks.setdefault(_last_calls(text), []).append(rank)
    return "".join(f"\n  {_named(ones)} at, last call first:{calls}" for calls, ones in ranks.items())


def _named(ranks: Sequence[int]) -> str:
    return f"rank {ranks[0]} is" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))} are"


def _file(folder: str | Path, rank: int) -> Path:
    return Path(folder) / f"stack-{rank}"


def _is_whole(text: str) -> bool:
    return "<module>" in text


def _last_calls(text: str) -> str:
    """Returns the last calls below those of the kit, or the last of the kit's own where there are none."""
    calls = [line.strip() for line in text.splitlines() if line.strip().startswith("File ")]
    others = next((calls[:number] for number, line in enumerate(calls) if _KIT in line), calls)
    return "".join(f"\n    {line}" for line in (others or calls)[:_LINES])
