"""Runs a submission in PyTorch on each number of ranks: PyTorch is imported once, by the process that forks all ranks.

It needs PyTorch's simulated ranks, another distribution, so the rest of the course imports it in one place alone.
"""

import time
from collections.abc import Iterable
from pathlib import Path

from simstrategy_course.rank import SCRIPT
from simstrategy_torch_distributed.running import Settings, run_on, started

__all__ = ["run_each"]


def run_each(runs: Iterable[tuple[Path, int]], seconds: float) -> bool:
    """Runs the script of each folder on so many simulated ranks; returns False when one took more than `seconds`.

    That one is the last. Each rank leaves a file. What rank 0 prints goes to this process's output, and what is found
    is dropped.
    """
    server = started(["torch.distributed", "simstrategy_course.rank"])
    try:
        for folder, ranks in runs:
            begin_s = time.monotonic()
            run_on([server], Settings(str(folder / SCRIPT), ranks=ranks, limit_s=seconds, folder=str(folder)))
            if time.monotonic() - begin_s > seconds:
                return False
        return True
    finally:
        server.close()
