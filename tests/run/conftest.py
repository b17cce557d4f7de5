"""What the tests of tasks share."""

import pytest

from simstrategy.run import ReplicaTasks
from simstrategy.schedules import InOrder


@pytest.fixture
def tasks(executor):
    """Makes tasks on each executor in turn, and closes them."""
    made = []

    def make(schedule=None):
        made.append(ReplicaTasks(executor, InOrder() if schedule is None else schedule))
        return made[-1]

    yield make
    for one in made:
        one.close()
