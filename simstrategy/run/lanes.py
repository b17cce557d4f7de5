"""Lanes: N replica functions, one running at a time, switching only where they meet.

The only module that knows greenlets or threads. Lanes know nothing of strategies, devices or requests:
a body is a function of `park`, and calling `park(arrival)` waits until all lanes of the group have
parked and gives the meeting's answer back. Lanes nest: whatever a meeting runs may run lanes again.
"""

import threading
import weakref
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from typing import Any, Final, Literal, Protocol, final

from greenlet import getcurrent, greenlet

from simstrategy.schedules import Schedule

__all__ = ["FINISHED", "LaneStopped", "Lanes", "Park"]

Park = Callable[[Any], Any]
Body = Callable[[Park], Any]
Meet = Callable[[list[Any], list[int]], Sequence[Any]]
"""Takes all lanes' arrivals and the order in which they came; returns the answers in lane order."""
Failed = Callable[[int, BaseException, list[Any], list[int]], None]
"""Is told of the lane that raised, its exception, all lanes' latest arrivals, and who came in this round."""

_STOP_TRIES: Final = 100


class LaneStopped(BaseException):
    """Raised inside a waiting lane whose run is over because another lane raised."""


@final
class _Finished:
    __slots__ = ()

    def __repr__(self) -> str:
        return "FINISHED"


FINISHED: Final = _Finished()
"""Stands for the arrival of a lane that has returned."""


class _Lane(Protocol):
    resume: Callable[[Any], Any]
    """Runs the lane until it parks or returns; gives its arrival or FINISHED, or raises what it raised."""

    def stop(self) -> Any:
        """Raises LaneStopped where the lane waits; gives what `resume` gives."""
        ...


@final
class Lanes:
    """Runs groups of bodies under one schedule.

    carrier: `greenlet` where nothing is kept per thread, else `thread`; a group of one runs inline.
    """

    __slots__ = ("__weakref__", "_idle", "carrier", "schedule")

    def __init__(self, carrier: Literal["greenlet", "thread"], schedule: Schedule) -> None:
        self.carrier = carrier
        self.schedule = schedule
        self._idle: list[_Thread] = []
        weakref.finalize(self, _dismiss, self._idle)

    def run(self, bodies: Sequence[Body], meet: Meet, failed: Failed) -> list[Any]:
        """Runs the bodies to their ends and returns their results in order.

        Each runs in its own copy of the caller's context. The first exception ends the run: lanes that
        have not started never start, waiting ones are stopped in order, and it comes out unchanged.
        """
        results: list[Any] = [None] * len(bodies)
        if len(bodies) == 1:
            results[0] = self._run_inline(bodies[0], meet, failed)
        elif self.carrier == "greenlet":
            hub = getcurrent()
            self._run_group([_greenlet_lane(hub, body, results, i) for i, body in enumerate(bodies)], meet, failed)
        else:
            threads = [self._idle.pop() if self._idle else _Thread() for _ in bodies]
            for index, (thread, body) in enumerate(zip(threads, bodies, strict=True)):
                thread.begin(body, results, index)
            try:
                self._run_group(threads, meet, failed)
            finally:
                self._idle.extend(thread for thread in threads if thread.is_idle())
        return results

    def close(self) -> None:
        """Ends the pooled threads."""
        _dismiss(self._idle)

    def _run_inline(self, body: Body, meet: Meet, failed: Failed) -> Any:
        raised: list[BaseException] = []

        def park(arrival: Any) -> Any:
            try:
                return meet([arrival], [0])[0]
            except BaseException as error:
                raised.append(error)
                raise

        try:
            return copy_context().run(body, park)
        except BaseException as error:
            if not any(error is one for one in raised):  # else it came from the meeting, not from the lane
                failed(0, error, [None], [])
            raise

    def _run_group(self, lanes: Sequence[_Lane], meet: Meet, failed: Failed) -> None:
        count = len(lanes)
        answers: Sequence[Any] = [None] * count
        arrivals: list[Any] = [None] * count
        choose = self.schedule.choose
        while True:
            order: list[int] = []
            # Reversed, so that taking the first (TensorFlow's order) takes no time for 10,000 lanes.
            ready = list(range(count - 1, -1, -1))
            try:
                while ready:
                    left = len(ready)
                    index = ready.pop(left - 1 - choose("lane", left)) if left > 1 else ready.pop()
                    arrivals[index] = lanes[index].resume(answers[index])
                    order.append(index)
                if all(arrival is FINISHED for arrival in arrivals):
                    return
            except BaseException as error:
                arrivals[index] = FINISHED
                failed(index, error, arrivals, order)
                _stop(lanes, arrivals)
                raise
            try:
                answers = meet(arrivals, order)
            except BaseException:
                _stop(lanes, arrivals)
                raise


def _stop(lanes: Sequence[_Lane], arrivals: list[Any]) -> None:
    for lane, latest in zip(lanes, arrivals, strict=True):
        arrival, tries = latest, 0
        while arrival is not None and arrival is not FINISHED and tries < _STOP_TRIES:
            tries += 1
            try:
                arrival = lane.stop()
            except BaseException:  # the run already has its exception; this lane only had to end
                arrival = FINISHED


@final
class _GreenletLane:
    __slots__ = ("_greenlet", "resume")

    def __init__(self, body: Callable[[Any], Any], context: Context) -> None:
        self._greenlet = greenlet(body)
        self._greenlet.gr_context = context
        self.resume: Callable[[Any], Any] = self._greenlet.switch

    def stop(self) -> Any:
        return self._greenlet.throw(LaneStopped())


def _greenlet_lane(hub: greenlet, body: Body, results: list[Any], index: int) -> _GreenletLane:
    def run(_answer: Any) -> Any:
        results[index] = body(hub.switch)
        return FINISHED

    return _GreenletLane(run, copy_context())


@final
class _Thread:
    """One pooled thread; a baton lets it run only between `resume` and its next `park`."""

    def __init__(self) -> None:
        self._go = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._job: tuple[Context, Body, list[Any], int] | None = None
        self._answer: Any = None
        self._arrival: Any = None
        self._error: BaseException | None = None
        self._started = False
        self._broken = False
        # A daemon: a parked thread must never keep a failing interpreter alive.
        self._thread = threading.Thread(target=self._loop, name="simstrategy lane", daemon=True)
        self._thread.start()

    def begin(self, body: Body, results: list[Any], index: int) -> None:
        self._job = (copy_context(), body, results, index)
        self._started = False

    def is_idle(self) -> bool:
        """Tells whether the thread waits for a new body."""
        return not self._broken and (self._arrival is FINISHED or not self._started)

    def resume(self, answer: Any) -> Any:
        self._started = True
        self._answer, self._arrival, self._error = answer, None, None
        self._go.release()
        try:
            self._back.acquire()
        except BaseException:
            # Interrupted while the lane runs: nobody can say where it is, so it is never used again.
            self._broken = True
            self._answer = LaneStopped()
            self._go.release()
            raise
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return self._arrival

    def stop(self) -> Any:
        return self.resume(LaneStopped())

    def dismiss(self) -> None:
        self._job = None
        self._go.release()
        self._thread.join()

    def _park(self, arrival: Any) -> Any:
        self._arrival = arrival
        self._back.release()
        self._go.acquire()
        if isinstance(self._answer, LaneStopped):
            raise self._answer
        return self._answer

    def _loop(self) -> None:
        while True:
            self._go.acquire()
            if self._job is None:
                return
            (context, body, results, index), self._job = self._job, None
            try:
                results[index] = context.run(body, self._park)
            except BaseException as error:  # carried to the thread that called run, and raised there
                self._error = error
            self._arrival = FINISHED
            del context, body, results
            self._back.release()
            if self._broken:
                return


def _dismiss(idle: list[_Thread]) -> None:
    while idle:
        idle.pop().dismiss()


