"""Reports as one HTML page that needs no network and runs no script: backends as columns, clauses as rows.

What a cell stands for is in it, behind a disclosure that opens by mouse and keyboard. All text is escaped.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from simstrategy_conformance.matrix.badge import not_passed, summary
from simstrategy_conformance.matrix.cells import SIGNS, as_cell, as_command, as_name, counted, escaped
from simstrategy_conformance.matrix.columns import STATES, Column, rows_of
from simstrategy_conformance.matrix.style import STYLE
from simstrategy_conformance.titles import HEADINGS

__all__ = ["page_text"]

_KINDS: Final = {"device": "Backends of the device contract", "c10d": "Backends of torch.distributed"}
_CLASSES: Final = {"passed": "good", "failed": "bad", "excepted": "open", "skipped": "none", "not run": "none"}
_MEANINGS: Final = {
    "passed": "no test of the clause failed",
    "failed": "a test failed",
    "excepted": "a test failed as the backend's author has listed it, with a reason",
    "skipped": "nothing of it could be examined",
    "not run": "the command left it out",
}
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page_text(columns: Sequence[Column], law: Mapping[str, str] | None = None) -> str:
    """Returns reports as a page.  law: the text of clauses, to which their titles are links; None for no links.

    The columns stand in the given order, in one table for each kind of backends.
    """
    names = " and ".join(dict.fromkeys(one.backend for one in columns)) if len(columns) < 3 else f"{len(columns)} runs"
    title = escaped(f"simstrategy conformance: {names}")
    places = {id(one): f"run-{number}" for number, one in enumerate(columns, 1)}
    shown = {name: text for name, text in (law or {}).items() if any(name in one.cells for one in columns)}
    body = [f"<h1>{title}</h1>", *_introduction(columns)]
    for kind, heading in _KINDS.items():
        of_kind = [one for one in columns if one.kind == kind]
        if of_kind:
            body += [f"<h2>{heading}</h2>", *_table(of_kind, heading, places, shown, _common(columns))]
    body += ['<h2>The runs</h2>\n<ul class="runs">', *(_run(one, places[id(one)]) for one in columns), "</ul>"]
    body += _clauses(shown)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _common(columns: Sequence[Column]) -> dict[str, str]:
    """Returns what all reports have alike: versions, profile and seed, by name."""
    first, *others = [_facts(one) for one in columns]
    return {name: text for name, text in first.items() if all(one.get(name) == text for one in others)}


def _facts(column: Column) -> dict[str, str]:
    return {"profile": column.profile, "seed": str(column.seed), **column.versions}


def _introduction(columns: Sequence[Column]) -> Iterator[str]:
    """Yields what holds for all columns, a mark where they are of different laws, and the legend."""
    alike = ", ".join(f"{escaped(name)} {escaped(text)}" for name, text in _common(columns).items())
    yield f"<p>Alike in all runs: {alike or 'nothing'}. What differs stands at the head of a column."
    yield "Under “The runs” each has all its versions, and its findings that are no faults.</p>"
    for kind in _KINDS:
        laws: dict[str, list[str]] = {}
        for one in columns:
            if one.kind == kind:
                laws.setdefault(one.law, []).append(one.backend)
        if len(laws) > 1:
            listed = "; ".join(f"{name} ({', '.join(backends)})" for name, backends in laws.items())
            yield (
                '<p class="mark"><strong>Different laws.</strong> The kits had other clauses or tests: '
                f"{escaped(listed)}. A cell of one law may stand for less than that of another.</p>"
            )
    items = "".join(
        f'<li><span class="{_CLASSES[one]}">{SIGNS[one]} {one}</span>: {_MEANINGS[one]}</li>' for one in STATES
    )
    yield f'<ul class="legend" aria-label="Legend">{items}<li>in part: some tests did not run</li></ul>'
    yield "<p>A cell opens with its counts, its reasons, and the command that repeats it.</p>"


def _table(
    columns: Sequence[Column], heading: str, places: Mapping[int, str], law: Mapping[str, str], alike: Mapping[str, str]
) -> Iterator[str]:
    heads = "".join(_head(one, places[id(one)], alike, columns[0].law) for one in columns)
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{heading}"><table>'
    yield f'<thead><tr><th scope="col">Clause</th>{heads}</tr></thead>'
    titles = rows_of(columns)
    for letter, names in groupby(titles, key=lambda name: name[0]):
        group = f'<th scope="rowgroup">{escaped(HEADINGS.get(letter, letter))}</th><td colspan="{len(columns)}"></td>'
        yield f'<tbody><tr class="group">{group}</tr>'
        for name in names:
            cells = "".join(as_cell(one.cells.get(name)) for one in columns)
            text = f'<a href="#{name}">{escaped(titles[name])}</a>' if name in law else escaped(titles[name])
            yield f'<tr><th scope="row"><b>{name}</b> {text}</th>{cells}</tr>'
        yield "</tbody>"
    yield "</table></div>"


def _head(column: Column, place: str, alike: Mapping[str, str], law: str) -> str:
    own = [*not_passed(column), *(f"{name} {text}" for name, text in _facts(column).items() if name not in alike)]
    other = '<span class="open">other law</span>' if column.law != law else ""
    verdict = "good" if column.conforms else "bad"
    count = f"{'' if column.conforms else '✗ '}{column.passed} of {len(column.cells)}"
    lines = "".join(f"<small>{escaped(one)}</small>" for one in own)
    name = f'<a href="#{place}">{as_name(column.backend)}</a>'
    return f'<th scope="col">{name}<span class="{verdict}">{count}</span>{other}{lines}</th>'


def _run(column: Column, place: str) -> str:
    """Returns the paragraph of a report: what was run, with what, and what is no fault."""
    word, name = ("conforms", "good") if column.conforms else ("does not conform", "bad")
    versions = ", ".join(f"{name} {text}" for name, text in column.versions.items())
    wrong = "".join(f'<p class="bad">{escaped(one)}</p>' for one in column.wrong)
    notes = "".join(f"<li><b>{escaped(kind)}</b>: {escaped(text)}</li>" for kind, text in column.notes)
    shown = f"<details><summary>{counted(len(column.notes), 'note')}, no faults</summary><ul>{notes}</ul></details>"
    return (
        f'<li id="{place}"><h3>{escaped(column.backend)}</h3>: <span class="{name}">{word}</span>; '
        f"{escaped(summary(column))}.{wrong}"
        f"<p>{as_command(column.repeat)}</p><p>{escaped(versions)}; law {escaped(column.law)}.</p>"
        f"{shown if notes else ''}</li>"
    )


def _clauses(law: Mapping[str, str]) -> Iterator[str]:
    """Yields the text of the clauses, to which the titles lead."""
    if law:
        items = "".join(f'<dt id="{name}">{name}</dt><dd>{_with_code(text)}</dd>' for name, text in law.items())
        yield f"<h2>The clauses</h2>\n<dl>{items}</dl>"


def _with_code(text: str) -> str:
    """Returns a text of Markdown in which what stands in backquotes is code."""
    parts = text.split("`")
    return "".join(f"<code>{escaped(one)}</code>" if number % 2 else escaped(one) for number, one in enumerate(parts))
