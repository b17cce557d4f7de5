"""What the tests of lanes share."""

import pytest

from simstrategy.run import Lanes
from simstrategy.schedules import InOrder


@pytest.fixture
def lanes(carrier):
    """Makes lanes on each carrier in turn, and closes them."""
    made = []

    def make(schedule=None):
        made.append(Lanes(carrier, InOrder() if schedule is None else schedule))
        return made[-1]

    yield make
    for one in made:
        one.close()
