"""The laws' names, in the order of a report, and what rows and remarks state of each.  `laws/` judges by them."""

from typing import Final, NamedTuple

__all__ = ["BY_SETTING", "LAWS", "NAMED", "LawFacts", "facts_of"]


class LawFacts(NamedTuple):
    """What a row of one law shows.

    meaning: what the law demands. equal_traces: whether the runs that it compares have equal traces. schedules: whether
    its column of schedules names a schedule or an order of additions; else it names a setting or a fault. settings:
    whether it compares two settings of one program, by their values; else the last line of a report names the law.
    default: whether it is judged without being named. in_process: whether it needs a backend whose replicas are in one
    process. needs: what is given for it, where it has nothing to compare.
    """

    meaning: str = "it is a law of another distribution"
    equal_traces: bool = False
    schedules: bool = True
    settings: bool = True
    default: bool = False
    in_process: bool = True
    needs: str = ""


LAWS: Final[dict[str, LawFacts]] = {
    "repeat": LawFacts(
        "the reference at a number of replicas, run twice: both runs give the same bits", equal_traces=True
    ),
    "backends": LawFacts(
        "another backend gives what the reference gives",
        equal_traces=True,
        needs="give several backends, such as sim and torch",
    ),
    "schedules": LawFacts(
        "another order in which the replicas run gives what the reference gives",
        equal_traces=True,
        needs="give other schedules than in-order, such as seeded:1",
    ),
    "workers": LawFacts(
        "processes, or simulated workers, give what one run of as many workers gives",
        equal_traces=True,
        needs="give numbers of workers, such as 2",
    ),
    "compiled": LawFacts(
        "every step, compiled to one program for all replicas, gives what its tasks give",
        schedules=False,
        needs="compile the steps: compiled=True, or --compiled",
    ),
    "replicas": LawFacts(
        "another number of replicas gives the same result",
        default=True,
        needs="give several numbers of replicas, such as 1, 2 and 3",
    ),
    "state": LawFacts(
        "what must be equal on all replicas is equal on all of them in the end",
        settings=False,
        default=True,
        in_process=False,
        needs="give a number of replicas above 1",
    ),
    "cut": LawFacts(
        "an argument that cuts the same work differently gives the same result",
        schedules=False,
        default=True,
        needs="give an argument with several values in vary, such as accumulate=1,2",
    ),
    "order": LawFacts(
        "other orders of additions and of the replicas give the same result",
        needs="give a number of replicas above 1, since one replica has no order",
    ),
    "coverage": LawFacts(
        "the replicas share out the rows of each dataset: none is lost or repeated", schedules=False, settings=False
    ),
    "random": LawFacts(
        "what replicas draw does not depend on whether they share a process", schedules=False, settings=False
    ),
    "resume": LawFacts(
        "a run that starts again from what was saved gives the same result", schedules=False, settings=False
    ),
    "faults": LawFacts(
        "a planted fault is named, and leaves nothing behind that is half-written",
        schedules=False,
        settings=False,
        needs="give a number of replicas above 1: faults are planted in one of several",
    ),
}

BY_SETTING: Final = ("backends", "schedules", "workers", "compiled")
"""Laws whose runs are chosen by the setting of the same name."""

NAMED: Final = tuple(name for name in LAWS if name not in (*BY_SETTING, "repeat"))
"""Laws that are chosen by name."""


def facts_of(law: str) -> LawFacts:
    """Returns the facts of a law; those that a new law begins with for one of another distribution."""
    return LAWS.get(law, LawFacts())
