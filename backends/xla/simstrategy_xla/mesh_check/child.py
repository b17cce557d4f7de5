"""One process with host devices: runs a program of a mesh as often as its job states, and keeps what each run gave.

The devices are made here, before the program's file is executed: JAX can make none later.
"""

import contextlib
import functools
import io
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np
from jax.sharding import Mesh

from simstrategy.check.checkpoint import Checkpoint, takes_checkpoint
from simstrategy.check.contents import Contents
from simstrategy.check.folder import same_folder
from simstrategy.check.programs import load_program
from simstrategy.errors import InvalidArgument
from simstrategy.launch.channel import Channel
from simstrategy.run import raised_where
from simstrategy.short_repr import without_addresses
from simstrategy_xla.mesh_check.jobs import Answer, Found, Job, Run, Saved
from simstrategy_xla.mesh_check.lowering import Rules
from simstrategy_xla.mesh_check.noting import Noted
from simstrategy_xla.mesh_check.nudging import nudged
from simstrategy_xla.mesh_check.results import Result, result_of
from simstrategy_xla.mesh_check.watching import Watch

__all__ = ["main"]

_CONFIG: Final[Any] = jax.config
_OF_AXES: Final = ("unbound axis name", "is not found in mesh", "must refer to an axis")
_FLAG: Final = "--xla_force_host_platform_device_count"


def main(channel: Channel, output: Path) -> int:
    """Receives the name of a file with a job, writes its answer to a file, and returns the exit code."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.close(file)
    message, _ = channel.receive()
    try:
        job = pickle.loads(Path(message["job"]).read_bytes())  # noqa: S301 - of the process that started this one
        Path(message["answer"]).write_bytes(pickle.dumps(_answer(job), protocol=pickle.HIGHEST_PROTOCOL))
    except Exception:  # noqa: BLE001 - such as an argument that cannot be read here; it is shown with the output
        traceback.print_exc()
        return 1
    channel.send("done")
    return 0


def _answer(job: Job) -> Answer:
    _make_devices(job.replicas, in_order=bool(job.watched))
    rules = Rules()
    noted = Noted(rules)
    watch = Watch(rules, lines=job.watched == "lines") if job.watched else None
    try:
        program = load_program(job.file, job.function)
    except Exception as error:  # noqa: BLE001 - whatever the file raises
        where = raised_where(error, with_text=False)
        text = f"{Path(job.file).name} was loaded in a process with {job.replicas} host devices, and raised "
        return Answer((), f"{text}{type(error).__name__}: {error} {where}. {_LOADING}")
    found = []
    for number, run in enumerate(job.runs):
        if number and (watch is not None or run.nudge is not None):
            jax.clear_caches()  # type: ignore[no-untyped-call]
        noted.clear()
        if watch is not None:
            watch.clear()
        with contextlib.nullcontext() if run.nudge is None else nudged(rules, run.nudge):
            try:
                one = _run(program, job, run)
            except InvalidArgument as error:  # a result that cannot be read
                return Answer((), str(error))
        jax.effects_barrier()  # type: ignore[no-untyped-call]
        record = None if watch is None else watch.record()
        found.append(one._replace(events=tuple(noted.events), dtypes=tuple(noted.dtypes), record=record))
    return Answer(tuple(found))


_LOADING: Final = (
    "The check makes the devices before it loads the file, in a process for each number of them: what chooses a number "
    "of devices, such as jax.config.update('jax_num_cpu_devices', …), belongs under if __name__ == '__main__'."
)


def _make_devices(count: int, *, in_order: bool) -> None:
    """Makes host devices.  in_order: whether a call of a program ends before the next one begins."""
    flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if not flag.startswith(_FLAG)]
    os.environ["XLA_FLAGS"] = " ".join([*flags, f"{_FLAG}={count}"])
    _CONFIG.update("jax_platforms", "cpu")
    if in_order:
        _CONFIG.update("jax_cpu_enable_async_dispatch", False)
    assert jax.device_count() == count


def _run(program: Callable[..., Any], job: Job, run: Run) -> Found:
    """Runs the program once.  An exception is an outcome too, but for KeyboardInterrupt."""
    devices = [jax.devices()[number] for number in run.order]
    mesh = Mesh(np.array(devices).reshape(len(devices), *[1] * (len(job.axes) - 1)), job.axes)
    checkpoint = Checkpoint(run.saved) if takes_checkpoint(program) else None
    given = run.arguments if checkpoint is None else {**run.arguments, "checkpoint": checkpoint}
    error: tuple[str, str] | None = None
    notes: tuple[str, ...] = ()
    result = Result(Contents.none(), {}, {}, frozenset())
    with same_folder(), _printed() as printed:
        try:
            value = functools.partial(program, **given)(mesh)
        except (Exception, SystemExit) as caught:  # noqa: BLE001 - compared like a value: several may raise the same
            error = (type(caught).__name__, without_addresses(str(caught)))
            notes = (raised_where(caught, with_text=False), *_advice(caught, job))
        else:
            result = result_of(value, devices)
    saved = None if checkpoint is None else Saved(checkpoint.saved, checkpoint.saves, checkpoint.restored)
    return Found(*result, error, notes, (), (), printed.getvalue(), saved, None)


def _advice(error: BaseException, job: Job) -> tuple[str, ...]:
    """Returns what to do about an error over the names of axes; () for another one.

    JAX has several texts for a name that no axis has, and an assertion without a text where `psum` gets one.
    """
    text = str(error)
    last = traceback.extract_tb(error.__traceback__)[-1:]
    theirs = isinstance(error, AssertionError) and not text and not any("assert" in (one.line or "") for one in last)
    if not theirs and not any(sign in text for sign in _OF_AXES):
        return ()
    names = ", ".join(map(repr, job.axes))
    found = (
        f"The mesh of this check has the axes {names}. Name others in the annotation, mesh: Annotated[Mesh, 'batch']"
    )
    return (f"{found}, or use mesh.axis_names",)


@contextlib.contextmanager
def _printed() -> Iterator[io.StringIO]:
    """Keeps what is printed inside."""
    kept = io.StringIO()
    with contextlib.redirect_stdout(kept):
        yield kept
    sys.stdout.flush()
