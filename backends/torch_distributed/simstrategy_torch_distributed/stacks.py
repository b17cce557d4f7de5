"""Ranks that neither wait nor end while others wait for them: their stacks are shown, or that they are stopped."""

import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, final

from simstrategy.launch.server import Worker
from simstrategy_torch_distributed.matching import Matcher

__all__ = ["Stacks"]

_SIGNAL: Final = signal.SIGRTMAX
_WRITTEN_S: Final = 0.2
_STOPPED_S: Final = 2.0
"""How long others wait for a rank that a signal has stopped: somebody may continue it."""


@final
class Stacks:
    """Looks for such ranks, and shows each once."""

    __slots__ = ("_after_s", "_since", "_workers")

    def __init__(self, workers: Mapping[int, Worker], after_s: float) -> None:
        self._workers = workers
        self._after_s = after_s
        self._since: dict[int, float] = {}

    def look(self, matcher: Matcher, now_s: float) -> None:
        """Shows the ranks that others have waited for since `after_s` seconds."""
        busy = matcher.busy
        self._since = {rank: self._since.get(rank, now_s) for rank in busy}
        for rank, since in self._since.items():
            if now_s - since > _STOPPED_S and _is_stopped(self._workers[rank].process):
                matcher.stop(rank)
                return
            if now_s - since > self._after_s:
                self._since[rank] = float("inf")
                sys.stderr.write(self._text(rank))
                sys.stderr.flush()

    def _text(self, rank: int) -> str:
        worker = self._workers[rank]
        with suppress(ProcessLookupError):
            os.kill(worker.process, _SIGNAL)
        time.sleep(_WRITTEN_S)
        file = Path(f"{worker.output}.stacks")
        found = file.read_text(errors="replace") if file.exists() else ""
        return (
            f"simstrategy: rank {rank} has neither called nor ended for {self._after_s:g} s while others wait for it. "
            f"It is at:\n{found}"
        )


def _is_stopped(process: int) -> bool:
    """Returns whether a signal such as SIGSTOP has stopped a process; not so for one that a debugger looks at."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] == "T"
