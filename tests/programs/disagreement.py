"""What a disagreeing program states: the line of the message for every replica.  It runs nothing."""

from collections.abc import Callable
from typing import NamedTuple

from program_catalogue import Program, ReplicaFunction, program_of, replica, with_sites

__all__ = ["Disagreement", "disagrees", "is_last", "step_disagrees"]

HEADER = "Replicas make different collective calls here. Make the same calls in the same order in all replicas:"


class Disagreement(NamedTuple):
    """A program, and what its first replica, its last one and the others came for.

    In the texts `<mark>` stands for file and line of the program's line marked so, and `<rank>` for the rank.
    """

    program: Program
    first: str
    others: str
    last: str

    def message(self, replicas: int) -> str:
        """Returns the whole text of the error: one line per replica."""
        texts = [self.first, *[self.others] * (replicas - 2), self.last]
        lines = [f"replica {rank}: {with_sites(self.program, text, rank)}" for rank, text in enumerate(texts)]
        return "\n  ".join([HEADER, *lines])


def disagrees(
    cases: dict[str, Disagreement], others: str, *, first: str | None = None, last: str | None = None
) -> Callable[[Program], Program]:
    """Returns a decorator that enters a program with the lines it has to be answered with."""

    def enter(program: Program) -> Program:
        assert program.__name__ not in cases, f"two programs are called {program.__name__}"
        cases[program.__name__] = Disagreement(program, first or others, others, last or others)
        return program

    return enter


def step_disagrees(cases: dict[str, Disagreement], others: str, **texts: str) -> Callable[[ReplicaFunction], Program]:
    """Returns a decorator that enters the program of a replica function, as `disagrees` enters a program."""
    return lambda step: disagrees(cases, others, **texts)(program_of(step))


def is_last() -> bool:
    """Tells whether the running replica is the last of all."""
    context = replica()
    return context.replica_id_in_sync_group == context.num_replicas_in_sync - 1
