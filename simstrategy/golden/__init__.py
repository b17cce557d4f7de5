"""Recorded answers of real TensorFlow, replayed: does this strategy answer the same?

It replays and compares; it starts no TensorFlow and records nothing.
"""

from simstrategy.golden.cases import Case, RecordedError, read_cases
from simstrategy.golden.deviations import Deviation, read_deviations
from simstrategy.golden.replay import BUILT, replay
from simstrategy.golden.tally import COLUMNS, Finding, Outcome, Tally, replay_all
from simstrategy.golden.verdict import Raised, difference

__all__ = [
    "BUILT",
    "COLUMNS",
    "Case",
    "Deviation",
    "Finding",
    "Outcome",
    "Raised",
    "RecordedError",
    "Tally",
    "difference",
    "read_cases",
    "read_deviations",
    "replay",
    "replay_all",
]
