"""A group of one: the task runs in the caller's thread, and nothing is switched."""

import sys
from collections.abc import Sequence
from contextvars import copy_context
from threading import get_ident
from types import TracebackType
from typing import Any, final

from greenlet import getcurrent

from simstrategy.run.forced import raise_no_more, raise_until
from simstrategy.run.own_thread import require_outside_loop, require_thread, running_loop
from simstrategy.run.stopping import STOP_TRIES
from simstrategy.run.task import Body, Failed, Job, Match, RunWatched, TaskStopped

__all__ = ["run_inline", "run_inline_watched"]


@final
class _Alone:
    """The scheduler of a group of one."""

    __slots__ = ("_matches", "_matching")

    def __init__(self) -> None:
        self._matches = 0
        self._matching = False

    def place(self) -> tuple[object, int | None]:
        """Returns what changes whenever the task makes a call or goes on; the task, None while its call is matched."""
        return self._matches, None if self._matching else 0

    def run(self, jobs: Sequence[Job], match: Match, failed: Failed) -> None:
        """Runs the task to its end; see `ReplicaTasks.run`."""
        ((body, _, results, _, _),) = jobs

        def counted(calls: list[Any], order: list[int]) -> Sequence[Any]:
            self._matches, self._matching = self._matches + 1, True
            try:
                return match(calls, order)
            finally:
                self._matching = False

        results[0] = run_inline(body, counted, failed)


def run_inline_watched(watched: RunWatched, body: Body, match: Match, failed: Failed) -> Any:
    """Runs a lone task as `run_inline` does; what waits for it may be in other processes, so it is looked at."""
    task = getcurrent()
    results: list[Any] = [None]
    watched(_Alone(), [task], [(body, iter((0,)), results, task.switch, task.switch)], match, failed)
    return results[0]


def run_inline(body: Body, match: Match, failed: Failed) -> Any:
    """Runs a lone task to its end and returns its result; see `ReplicaTasks.run`.

    An exception of `match` stops the task and is raised by the run, as it is with several tasks: the task cannot catch
    it and go on alone.
    """
    ended: list[BaseException] = []
    stops, tracer = 0, sys.gettrace()
    outside, ident, loop = copy_context(), get_ident(), running_loop()

    def suspend(*call: Any) -> Any:
        nonlocal stops
        require_thread(ident)
        if not ended:
            try:
                require_outside_loop(loop)
                # Outside the task's own context: `match` of several tasks does not run in theirs either.
                return outside.run(match, [call], [0])[0]
            except BaseException as error:  # noqa: BLE001 - raised by the run
                ended.append(error)
        stops += 1
        if stops > STOP_TRIES:
            raise_until(sys._getframe(1), run_inline.__code__)
        raise TaskStopped

    result: Any = None
    inner: TracebackType | None = None
    try:
        result = copy_context().run(body, 0, suspend)
    except BaseException as error:
        if stops > STOP_TRIES:
            try:
                raise_no_more(tracer)
            except TaskStopped:  # the last one that was scheduled
                raise_no_more(tracer)
        if not ended:
            failed(0, error, [None], [])
            raise
        inner = error.__traceback__
    if ended:
        try:
            raise ended[0].with_traceback(_joined(inner, ended[0].__traceback__))
        finally:
            ended.clear()  # its traceback refers to this frame
            inner = None
    return result


def _joined(outer: TracebackType | None, inner: TracebackType | None) -> TracebackType | None:
    """Returns a traceback through the frames of the task, and then those of what `match` raised."""
    places = []
    while outer is not None:
        places.append(outer)
        outer = outer.tb_next
    for place in reversed(places[1:-1]):  # the first one is this file's, and `inner` begins where the last one is
        inner = TracebackType(inner, place.tb_frame, place.tb_lasti, place.tb_lineno)
    return inner
