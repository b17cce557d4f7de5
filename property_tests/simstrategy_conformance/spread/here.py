"""Tasks in processes of this machine, or in this process for one of them."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import active_children, get_context
from typing import Any, final

__all__ = ["Here"]


@final
class Here:
    """Runs tasks on this machine.  jobs: in so many processes; with 1, in this one, when the result is waited for."""

    def __init__(self, jobs: int) -> None:
        self.workers = jobs
        self._pool = None if jobs == 1 else ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))

    def submit(self, function: Callable[[Any], Any], argument: Any) -> Callable[[], Any]:
        if self._pool is None:
            return lambda: function(argument)
        return self._pool.submit(function, argument).result

    def close(self) -> None:
        if self._pool is None:
            return
        for process in active_children():  # what runs now is beyond what was asked for
            process.terminate()
        self._pool.shutdown(cancel_futures=True)
