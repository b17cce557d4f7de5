"""The identity of a variable in requests: its place in the order in which its strategy's variables were made.

Names need not be unique, so a name does not identify a variable. Nothing is compared or stored here.
"""

from collections import Counter
from typing import final

from simstrategy.trace import Site, Subject, describe_site

__all__ = ["VariableIdentity"]


@final
class VariableIdentity(Subject):
    """One variable of a strategy.

    number: how many variables the strategy had when this one was made, in every process the same. made: where it was
    made. names: how many variables of the strategy have each name, now and later.
    """

    __slots__ = ("_names", "made", "name", "number")
    __hash__ = None  # type: ignore[assignment]  # compared, and no key of anything

    def __init__(self, name: str, number: int, made: Site, names: Counter[str]) -> None:
        self.name = name
        self.number = number
        self.made = made
        self._names = names

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VariableIdentity):
            return NotImplemented
        return self.number == other.number and self.name == other.name

    def __str__(self) -> str:
        return self.name

    def fingerprint(self) -> str:
        return f"{self.name} {self.number}"

    def described(self) -> str:
        """Returns the name; where several variables have it, also which of all variables it is, and where made."""
        return self.name + self._apart()

    def quoted(self) -> str:
        """Returns `described` with the name in quotes."""
        return repr(self.name) + self._apart()

    def _apart(self) -> str:
        """Returns what distinguishes the variable from others of its name; nothing where it is the only one."""
        if self._names[self.name] < 2:
            return ""
        return f" (variable {self.number}, made at {describe_site(self.made)})"

    def recorded(self) -> str:
        return self.name

    def difference(self, other: Subject) -> None:
        """Returns None: `described` distinguishes two variables."""
