"""The process of one rank: takes its environment, runs the program, and reports how it ended."""

import faulthandler
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from simstrategy.launch.channel import Channel
from simstrategy_torch_distributed.arena import Arena
from simstrategy_torch_distributed.cuda_names import map_cuda_names
from simstrategy_torch_distributed.joined import Rank
from simstrategy_torch_distributed.link import Link
from simstrategy_torch_distributed.outputs import ERRORS
from simstrategy_torch_distributed.program import finish, run_function, run_program, unbuffered
from simstrategy_torch_distributed.registering import take_gloos_place
from simstrategy_torch_distributed.watched.entries import FILE
from simstrategy_torch_distributed.watched.watch import Watch
from simstrategy_torch_distributed.watching.observing import observe

__all__ = ["STACKS", "serve"]

STACKS: Final = signal.SIGRTMAX
"""The signal at which a rank writes the stacks of its threads beside its output."""


def serve(channel: Channel, output: Path) -> int:
    """Receives what to run and the shared memory; runs it; returns the exit code.

    output: the file for what the rank prints, unless that goes to the command's own output.
    """
    job, memory = channel.receive()
    assert memory is not None
    files = [channel.receive()[1] for _ in range(job["files"])]
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with open(f"{output}.stacks", "w", encoding="utf-8") as stacks:
        faulthandler.register(STACKS, stacks, all_threads=True)
        _prepare(job, output)
        link = Link(channel, job["rank"])
        link.ready()
        watch = _watch(job["watching"])
        take_gloos_place(Rank(job["rank"], job["size"], link, Arena(memory, job["rank"]), job["order"], watch))
        at_end = observe(link, job["laws"])
        if job["device"] == "cpu-for-cuda":
            map_cuda_names(job["rank"], job["size"])
        if job["target"] is None:
            ending = run_program(job["script"], job["arguments"], is_module=job["is_module"])
        else:
            ending = run_function(job["target"], job["rank"], job["data"], files)
        if watch is not None:
            watch.end()
        at_end()
        finish()
        link.ended(ending.code, ending.text)
    return ending.code


def _watch(given: list[Any] | None) -> Watch | None:
    """Returns what watches the optimizers, which has begun; None where nothing does.  given: file, nudge, detailed."""
    if given is None:
        return None
    file, nudge, detailed = given
    os.environ[FILE] = file
    watch = Watch(file, nudge, detailed=detailed)
    watch.begin()
    return watch


def _prepare(job: dict[str, Any], output: Path) -> None:
    """Makes the process what torchrun would have started."""
    if job["to_file"]:
        errors = Path(f"{output}{ERRORS}") if job["apart"] else output
        for stream, target in ((1, output), (2, errors)):
            file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(file, stream)
            os.close(file)
    unbuffered()
    os.chdir(job["folder"])
    for name in os.environ.keys() - job["environment"].keys():
        del os.environ[name]
    os.environ.update(job["environment"])
    sys.path[:] = [one for one in sys.path if one != ""]
    # In real processes these would differ in every run.
    random.seed(f"{job['seed']} {job['rank']}")
    np.random.seed([job["seed"], job["rank"]])
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
