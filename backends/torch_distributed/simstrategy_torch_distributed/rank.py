"""The process of one rank: takes its environment, runs the program, and reports how it ended."""

import os
from functools import partial
from pathlib import Path
from typing import Any

from simstrategy.launch.channel import Channel
from simstrategy_torch_distributed.arena import Arena
from simstrategy_torch_distributed.beginning import begun
from simstrategy_torch_distributed.gpus import map_cuda_names
from simstrategy_torch_distributed.hooks.installing import install_hooks
from simstrategy_torch_distributed.hooks.planting import planting_of
from simstrategy_torch_distributed.joined import Rank
from simstrategy_torch_distributed.libraries import list_libraries, show_printed
from simstrategy_torch_distributed.link import Link
from simstrategy_torch_distributed.outputs import ERRORS, print_to
from simstrategy_torch_distributed.program import finish, run_function, run_program
from simstrategy_torch_distributed.registering import take_gloos_place
from simstrategy_torch_distributed.seat import run_seat
from simstrategy_torch_distributed.watched.entries import FILE, append
from simstrategy_torch_distributed.watched.moving import Moves
from simstrategy_torch_distributed.watched.predicting import Predicting
from simstrategy_torch_distributed.watched.seeds import Reseeding
from simstrategy_torch_distributed.watched.shared import Shared
from simstrategy_torch_distributed.watched.uncompiled import run_uncompiled
from simstrategy_torch_distributed.watched.watch import Watch

__all__ = ["serve"]


def serve(channel: Channel, output: Path) -> int:
    """Receives what to run and the shared memory; runs it; returns the exit code.

    output: the file for what the rank prints, unless that goes to the command's own output.
    """
    job, memory = channel.receive()
    assert memory is not None
    if job["to_file"]:
        print_to(output, Path(f"{output}{ERRORS}") if job["apart"] else output)
    with begun(job, job["rank"], output):
        link = Link(channel, job["rank"])
        link.ready()
        watch = _watch(job["watching"], link)
        planting = planting_of(link, job["fault"])
        arena = Arena(memory, job["rank"])
        rank = Rank(job["rank"], job["size"], link, arena, job["order"], watch, planting)
        take_gloos_place(lambda *_: rank)
        run_uncompiled(speaks=not job["rank"])
        note = None if job["watching"] is None else partial(append, job["watching"][0], "order")
        at_end = install_hooks(link, job["laws"], output, note)
        if job["device"] == "cpu-for-cuda":
            map_cuda_names(job["rank"], job["size"])
        show_printed()
        listed = None if job["listing"] is None else list_libraries(Path(job["listing"]))
        if job["seat"] is not None:
            ending = run_seat(job["seat"], job["rank"])
        elif job["function"] is None:
            ending = run_program(job["script"], job["arguments"], is_module=job["is_module"])
        else:
            ending = run_function(*job["function"])
        if watch is not None:
            watch.end()
        at_end()
        if listed is not None:
            listed()
        if planting is not None:
            planting.end(ending.text)
        finish()
        link.ended(ending.code, ending.text)
    return ending.code


def _watch(given: list[Any] | None, link: Link) -> Watch | None:
    """Returns what watches the optimizers, which has begun; None where nothing does.

    given: file, nudge, detailed, how other seeds are given, whether the values of all calls are recorded, where a
    nudge moves no sums, None for nowhere, which layers predict, and in which narrow dtype a nudge moves.
    """
    if given is None:
        return None
    file, nudge, detailed, reseeded, has_values, sums, predicting, narrow = given
    os.environ[FILE] = file
    shared = Shared(file) if has_values else None
    moves = None if nudge is None else Moves(nudge, sums=sums, narrow=narrow)
    reseeding = None if reseeded is None else Reseeding(*reseeded)
    watch = Watch(file, moves, detailed=detailed, reseeding=reseeding, shared=shared, calls=lambda: link.calls)
    watch.begin()
    if predicting:
        Predicting(file, tuple(predicting)).begin()
    return watch
