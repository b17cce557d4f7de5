"""The options of runs that several commands share: schedules, profiles, costs, orders of additions."""

import dataclasses
import re
from collections.abc import Callable
from typing import Annotated, Any, Final

import typer

from simstrategy.cli.texts import literal, words
from simstrategy.schedules import Every, InOrder, Schedule, Seeded
from simstrategy.sim import ORDERS, Cost
from simstrategy.strategy import PROFILES, Semantics

__all__ = ["Order", "cost_of", "one_schedule", "schedule_maker", "semantics_named"]


def cost_of(text: str) -> Cost:
    """Returns the costs that a text such as ``compute_s=0.01,slow=2:4,algorithm=ring,overlap=True`` declares.

    slow may come several times. Raises BadParameter for another name or form, and what `Cost` raises for a value.
    """
    found: dict[str, Any] = {}
    for word in words(text):
        name, sign, value = word.partition("=")
        if not sign or name not in _COSTS:
            raise typer.BadParameter(f"--cost: {word!r} is none of {', '.join(f'{one}=…' for one in _COSTS)}")
        if name != "slow":
            found[name] = literal(value)
            continue
        rank, sign, factor = value.partition(":")
        if not sign:
            raise typer.BadParameter(
                f"--cost: {word!r} has no factor: write slow=2:4 for a replica 2 that takes 4 times"
            )
        found.setdefault("slow", {})[literal(rank)] = literal(factor)
    return Cost(**found)


_COSTS: Final = tuple(field.name for field in dataclasses.fields(Cost))


def schedule_maker(text: str) -> Callable[[], Schedule] | Every:
    """Returns what makes the schedule `in-order` or `seeded:N`, or for `all:N` every schedule up to N."""
    if text == "in-order":
        return InOrder
    limit = re.fullmatch(r"all:([1-9][0-9]*)", text)
    if limit:
        return Every(int(limit[1]))
    found = re.fullmatch(r"seeded:(-?[0-9]+)", text)
    if found:
        return lambda: Seeded(int(found[1]))
    raise typer.BadParameter(f"{text!r} is not a schedule: write in-order, seeded:1 with any number, or all:100")


def one_schedule(text: str) -> Schedule:
    """Returns a schedule for one run."""
    made = schedule_maker(text)
    if isinstance(made, Every):
        raise typer.BadParameter(f"{text!r} names many schedules, and one run has one: write in-order, or seeded:1")
    return made()


def _order_named(text: str) -> str:
    """Returns the name of an order of additions."""
    if text not in ORDERS:
        raise typer.BadParameter(f"{text!r} is not an order of additions: choose from {', '.join(ORDERS)}")
    return text


Order = Annotated[str, typer.Option(help="Of the simulator's additions: linear, ring or tree.", callback=_order_named)]


def semantics_named(text: str) -> Semantics:
    """Returns the profile TF1_13, TF1_15 or TF2, in upper or lower case."""
    name = text.upper()
    if name not in PROFILES:
        raise typer.BadParameter(f"{text!r} is not a profile: choose from {', '.join(PROFILES)}")
    return PROFILES[name]
