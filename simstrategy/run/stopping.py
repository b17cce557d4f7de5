"""Ends the tasks of a run that has failed, whatever they catch."""

import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from simstrategy.run.forced import raise_no_more
from simstrategy.run.task import ForcedStop, Task, TaskStopped

__all__ = ["STOP_TRIES", "stop"]

STOP_TRIES: Final = 100
"""How often a task may catch TaskStopped and go on before it is ended by force."""


def stop(tasks: Iterable[Task]) -> None:
    """Ends all tasks in which something of the run is left, in this order.

    An exception that is no task's, such as an interrupt, is raised when all have ended.
    """
    left = list(tasks)
    try:
        _stop_all(left)
    except BaseException:
        _stop_all(left)
        raise


def _stop_all(tasks: Iterable[Task]) -> None:
    for task in tasks:
        for _ in range(STOP_TRIES):
            if task.dead:
                break
            _throw(task, TaskStopped())
        if not task.dead:
            tracer = sys.gettrace()
            try:
                _throw(task, ForcedStop())
                raise_no_more(tracer)
            except TaskStopped:  # the last one that was scheduled
                raise_no_more(tracer)


def _throw(task: Task, error: TaskStopped) -> None:
    try:
        with suppress(BaseException):  # the run has its exception already; this task only had to end
            task.throw(error)
    finally:
        del error  # its traceback refers to this frame, and to all that the task had
