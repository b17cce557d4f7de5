"""A report as a small picture in SVG: how many of the kit's clauses passed, and which did not.

It states what was run: exceptions, skipped clauses and those that did not run are counted and, where few, named.
"""

from collections.abc import Iterator
from typing import Final

from simstrategy_conformance.matrix.cells import escaped
from simstrategy_conformance.matrix.columns import Column
from simstrategy_conformance.titles import OF_CLUSTERS

__all__ = ["badge_text", "not_passed", "summary"]

_LEFT: Final = "simstrategy conformance"
_NAMED_MAX: Final = 3
_CHARACTER_PX: Final = 6.6
"""The width of one character of 11 px; `textLength` makes the text as wide, whatever the font is."""
_SPACE_PX: Final = 16
_COLOURS: Final = {"red": "#b3261e", "amber": "#7a5200", "green": "#1b6e2e"}
"""Each has a contrast of more than 4.5 to white."""


def badge_text(column: Column) -> str:
    """Returns a report as SVG, 20 px high.

    Red where it does not conform, green where every clause passed, else amber. A clause of clusters may be skipped: no
    backend but the simulator has them.
    """
    passed = column.passed + len({*column.named("skipped")} & OF_CLUSTERS)
    colour = "red" if not column.conforms else "green" if passed == len(column.cells) else "amber"
    left, right = escaped(_LEFT), escaped(summary(column))
    widths = [round(len(text) * _CHARACTER_PX) for text in (_LEFT, summary(column))]
    first, second = (width + _SPACE_PX for width in widths)
    title = escaped(
        f"{column.backend}: {summary(column)}; profile {column.profile}, seed {column.seed}, "
        f"simstrategy-conformance {column.versions.get('simstrategy-conformance', 'unknown')}, law {column.law}"
    )
    whole = first + second
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img" aria-labelledby="t">
<title id="t">{title}</title>
<clipPath id="c"><rect width="{whole}" height="20" rx="3"/></clipPath>
<g clip-path="url(#c)">
<rect width="{first}" height="20" fill="#444"/>
<rect x="{first}" width="{second}" height="20" fill="{_COLOURS[colour]}"/>
</g>
<g fill="#fff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">
<text x="{_SPACE_PX // 2}" y="14" textLength="{widths[0]}">{left}</text>
<text x="{first + _SPACE_PX // 2}" y="14" textLength="{widths[1]}">{right}</text>
</g>
</svg>
"""


def summary(column: Column) -> str:
    """Returns a report in one line, such as ``57 of 58 clauses, B-9 excepted``."""
    return ", ".join([f"{column.passed} of {len(column.cells)} clauses", *not_passed(column)])


def not_passed(column: Column) -> Iterator[str]:
    """Yields what was not simply passed: named where few, else counted."""
    found = {state: column.named(state) for state in ("failed", "excepted", "skipped", "not run")}
    found["in part"] = [name for name in column.in_part if column.cells[name].state == "passed"]
    for state, names in found.items():
        if names:
            yield f"{' '.join(names) if len(names) <= _NAMED_MAX else len(names)} {state}"
    if column.wrong:
        yield "exceptions that pass"
