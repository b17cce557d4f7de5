"""One thread that executes the collectives of `xla_processes`, so that the program's thread can give up on one.

XLA may execute a program inside the call that starts it, and it waits there for the other processes without a
limit: Python could neither look for faults nor receive an interrupt. The thread stays until the process ends, as
XLA's connections do.
"""

import queue
import threading
from collections.abc import Callable
from typing import Any, final

import jax

__all__ = ["Dispatcher", "Job"]


@final
class Job:
    """One execution of a compiled program."""

    __slots__ = ("_call", "_inputs", "error", "finished", "outputs")

    def __init__(self, call: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
        self._call = call
        self._inputs = inputs
        self.finished = threading.Event()
        self.outputs: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Executes the program and waits until its outputs have values; keeps them, or the error."""
        try:
            self.outputs = jax.block_until_ready(self._call(*self._inputs))  # type: ignore[no-untyped-call]
        except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
            self.error = error
        self.finished.set()


@final
class Dispatcher:
    """Executes jobs in order, on one daemon thread."""

    __slots__ = ("_jobs",)

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        threading.Thread(target=_run_all, args=(self._jobs,), name="simstrategy collectives", daemon=True).start()

    def start(self, call: Callable[..., Any], inputs: tuple[Any, ...]) -> Job:
        """Starts a job and returns at once."""
        job = Job(call, inputs)
        self._jobs.put(job)
        return job


def _run_all(jobs: "queue.SimpleQueue[Job]") -> None:
    while True:
        jobs.get().run()
