"""Exceptions from outside: raised in another thread, or at every step of a task that catches all that is raised in it.

It calls Python's C interface, which has the one way to raise an exception in a thread that runs. Nothing here is
called in a run that ends well.
"""

import ctypes
import sys
from functools import partial
from threading import get_ident
from types import CodeType, FrameType
from typing import Any, Final

from simstrategy.run.task import TaskStopped

__all__ = ["raise_in_thread", "raise_no_more", "raise_until"]

# It takes the arguments of a trace function too, and ignores them.
_SCHEDULE: Final = ctypes.PYFUNCTYPE(None, ctypes.c_ulong, *(ctypes.py_object,) * 4)(
    ("PyThreadState_SetAsyncExc", ctypes.pythonapi)
)
_NOTHING: Final = ctypes.PYFUNCTYPE(None, *(ctypes.py_object,) * 3)(("PyErr_Clear", ctypes.pythonapi))


def raise_in_thread(ident: int) -> None:
    """Raises TaskStopped in a thread, at the next step of its Python code.

    Where that is another thread, this one looks for nothing any more: see `raise_no_more`. A thread that waits without
    end takes no step, and the other one looks again when it goes on.
    """
    if ident == get_ident():
        _SCHEDULE(ident, TaskStopped, None, None, None)
    else:
        _end_look(ident)


def _end_look(other: int | None = None) -> None:
    """Lets one exception arrive in this thread, whatever else is raised in it meanwhile.

    other: a thread in which it is raised too, and first. That is scheduled here: under a trace function, a call between
    the two would not come past its first step while the other thread waits.
    """
    interrupted = None
    try:
        while True:
            try:
                if other is not None:
                    _SCHEDULE(other, TaskStopped, None, None, None)
                    other = None
                while True:
                    _SCHEDULE(get_ident(), TaskStopped, None, None, None)
            except TaskStopped:
                raise
            except BaseException as error:  # noqa: BLE001 - raised again below
                interrupted = error  # the next step, which is the jump back, may raise what is scheduled
    except TaskStopped:
        pass
    if interrupted is not None:
        raise interrupted


def raise_until(frame: FrameType | None, last: CodeType | None = None) -> None:
    """Raises TaskStopped at every step of this thread's frames, from the given one up to the one that runs `last`.

    Not by a trace function that raises: Python removes it then. This one is a C function that schedules the exception.
    """
    schedule: Any = partial(_SCHEDULE, get_ident(), TaskStopped)
    nothing: Any = _NOTHING
    sys.settrace(nothing)  # for functions that are called meanwhile; without one, no frame is traced
    while frame is not None and frame.f_code is not last:
        frame.f_trace, frame.f_trace_opcodes = schedule, True
        frame = frame.f_back


def raise_no_more(tracer: Any) -> None:
    """Ends `raise_until` in this thread, where no such frame runs any more.  tracer: the trace function before.

    May raise the last exception that was scheduled, once: then it is called again. An interrupt that comes meanwhile is
    raised at the end.
    """
    sys.settrace(tracer)
    # Not by withdrawing what is scheduled: CPython 3.11 then looks for it at every step for ever, and under a trace
    # function, such as a debugger's, it does not come past the first step of a function. What arrives ends the look.
    _end_look()
