"""Lanes that hand over to each other: a round of N lanes takes N + 1 switches instead of 2 N.

For carriers whose waiting lane can be woken by any other, and for rounds in which the order is known before.
It does then what `Lanes` does by going to and fro, and knows neither schedules nor greenlets.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, final

from simstrategy.run.lane import FINISHED, Failed, Job, Lane, Meet, stop

__all__ = ["Relay"]

_PARKED: Final = "parked"


@final
class Relay:
    """One run of a group of lanes, always in the order of their indices.

    hub: runs the group; a lane that ends or raises comes there by itself.
    """

    __slots__ = ("_begin", "_came", "_following", "_lanes", "park")

    def __init__(self, lanes: Sequence[Lane], hub: Lane) -> None:
        self._lanes = lanes
        came: list[Any] = []
        self._came = came
        """The arrivals of this round so far."""
        self._following: list[Lane] = [*lanes[1:], hub]
        """For each place in a round: who runs after it."""
        hops: Iterator[tuple[Lane, Any]] = iter(())
        arrive, over = came.append, (hub, _PARKED)

        # One for all lanes, which take the next hop whoever they are: whatever is made for each of 10,000 lanes costs
        # the garbage collector more than the lanes themselves.
        def park(arrival: Any) -> Any:
            arrive(arrival)
            lane, answer = next(hops, over)
            return lane.switch(answer)

        def begin(following: Sequence[Lane], answers: Sequence[Any]) -> Iterator[tuple[Lane, Any]]:
            nonlocal hops
            hops = zip(following, answers, strict=True)
            return hops

        self.park = park
        self._begin = begin

    def run(self, jobs: Sequence[Job], meet: Meet, failed: Failed) -> None:
        """Runs all lanes to their ends; see `Lanes.run`."""
        count, came = len(jobs), self._came
        answers: Sequence[Any] = jobs
        arrivals: list[Any] = [None] * count
        running = list(range(count))
        try:
            while True:
                finished = self._round(running, answers)
                order = running
                if len(came) == count:
                    arrivals = came.copy()
                else:
                    _enter(came, running, arrivals)
                if finished:
                    # Those that are left may go on if the meeting answers them: a cluster's workers do.
                    running = [one for one in running if arrivals[one] is not FINISHED]
                    if not running:
                        return
                    self._following[: len(order) - 1] = [self._lanes[one] for one in running[1:]]
                answers = meet(arrivals, order)
        except BaseException as error:
            self._end()
            if len(came) < len(running):
                _enter(came, running, arrivals)
                culprit = running[len(came)]
                arrivals[culprit] = FINISHED
                failed(culprit, error, arrivals, running[: len(came)])
            stop(self._lanes, arrivals)
            raise
        finally:
            self._end()

    def _round(self, running: list[int], answers: Sequence[Any]) -> bool:
        """Runs these lanes until each has parked or returned; tells whether one has returned.

        Raises what a lane raises: it is the one after those that came.
        """
        came, lanes, finished = self._came, self._lanes, False
        came.clear()
        # What a lane takes along, and the last one takes to the hub.
        given = answers[1:] if len(running) == len(lanes) else [answers[one] for one in running[1:]]
        hops = self._begin(self._following, [*given, None])
        while len(came) < len(running):
            first = running[len(came)]
            told = lanes[first].switch(answers[first])
            if told is FINISHED:
                finished = True
                came.append(FINISHED)
                next(hops)
            elif isinstance(told, BaseException):
                raise told  # a greenlet that was told to end gives this back instead of raising it
        return finished

    def _end(self) -> None:
        """Makes lanes that still park come back, and lets go of everything else."""
        self._begin((), ())
        self._following.clear()


def _enter(came: list[Any], running: list[int], arrivals: list[Any]) -> None:
    for index, arrival in zip(running, came, strict=False):
        arrivals[index] = arrival
