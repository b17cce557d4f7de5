"""Compares where data ends on two workers of the real strategy, of gloo and of the simulator.  No tests."""

from typing import Any, NamedTuple

import ends_program
import pytest

from simstrategy.launch import Launcher
from simstrategy_tf_distribute import run_workers

LIMIT_S = 540.0


class Found(NamedTuple):
    """For each worker, what it got of each case."""

    theirs: list[Any]
    gloo: list[Any]
    simulated: list[Any]


def asked(count: int) -> Found:
    """Goes through the first cases; one pair of processes serves them all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENDS", str(count))
        theirs = run_workers(ends_program.__file__, workers=2, timeout_s=LIMIT_S)
    with Launcher(2, preload=["simstrategy_torch"]) as launcher:
        ended = launcher.run(ends_program.on_gloo, [count], timeout_s=LIMIT_S)
    assert all(one.ok for one in ended), ended
    return Found(theirs, [one.value for one in ended], ends_program.simulated(count))


def judge(found: Found, number: int) -> None:
    """Fails unless each worker got the same of a case everywhere, and it ended for both at once."""
    what = ends_program.drawn(number)
    for worker in range(2):
        theirs = found.theirs[worker][number]
        assert found.simulated[worker][number] == theirs, f"{what} in worker {worker} of the simulator"
        assert found.gloo[worker][number] == theirs, f"{what} in worker {worker} on gloo"
    lengths = {len(found.theirs[worker][number]) for worker in range(2)}
    assert len(lengths) == 1, f"{what}: one worker of the real strategy ended before the other"
