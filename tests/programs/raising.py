"""Programs in which the last replica raises, and the note that its exception has to carry: name -> `Raising`.

The note names the replica, the line that raised, and who was waiting where; replicas run in rank order.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from disagreement import is_last
from program_catalogue import Program, eighths, own, replica, with_sites

import simstrategy as ss

__all__ = ["RAISING", "Raising"]


class Raising(NamedTuple):
    """A program, the class and text of its last replica's exception, and what the other replicas wait in."""

    program: Program
    error: type[Exception]
    text: str
    waiting: str

    def notes(self, replicas: int) -> tuple[str, ...]:
        """Returns the notes on the exception where all replicas run in one process."""
        last = replicas - 1
        lines = [f"In replica {last}: {self.note(last)}"]
        lines += [
            f"  replica {rank} was waiting in {with_sites(self.program, self.waiting, rank)}" for rank in range(last)
        ]
        return ("\n".join(lines),)

    def where(self, rank: int) -> str:
        """Returns the text that says what was raised on which line."""
        return with_sites(self.program, f"{self.error.__name__}({self.text}) raised at <raise>", rank)

    def note(self, rank: int) -> str:
        """Returns the same without the text, which stands above the note."""
        return with_sites(self.program, f"{self.error.__name__} raised at <raise>", rank)


RAISING: Final[dict[str, Raising]] = {}


def program(error: type[Exception], text: str, waiting: str) -> Callable[[Program], Program]:
    def enter(program: Program) -> Program:
        RAISING[program.__name__] = Raising(program, error, text, waiting)
        return program

    return enter


class Broken(Exception):
    """A user's own exception."""


@program(ValueError, "no such luck", "all_reduce SUM float32[2] at <here>")
def raised_instead_of_a_collective(strategy: ss.Strategy) -> Any:
    def step() -> Any:
        if is_last():
            raise ValueError("no such luck")  # <raise>
        return replica().all_reduce("SUM", own(2))  # <here>

    return strategy.run(step)


@program(Broken, "after two", "all_gather axis=0 float32[?] at <here>")
def raised_between_collectives(strategy: ss.Strategy) -> Any:
    def step() -> Any:
        for count in range(3):
            if count == 2 and is_last():
                raise Broken("after two")  # <raise>
            replica().all_gather(own(2), 0)  # <here>

    return strategy.run(step)


@program(KeyError, "'weights'", "merge_call merge (<merge>) ((*,), {}) at <here>")
def raised_instead_of_a_merge_call(strategy: ss.Strategy) -> Any:
    def merge(_: ss.Strategy, value: Any) -> Any:  # <merge>
        return value

    def step() -> Any:
        values = {} if is_last() else {"weights": own(1)}
        found = values["weights"]  # <raise>
        return replica().merge_call(merge, args=(found,))  # <here>

    return strategy.run(step)


@program(ZeroDivisionError, "integer division or modulo by zero", "assign_add total SUM float32[2] at <here>")
def raised_instead_of_a_write(strategy: ss.Strategy) -> Any:
    with strategy.scope():
        total = ss.Variable(eighths(2), aggregation=ss.VariableAggregation.SUM, name="total")

    def share() -> int:
        left = replica().num_replicas_in_sync - 1 - replica().replica_id_in_sync_group
        return 12 // left  # <raise>

    return strategy.run(lambda: total.assign_add(own(2) * float(share())))  # <here>


@program(Broken, "in an inner run", "all_reduce MEAN float32[2] at <here>")
def raised_in_an_inner_run(strategy: ss.Strategy) -> Any:
    def inner(value: Any) -> Any:
        if is_last():
            raise Broken("in an inner run")  # <raise>
        return replica().all_reduce("MEAN", value)  # <here>

    def step() -> Any:
        return replica().merge_call(lambda merging, value: merging.run(inner, args=(value,)), args=(own(2),))

    return strategy.run(step)
