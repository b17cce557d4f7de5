"""What ends a run, or the process of a submission: by the class of the error, a name and a hint."""

import errno
from typing import Final

from simstrategy_course.lesson import Setting
from simstrategy_course.running import Failure
from simstrategy_course.verdict import Idea

__all__ = ["ENDED", "failed"]

ENDED: Final = {
    "TimeLimit": (
        "the program does not end in time",
        "Look for a loop without an end, or for a wait for something that never comes.",
    ),
    "ProcessEnded": (
        "the program ended its process",
        "Take out what ends Python, such as os._exit, and what needs very much memory. Return the result instead.",
    ),
    "MemoryError": (
        "the program needs too much memory",
        "Work on the part that the replica gets, not on a larger array.",
    ),
    "SystemExit": ("the program calls sys.exit", "Take the call out. A graded function returns its result."),
    "ReplicasDisagree": (
        "the replicas make different calls",
        "All replicas make the same collective calls in the same order. Look for an if on data or on the rank.",
    ),
    "ReplicasBlocked": (
        "a replica waits for what never comes",
        "Replicas of one process share locks and queues. Let them wait for each other in collectives alone.",
    ),
    "ContextError": (
        "a call is made in a place where it is not allowed",
        "Read the error. Some calls are for replica functions, and some for the code around strategy.run.",
    ),
}
"""What ends a run, by the class of its error: a name and a hint."""

_OF_PROCESS: Final = ("TimeLimit", "ProcessEnded")
"""What is no exception: it has no text."""

_RAISED: Final = "Read the error and the line. Run the file without the grader to see all of it."


_TOO_LARGE: Final = (
    "the program prints or writes too much",
    "Take the printing out, or look for a loop without an end. Return the result instead.",
)


def failed(failure: Failure, setting: Setting | None = None) -> Idea:
    """Returns what ended a run, or for no setting the whole process, as an idea."""
    too_large = failure.name == "OSError" and failure.text.startswith(f"[Errno {errno.EFBIG}]")
    name, hint = _TOO_LARGE if too_large else ENDED.get(failure.name, (f"the program raises {failure.name}", _RAISED))
    facts = [] if setting is None else [f"It happens with {setting}."]
    if failure.name not in _OF_PROCESS:
        line = "" if failure.line is None else f" at line {failure.line}"
        facts.append(f"{failure.name}{line}: {failure.text}" if failure.text else f"{failure.name}{line}")
    return Idea(name, "symptom", hint, tuple(line for fact in facts for line in fact.splitlines()))
