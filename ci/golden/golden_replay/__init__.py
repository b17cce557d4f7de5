"""Recorded answers of real TensorFlow, replayed: does this strategy answer the same?

It replays and compares; it starts no TensorFlow and records nothing.
"""

from golden_replay.cases import Case, RecordedError, read_cases
from golden_replay.deviations import Deviation, read_deviations
from golden_replay.replay import BUILT, replay
from golden_replay.tally import COLUMNS, Finding, Outcome, Tally, replay_all
from golden_replay.verdict import Raised, difference

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
