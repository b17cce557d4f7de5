"""One process with host devices: runs a program of a mesh as often as its job states, and keeps what each run gave.

The devices are made here, before the program's file is executed: JAX can make none later.
"""

import contextlib
import gc
import pickle
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

from simstrategy.check.programs import load_program
from simstrategy.errors import InvalidArgument
from simstrategy.launch.channel import Channel
from simstrategy.launch.jobs import print_to, read_job
from simstrategy_xla.mesh_check.jobs import Answer, Found, Job, Run, digest_of
from simstrategy_xla.mesh_check.lowering import Rules
from simstrategy_xla.mesh_check.noting import Noted
from simstrategy_xla.mesh_check.nudging import nudged
from simstrategy_xla.mesh_check.running import choose_devices, keep_compiled, load_problem, run_once
from simstrategy_xla.mesh_check.watching import Watch

__all__ = ["main"]


def main(channel: Channel, output: Path) -> int:
    """Receives the names of files for a job, its answer, and compiled code; returns the exit code."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    print_to(output)
    message, _ = channel.receive()
    try:
        job = read_job(message["job"])
        keep_compiled(message["compiled"])
        answer = _answer(job, channel)
        with Path(message["answer"]).open("wb") as file:
            pickle.dump(answer, file, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception:  # noqa: BLE001 - such as an argument that cannot be read here; it is shown with the output
        traceback.print_exc()
        return 1
    channel.send("done")
    return 0


def _answer(job: Job, channel: Channel) -> Answer:
    ways = [run.watched for run in job.runs]
    choose_devices(job.replicas, in_order=any(ways))
    assert jax.device_count() == job.replicas
    rules = Rules()
    noted = Noted(rules)
    watch = Watch(rules, lines=ways[0] == "lines") if ways[0] else None
    try:
        program = load_program(job.file, job.function, job.arguments)
    except Exception as error:  # noqa: BLE001 - whatever the file raises
        return Answer((), load_problem(error, job, f"in a process with {job.replicas} host devices"))
    found: list[Found] = []
    is_kept, before = False, None
    for run in job.runs:
        if found and run.known and run.known == digest_of(found[-1]):
            found.append(found[-1]._replace(record=None))
            channel.send("made a run")
            continue
        if before is not None and _code_of(run) != _code_of(before):
            jax.clear_caches()  # type: ignore[no-untyped-call]
            is_kept = is_kept or _keeps_compiled()
        before = run
        if watch is not None and not run.watched:
            watch.close()
            watch = None
        try:
            one = _made(program, job, run, rules, noted, watch)
        except InvalidArgument as error:  # a result that cannot be read
            return Answer((), str(error))
        found.append(one)
        channel.send("made a run")
    return Answer(tuple(found), is_kept=is_kept)


def _code_of(run: Run) -> tuple[object, ...]:
    """Returns what makes the compiled code of runs differ: each pattern of a nudge is one that the code reads."""
    return run.nudge is None, run.sums, run.zeros, run.watched


def _made(program: Callable[..., Any], job: Job, run: Run, rules: Rules, noted: Noted, watch: Watch | None) -> Found:
    noted.clear()
    if watch is not None:
        watch.clear()
    moved = contextlib.nullcontext() if run.nudge is None else nudged(rules, run.nudge, sums=run.sums, zeros=run.zeros)
    with moved:
        found = run_once(program, job, run)
    jax.effects_barrier()  # type: ignore[no-untyped-call]
    record = None if watch is None else watch.record()
    return found._replace(
        events=tuple(noted.events), dtypes=tuple(noted.dtypes), draws=tuple(noted.draws), record=record
    )


def _keeps_compiled() -> bool:
    """Returns whether the program holds functions that it has compiled itself: no later run compiles these anew."""
    return any(type(one) is jax.stages.Compiled for one in gc.get_objects())
