"""Replays recorded calls of TensorFlow on our strategies and compares the answers with TensorFlow's.

It starts no TensorFlow and records nothing: the recorders are beside this package.
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
