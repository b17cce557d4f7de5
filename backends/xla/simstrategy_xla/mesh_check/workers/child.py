"""What the process of one worker does: connects to the others, runs the program, and reports what it runs with them."""

import os
from pathlib import Path
from typing import Any, Final

import jax

from simstrategy.check.programs import load_program
from simstrategy.errors import InvalidArgument
from simstrategy.launch.channel import Channel
from simstrategy.launch.reporting import Place, Reporter, answered
from simstrategy_xla.mesh_check.jobs import Found, Job
from simstrategy_xla.mesh_check.lowering import Rules
from simstrategy_xla.mesh_check.noting import Noted
from simstrategy_xla.mesh_check.running import choose_devices, load_problem, run_once
from simstrategy_xla.mesh_check.workers.launches import Launches

__all__ = ["main"]

_CONFIG: Final[Any] = jax.config
_JOIN_S: Final = 300
_PROXY: Final = "_proxy"


def main(channel: Channel, output: Path) -> int:
    """Runs the job that the channel names, and waits until its process is ended.  output: for all that is printed."""
    return answered(channel, output, _answer)


def _answer(job: Job, place: Place, reporter: Reporter) -> Found | str:
    """Returns what the run gave; or why the program could not be loaded, or its result not be read, as a sentence."""
    _join(place, job.replicas)
    reporter.report({"connected": True})
    Launches(reporter).watch()
    noted = Noted(Rules())
    try:
        program = load_program(job.file, job.function, job.arguments)
    except Exception as error:  # noqa: BLE001 - whatever the file raises
        return load_problem(error, job, f"in worker {place.worker}")
    noted.clear()
    try:
        found = run_once(program, job, job.runs[0])
        jax.effects_barrier()  # type: ignore[no-untyped-call]
    except InvalidArgument as error:  # a result that cannot be read
        return str(error)
    if found.error is None:
        reporter.report({"returned": True})
    else:
        reporter.report({"raised": [*found.error, found.notes[0]]})
    return found._replace(events=tuple(noted.events), dtypes=tuple(noted.dtypes))


def _join(place: Place, count: int) -> None:
    """Connects this process, with one device, to the others."""
    choose_devices(1, in_order=True)
    _CONFIG.update("jax_cpu_collectives_implementation", "gloo")
    # Else JAX ends this process when another one does, and it could not be reported which one was first.
    _CONFIG.update("jax_enable_recoverability", True)
    if any(_PROXY in name.lower() for name in os.environ):
        os.environ[f"no_grpc{_PROXY}"] = "127.0.0.1"  # JAX's service is on this machine
    jax.distributed.initialize(
        place.addresses[0],
        count,
        place.worker,
        cluster_detection_method="deactivate",
        initialization_timeout=_JOIN_S,
        # Else it listens on every interface of the machine.
        coordinator_bind_address=place.addresses[0],
    )
    assert jax.device_count() == count
