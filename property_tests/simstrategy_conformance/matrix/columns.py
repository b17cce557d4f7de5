"""A report as one column: a cell for each clause, with what has to be shown of it.  No markup."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

__all__ = ["STATES", "Cell", "Column", "Reason", "column_of", "in_order", "rows_of"]

STATES: Final = ("passed", "failed", "excepted", "skipped", "not run")
_LINES_MAX: Final = 12
_CHARACTERS_MAX: Final = 1_000
"""Of the text of one failure."""


class Reason(NamedTuple):
    """Why a cell is not simply passed.  what: a test, or the kind of an exception.  link: an address, or ""."""

    what: str
    text: str
    link: str = ""


class Cell(NamedTuple):
    """One clause of one report.  examples: of tests that were not skipped.  part: whether some tests did not run."""

    clause: str
    title: str
    state: str
    tests: int
    examples: int
    part: bool
    reasons: tuple[Reason, ...]
    repeat: str

    @property
    def whole(self) -> bool:
        """Whether the clause passed with all its tests."""
        return self.state == "passed" and not self.part


class Column(NamedTuple):
    """One report.  wrong: what no clause shows.  notes: kind and text of what is no fault."""

    backend: str
    kind: str
    profile: str
    seed: int
    law: str
    repeat: str
    versions: Mapping[str, str]
    conforms: bool
    cells: Mapping[str, Cell]
    wrong: Sequence[str]
    notes: Sequence[tuple[str, str]]

    def named(self, state: str) -> list[str]:
        """Returns the clauses of a state."""
        return [name for name, cell in self.cells.items() if cell.state == state]

    @property
    def passed(self) -> int:
        """The number of clauses that passed with all their tests."""
        return sum(cell.whole for cell in self.cells.values())

    @property
    def in_part(self) -> list[str]:
        """The clauses of which some tests ran and others did not."""
        return [name for name, cell in self.cells.items() if cell.part and cell.state != "not run"]


def in_order(clause: str) -> tuple[str, int]:
    """Returns by what clauses are sorted: letter, then number."""
    return clause[0], int(clause[2:])


def column_of(document: Mapping[str, Any]) -> Column:
    """Returns the column of a report's document, as `read_report` returns it."""
    cells = {one["clause"]: _cell(one, document) for one in document["clauses"]}
    return Column(
        backend=document["backend"],
        kind=document["kind"],
        profile=document["profile"],
        seed=document["seed"],
        law=document["law"],
        repeat=document["repeat"],
        versions=document["versions"],
        conforms=document["conforms"],
        cells={name: cells[name] for name in sorted(cells, key=in_order)},
        wrong=document["wrong"],
        notes=[(one["kind"], one["text"]) for one in document.get("notes", ())],
    )


def rows_of(columns: Sequence[Column]) -> dict[str, str]:
    """Returns the title of each clause that a report has, in the order of the law."""
    found = {name: cell.title for column in reversed(columns) for name, cell in column.cells.items()}
    return {name: found[name] for name in sorted(found, key=in_order)}


def _cell(entry: Mapping[str, Any], document: Mapping[str, Any]) -> Cell:
    return Cell(
        clause=entry["clause"],
        title=entry["title"],
        state=entry["verdict"],
        tests=len(entry["tests"]),
        examples=sum(one["examples"] for one in entry["tests"] if one["verdict"] != "skipped"),
        part=bool(entry["not_run"]),
        reasons=(*_exceptions(entry, document), *_of_tests(entry)),
        repeat=entry["repeat"],
    )


def _exceptions(entry: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Reason]:
    """Yields the exceptions by which tests of a clause are excepted, also those of a clause that shares the test."""
    found = [one for one in entry["tests"] if one["verdict"] == "excepted"]
    excepted = {name for one in found for name in (one["name"], _function(one))}
    tests = {one["clause"]: {_function(test) for test in one["tests"]} for one in document["clauses"]}
    for one in document["exceptions"]:
        if excepted & ({one["test"]} if one["test"] else tests.get(one["clause"], set())):
            name = f"exception ({one['kind']}){' of ' + one['test'] if one['test'] else ''}"
            yield Reason(name, one["reason"], one["link"])


def _of_tests(entry: Mapping[str, Any]) -> Iterator[Reason]:
    """Yields the tests that failed or were skipped, and those that did not run."""
    for one in entry["tests"]:
        if one["verdict"] in ("failed", "skipped"):
            yield Reason(f"{one['name']} {one['verdict']}", _short(one.get("failure", one.get("reason", ""))))
    if entry["not_run"]:
        yield Reason("not run", ", ".join(entry["not_run"]))


def _function(test: Mapping[str, Any]) -> str:
    name: str = test["name"].partition("[")[0]
    return name


def _short(failure: str) -> str:
    """Returns the lines of a traceback that have the error: those that pytest marks, or else the last ones."""
    lines = [line for line in failure.splitlines() if line.strip()]
    marked = [line[1:].strip() for line in lines if line.startswith("E ")]
    found = marked[:_LINES_MAX] or lines[-_LINES_MAX:]
    text = "\n".join(found)
    return text if len(text) <= _CHARACTERS_MAX else f"{text[:_CHARACTERS_MAX]} …"
