"""What a check gives a worker to do, and what the worker returns.  Plain data, without TensorFlow."""

from typing import Any, NamedTuple

from simstrategy.check.outcome import Outcome

__all__ = ["Answer", "Heard", "Job"]


class Job(NamedTuple):
    """One run of one function of one file, in all workers.

    seed: of Keras and TensorFlow. recorded: whether calls in compiled functions are reported and their values recorded;
    XLA does not compile functions with either. arguments: of a script.
    """

    file: str
    function: str
    seed: int
    recorded: bool = True
    arguments: tuple[str, ...] = ()


class Heard(NamedTuple):
    """One call of an `observing.Sink` in a worker.  what: its name."""

    what: str
    arguments: tuple[Any, ...]


class Answer(NamedTuple):
    """What one worker's run gave.  heard: in order."""

    outcome: Outcome
    heard: tuple[Heard, ...]
