"""Lanes: N replica functions, one running at a time, switching only where they meet.

The only module that knows greenlets or threads. Lanes know nothing of strategies, devices or requests:
a body is a function of its index and `park`, and calling `park(arrival)` waits until all lanes of the group have
parked and gives the meeting's answer back. Lanes nest: whatever a meeting runs may run lanes again.
"""

import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextvars import Context, copy_context
from typing import Any, Literal, NoReturn, final

from greenlet import getcurrent, greenlet

from simstrategy.run.lane import FINISHED, Body, Failed, Job, Lane, LaneStopped, Meet, Park, stop
from simstrategy.run.relay import Relay
from simstrategy.schedules import InOrder, Schedule

__all__ = ["FINISHED", "LaneStopped", "Lanes", "Park"]


@final
class Lanes:
    """Runs groups of lanes under one schedule.

    carrier: `greenlet` where nothing is kept per thread, else `thread`; a group of one runs inline.
    """

    __slots__ = ("__weakref__", "_greenlets", "_threads", "carrier", "schedule")

    def __init__(self, carrier: Literal["greenlet", "thread"], schedule: Schedule) -> None:
        self.carrier = carrier
        self.schedule = schedule
        self._greenlets = _GreenletPool()
        self._threads: list[_Thread] = []
        weakref.finalize(self, _dismiss, self._threads)

    def run(self, count: int, body: Body, meet: Meet, failed: Failed) -> list[Any]:
        """Runs `body(index, park)` in `count` lanes to their ends and returns their results in order.

        Each runs in its own copy of the caller's context. The first exception ends the run: lanes that
        have not started never start, waiting ones are stopped in order, and it comes out unchanged.
        """
        results: list[Any] = [None] * count
        if count == 1:
            results[0] = _run_inline(body, meet, failed)
        elif self.carrier == "greenlet":
            lanes = self._greenlets.take(count)
            hub = getcurrent()
            back = hub.switch
            # InOrder always takes the first of those that are left, so it need not be asked.
            if type(self.schedule) is InOrder:
                relay = Relay(lanes, hub)
                # One job for all, who take their indices as they start.
                relay.run([(body, iter(range(count)), results, relay.park, back)] * count, meet, failed)
            else:
                self._run_group(lanes, [(body, iter((i,)), results, back, back) for i in range(count)], meet, failed)
            self._greenlets.give_back(lanes)
        else:
            threads = [self._threads.pop() if self._threads else _Thread() for _ in range(count)]
            jobs = [(body, iter((i,)), results, thread.park, thread.park) for i, thread in enumerate(threads)]
            for thread in threads:
                thread.begin(copy_context())
            try:
                self._run_group(threads, jobs, meet, failed)
            finally:
                self._threads.extend(thread for thread in threads if thread.is_idle())
        return results

    def close(self) -> None:
        """Ends the pooled threads."""
        _dismiss(self._threads)

    def _run_group(self, lanes: Sequence[Lane], jobs: Sequence[Job], meet: Meet, failed: Failed) -> None:
        count = len(lanes)
        # The first thing a lane is told is its job.
        answers: Sequence[Any] = jobs
        arrivals: list[Any] = [None] * count
        running: Sequence[int] = range(count)
        while True:
            order: list[int] = []
            index, finished = -1, False
            try:
                for index in self._picks(running):
                    arrival = arrivals[index] = lanes[index].switch(answers[index])
                    if isinstance(arrival, BaseException):
                        raise arrival  # a greenlet that was told to end gives this back instead of raising it
                    order.append(index)
                    if arrival is FINISHED:
                        finished = True
                if finished:
                    # Those that are left may go on if the meeting answers them: a cluster's workers do.
                    running = [one for one in running if arrivals[one] is not FINISHED]
                    if not running:
                        return
            except BaseException as error:
                # The last lane has come already where it was the schedule that raised.
                if index >= 0 and index not in order:
                    arrivals[index] = FINISHED
                    failed(index, error, arrivals, order)
                stop(lanes, arrivals)
                raise
            try:
                answers = meet(arrivals, order)
            except BaseException:
                stop(lanes, arrivals)
                raise

    def _picks(self, running: Sequence[int]) -> Iterable[int]:
        """Returns each lane once, in the order that the schedule chooses as it goes."""
        return running if type(self.schedule) is InOrder else self._choices(list(running))

    def _choices(self, left: list[int]) -> Iterator[int]:
        while len(left) > 1:
            yield left.pop(self.schedule.choose("lane", len(left)))
        yield left[0]


def _run_inline(body: Body, meet: Meet, failed: Failed) -> Any:
    raised: list[BaseException] = []
    outside = copy_context()

    def park(arrival: Any) -> Any:
        try:
            # Not in the lane's own context, of which a meeting of several lanes knows nothing either.
            return outside.run(meet, [arrival], [0])[0]
        except BaseException as error:
            raised.append(error)
            raise

    try:
        return copy_context().run(body, 0, park)
    except BaseException as error:
        if not any(error is one for one in raised):  # else it came from the meeting, not from the lane
            failed(0, error, [None], [])
        raise


@final
class _GreenletPool:
    """Greenlets that wait for a job, of each thread its own, since they cannot leave the thread they began in.

    Kept from run to run: a new one costs more than all that a lane does in a step, and the fewer objects
    10,000 lanes make, the less there is for the garbage collector to walk through.
    """

    __slots__ = ("_local",)

    def __init__(self) -> None:
        self._local = threading.local()

    def take(self, count: int) -> list[greenlet]:
        """Returns greenlets that belong to the caller's greenlet, each with a copy of its context."""
        idle: list[greenlet] = self._local.__dict__.setdefault("idle", [])
        first = max(len(idle) - count, 0)
        lanes = idle[first:]
        del idle[first:]
        lanes.extend([_started() for _ in range(count - len(lanes))])
        hub = getcurrent()
        for lane in lanes:
            if lane.parent is not hub:
                lane.parent = hub
            lane.gr_context = copy_context()
        return lanes

    def give_back(self, lanes: list[greenlet]) -> None:
        """Keeps greenlets whose jobs have ended well."""
        for lane in lanes:
            lane.gr_context = None
        self._local.idle.extend(lanes)


def _started() -> greenlet:
    """Makes a greenlet that waits for its first job: arguments of its first switch would be kept all its life."""
    lane = greenlet(_work)
    lane.switch(getcurrent().switch)
    return lane


def _work(park: Park) -> NoReturn:
    """The life of a pooled greenlet: one job after the other, until one raises."""
    job: Job = park(FINISHED)
    while True:
        body, indices, results, park, back = job
        index = next(indices)
        results[index] = body(index, park)
        # Not by `park`, which may hand over to another lane: one that waits for a job holds none.
        del job, body, indices, results, park
        job = back(FINISHED)


@final
class _Throw:
    """An answer that is raised where the lane waits."""

    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


@final
class _Thread:
    """One pooled thread; a baton lets it run only between `switch` and its next `park`."""

    def __init__(self) -> None:
        self._go = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._context: Context | None = None
        self._answer: Any = None
        self._outcome: tuple[Any, BaseException | None] = (FINISHED, None)
        """The latest arrival, and what the lane raised instead."""
        self._dismissed = False
        # A daemon: a parked thread must never keep a failing interpreter alive.
        self._thread = threading.Thread(target=self._loop, name="simstrategy lane", daemon=True)
        self._thread.start()

    def begin(self, context: Context) -> None:
        """Gets ready for a job in this context."""
        self._context = context

    def is_idle(self) -> bool:
        """Tells whether the thread waits for a new job: also if its last one never started."""
        return self._outcome[0] is FINISHED and not self._dismissed

    def switch(self, answer: Any, /) -> Any:
        self._answer = answer
        self._go.release()
        try:
            self._back.acquire()
        except BaseException:
            # Interrupted while the lane runs: it is told to stop when it parks, and is never used again.
            self._dismissed = True
            self._answer = _Throw(LaneStopped())
            self._go.release()
            raise
        arrival, error = self._outcome
        if error is not None:
            self._outcome = (FINISHED, None)
            raise error
        return arrival

    def throw(self, error: BaseException, /) -> Any:
        return self.switch(_Throw(error))

    def dismiss(self) -> None:
        """Ends the thread, which waits for a job."""
        self._dismissed = True
        self._go.release()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def park(self, arrival: Any) -> Any:
        self._outcome = (arrival, None)
        self._back.release()
        self._go.acquire()
        if isinstance(self._answer, _Throw):
            raise self._answer.error
        return self._answer

    def _loop(self) -> None:
        while not self._dismissed:
            self._go.acquire()
            if self._dismissed or self._context is None:
                return
            body, indices, results, park, _ = self._answer
            index = next(indices)
            error: BaseException | None = None
            try:
                results[index] = self._context.run(body, index, park)
            except BaseException as raised:  # noqa: BLE001 - carried to the thread that called run, and raised there
                error = raised
            # Nothing of the run is kept: it holds the strategy, whose end ends this thread.
            self._outcome, self._answer, self._context = (FINISHED, error), None, None
            del body, indices, results, park, error
            self._back.release()


def _dismiss(idle: list[_Thread]) -> None:
    while idle:
        idle.pop().dismiss()
