"""Runs the text of a script on simulated ranks of a forkserver that stays, and looks for what it leaves."""

import os
from pathlib import Path
from typing import NamedTuple

from simstrategy_torch_distributed.report import Report
from simstrategy_torch_distributed.running import run_on
from simstrategy_torch_distributed.settings import Settings

BEGIN = """\
import os, sys, threading, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
"""


class Left(NamedTuple):
    """What is there: processes below one, files of its folder, and entries of /dev/shm and of this process's files."""

    processes: frozenset[int]
    files: frozenset[str]
    shared: frozenset[str]
    descriptors: int


def run_text(server, folder: Path, text: str, *, ranks: int = 2, name: str = "script.py", **settings) -> Report:
    """Runs the text of a script; all ranks print to files, whose lines this process prints."""
    script = folder / name
    script.write_text(text)
    return run_on([server], Settings(str(script), ranks=ranks, tee=True, **settings))


def left(server) -> Left:
    """Returns what is there now of a forkserver and of this process."""
    files = frozenset(one.name for one in server.folder.iterdir())
    shared = frozenset(
        one for one in os.listdir("/dev/shm") if one.startswith(("torch_", "simstrategy", "sem.", "psm_"))
    )
    return Left(frozenset(_below(server.process)), files, shared, len(os.listdir("/proc/self/fd")))


def _below(process: int) -> set[int]:
    """Returns the processes that a process has started, and theirs."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    found, more = set(), {process}
    while more:
        more = {child for child, parent in parents.items() if parent in more} - found
        found |= more
    return found
