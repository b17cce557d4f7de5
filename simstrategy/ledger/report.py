"""The result of a ledger: every sample's weight with each number of replicas, as data, as a table and as bars."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from textwrap import wrap
from typing import Final, final

from simstrategy.errors import InvalidArgument
from simstrategy.ledger.problems import numbers_in_words
from simstrategy.ledger.weights import Weight
from simstrategy.short_repr import short_repr

__all__ = ["Entry", "Ledger"]

_WIDTH: Final = 100
_BAR: Final = 8
"""Characters of a bar for a weight of 1."""
_BAR_MAX: Final = 4 * _BAR
_ROWS_MAX: Final = 40
_NO_WEIGHT: Final = "–"


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """The weights of all samples in one result with one number of replicas.

    result: its place in what the step returned. replicas: their number. weights: of each sample; None where it has no
    weight with one replica; () where the result is not finite. per_replica: the weights of each replica's result where
    these differ, else (); `weights` are replica 0's then. parts: the replicas that contributed each sample to the first
    reduction that had it, or without one, those whose result has it; () where that is not known. problems: what is
    wrong, as sentences.
    """

    result: str
    replicas: int
    weights: tuple[Weight, ...]
    per_replica: tuple[tuple[Weight, ...], ...]
    parts: tuple[tuple[int, ...], ...]
    problems: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yields a table: samples of equal weights and replicas in one row, with a bar; then the problems."""
        rows = self.per_replica or ((self.weights,) if self.weights else ())
        groups: dict[tuple[tuple[Weight, ...], tuple[int, ...]], list[int]] = {}
        for sample in range(len(self.weights)):
            key = tuple(row[sample] for row in rows), self.parts[sample] if self.parts else ()
            groups.setdefault(key, []).append(sample)
        cells = [("samples", "replica", "weight on replica 0, 1, …" if len(rows) > 1 else "weight", "")]
        for (weights, parts), samples in groups.items():
            who = ", ".join(map(str, parts)) if parts else "?" if not self.parts else "none"
            text = ", ".join(_NO_WEIGHT if one is None else str(one) for one in weights)
            cells.append((numbers_in_words(samples), who, text, _bar(weights[0]) if len(rows) == 1 else ""))
        shown = cells[: _ROWS_MAX + 1] if rows else []
        widths = [max((len(one[column]) for one in shown), default=0) for column in range(4)]
        for one in shown:
            yield "  ".join(["", *(text.ljust(width) for text, width in zip(one, widths, strict=True))]).rstrip()
        if len(cells) > len(shown) > 0:
            yield f"  … and {len(cells) - len(shown)} rows more"
        for problem in self.problems:
            yield from wrap(problem, _WIDTH, initial_indent="  ", subsequent_indent="  ")


@final
@dataclass(frozen=True, slots=True)
class Ledger:
    """The effective weight of every sample of a batch: its weight with several replicas ÷ the same with one.

    step: name, file and line. samples: their number. backend: by name. entries: one for each result and number of
    replicas. remarks: what limits the meaning of the weights, as sentences. Made by `simstrategy.ledger`.
    """

    step: str
    samples: int
    backend: str
    entries: tuple[Entry, ...]
    remarks: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Whether every sample weighs with each number of replicas what it weighs with one."""
        return not any(entry.problems for entry in self.entries)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, as sentences that begin with the number of replicas; () where nothing is."""
        several = len({entry.result for entry in self.entries}) > 1
        return tuple(
            f"{f'{entry.result}, ' if several else ''}{entry.replicas} replicas: {problem}"
            for entry in self.entries
            for problem in entry.problems
        )

    def entry(self, replicas: int, result: str | None = None) -> Entry:
        """Returns the entry of a number of replicas.

        result: as `Entry.result`, where the step returned several. Raises InvalidArgument where there is none, and
        where there are several.
        """
        found = [one for one in self.entries if one.replicas == replicas and result in (None, one.result)]
        if len(found) != 1:
            given = ", ".join(f"{one.result!r} with {one.replicas}" for one in self.entries)
            raise InvalidArgument(
                f"The ledger has {len(found)} entries of {short_repr(replicas)} replicas and the result "
                f"{short_repr(result)}. Choose one of: {given}."
            )
        return found[0]

    def weights(self, replicas: int, result: str | None = None) -> tuple[Fraction | None, ...]:
        """Returns each sample's weight with a number of replicas: `entry(replicas, result).weights`."""
        return self.entry(replicas, result).weights

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"ledger of {self.step}: {self.samples} sample{'s' if self.samples > 1 else ''}, on {self.backend}"
        yield "weight: what a sample counts with several replicas ÷ what it counts with one; 1 is right"
        several = len({entry.result for entry in self.entries}) > 1
        for entry in self.entries:
            name = f"{entry.result}, " if several else ""
            yield f"{name}{entry.replicas} replicas: {'WRONG' if entry.problems else 'right'}"
            yield from entry.lines()
        for remark in self.remarks:
            yield from wrap(f"Note: {remark}", _WIDTH)
        yield self._verdict()

    def _verdict(self) -> str:
        counts = list(dict.fromkeys(entry.replicas for entry in self.entries))
        wrong = list(dict.fromkeys(entry.replicas for entry in self.entries if entry.problems))
        if wrong:
            right = [count for count in counts if count not in wrong]
            return f"WRONG with {_listed(wrong)} replicas{f'; right with {_listed(right)}' if right else ''}."
        return f"With {_listed(counts)} replicas every sample counts as much as with one."


def _listed(numbers: Sequence[int]) -> str:
    *others, last = map(str, numbers)
    return f"{', '.join(others)} and {last}" if others else last


def _bar(weight: Weight) -> str:
    """Returns eight characters for a weight of 1; the sign of a negative one, and an ellipsis after a long one."""
    if weight is None:
        return ""
    length = round(abs(weight) * _BAR)
    bar = "█" * min(length, _BAR_MAX) or ("▏" if weight else "")
    return ("-" if weight < 0 else "") + bar + ("…" if length > _BAR_MAX else "")
