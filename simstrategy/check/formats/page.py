"""A report as one HTML page that needs no network.

Where runs are given in which its findings show, the player stands below it, and each finding has a link to the event of
its cause. Without them the page runs no script.
"""

from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import Final

from simstrategy.check.formats.cards import cards, only_fails
from simstrategy.check.formats.data import below_the_table
from simstrategy.check.formats.junit import printable
from simstrategy.check.formats.played import NOTHING, Played
from simstrategy.check.formats.words import COLUMN_MEANINGS, kinds_in, words_of
from simstrategy.check.law_table import facts_of
from simstrategy.check.report import HEADINGS, Report
from simstrategy.check.row import COLUMNS, Kind, state_of
from simstrategy.player import as_player

__all__ = ["as_page"]

_STYLE: Final = """
:root { color-scheme: light dark; }
body { margin: 0; }
.report { font: 16px/1.5 system-ui, sans-serif; margin: 2rem 0; max-width: 80rem; padding: 0 1rem; }
.report h1 { font-size: 1.4rem; } .report h2 { font-size: 1.15rem; margin-top: 2rem; }
.report h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
.report p, .report li, .report dd { max-width: 60rem; overflow-wrap: anywhere; }
.report ul { list-style: disc; padding-inline-start: 2.5rem; }
.report dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
.report dt { font-weight: 600; scroll-margin: .5rem; } .report dd { margin: 0; }
.report a { color: light-dark(#0a58ca, #6cb0ff); font-weight: 600; }
.verdict { border-left: .4rem solid; padding: .6rem 1rem; }
.agree { border-color: #1a7f37; } .differ { border-color: #cf222e; } .undecided { border-color: #9a6700; }
.scroll { overflow-x: auto; }
.report table { border-collapse: collapse; font-size: inherit; }
.report th, .report td { padding: .3rem .8rem; text-align: left; border-bottom: 1px solid #8886; }
tr.differs td:nth-child(5), h2.problem { color: light-dark(#cf222e, #ff7b72); font-weight: 600; }
tr.undecided td:nth-child(5), h2.undecided { color: light-dark(#9a6700, #e3b341); font-weight: 600; }
tr.reference td, tr.skipped td { color: light-dark(#59636e, #9198a1); }
.report td:nth-child(-n+3), .report td:nth-child(6) { white-space: nowrap; }
.report td:nth-child(5) { min-width: 22rem; }
.report summary { cursor: pointer; }
.report code { white-space: normal; }
.report ul { font-size: inherit; }
a.term { font-style: italic; text-decoration: underline dotted; } dt:target { outline: 2px solid; outline-offset: 2px; }
@media (max-width: 40rem) {
  .report thead { display: none; }
  .report table, .report tbody { display: block; }
  .report tr { display: grid; grid-template-columns: 1fr 1fr; gap: 0 .8rem; }
  .report tr { border-bottom: 1px solid #8886; padding: .4rem 0; }
  .report td { border: 0; padding: 0; overflow-wrap: anywhere; }
  .report td::before { content: attr(data-column) ": "; color: light-dark(#59636e, #9198a1); font-weight: 400; }
  .report td:empty { display: none; }
  .report td:nth-child(5) { grid-column: 1 / -1; min-width: 0; }
  .report dl { grid-template-columns: 1fr; } .report dd { margin-bottom: .4rem; }
}
.report pre { max-height: none; white-space: pre-wrap; overflow-wrap: anywhere; background: #8882; padding: .8rem; }
""".strip()

_TITLES: Final[dict[Kind, str]] = {
    "undecided": "What could not be judged",
    "remark": "Remarks",
}
_VERDICTS: Final = {"agree": "✓ agrees", "differ": "✗ differs", "undecided": "? not judged"}
_FOLD: Final = "<details><summary>all rows, what was not tried, what the laws demand, what the words mean</summary>"
_FAILS: Final = "✗ fails"
"""In place of "differs", where the program raised."""


def as_page(report: Report, shown: Played = NOTHING) -> str:
    """Returns the report as an HTML page: the verdict first, then what was found, then the table.

    shown: the runs in which the findings show.
    """
    title = f"check of {report.program}"
    if not shown.runs:
        head = (
            '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{_text(title)}</title>\n<style>\n{_STYLE}\n</style>"
        )
        page = f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n'
        return page + _article(report, title, shown) + "</body>\n</html>\n"
    start = next((place[:2] for place in shown.places if place is not None and not place.left), (0, 0))
    return as_player(
        f"runs of {report.program}", shown.runs, start=start, above=_article(report, title, shown), style=_STYLE
    )


def _article(report: Report, title: str, shown: Played) -> str:
    *_, last = report.lines()
    verdict = _FAILS if report.verdict == "differ" and only_fails(report) else _VERDICTS[report.verdict]
    columns = "".join(f'<th scope="col" title="{_text(COLUMN_MEANINGS[name])}">{name}</th>' for name in COLUMNS)
    body = [
        f"<h1>{_text(title)}</h1>",
        f'<p class="verdict {report.verdict}"><strong>{verdict}</strong><br>{_text(last.text)}</p>',
        *cards(report, shown),
        *([_FOLD] if shown.runs else []),  # so that the player is near
        *_sections(report),
        '<h2>All rows</h2>\n<div class="scroll"><table>',
        f"<thead><tr>{columns}</tr></thead>",
        "<tbody>",
        *_rows(report),
        "</tbody>\n</table></div>",
        *_laws(report),
        *_words(report),
        *(["</details>"] if shown.runs else []),
    ]
    return '<article class="report" role="region" aria-label="Report">\n' + "\n".join(body) + "\n</article>\n"


def _laws(report: Report) -> Iterator[str]:
    """Yields what the laws in the table demand."""
    names = dict.fromkeys(row.law for row in report.rows)
    items = "".join(f"<dt>{_text(name)}</dt><dd>{_text(facts_of(name).meaning)}</dd>" for name in names)
    yield f"<h2>What the laws demand</h2>\n<dl>{items}</dl>"


def _words(report: Report) -> Iterator[str]:
    """Yields what the kinds of causes mean, and the columns of the table with what stands in them."""
    kinds = (kind for one in report.findings for kind in kinds_in(one.cause or ""))
    words = words_of(kinds, (row.cells()[COLUMNS.index("values")] for row in report.rows))
    items = "".join(f'<dt id="{place}">{_text(word)}</dt><dd>{_text(meaning)}</dd>' for word, place, meaning in words)
    yield f"<h2>What the words mean</h2>\n<dl>{items}</dl>"


def _sections(report: Report) -> Iterator[str]:
    """Yields the text of the report without its table and what differs, a section for each kind of lines."""
    others = [line for line in below_the_table(report) if line.kind != "problem"]
    for kind, lines in groupby(others, key=lambda line: line.kind):
        items = "".join(f"<li>{_text(line.text)}</li>" for line in lines if line.text not in HEADINGS)
        yield f'<h2 class="{kind}">{_TITLES.get(kind, "Also")}</h2>\n<ul>{items}</ul>'
    if report.not_tried:
        items = "".join(f"<li>{_text(remark.text)}</li>" for remark in report.not_tried)
        yield f"<h2>Not tried</h2>\n<ul>{items}</ul>"


def _rows(report: Report) -> Iterator[str]:
    for row in report.rows:
        texts = zip(COLUMNS, row.cells(), strict=True)
        cells = "".join(f'<td data-column="{name}">{_text(text)}</td>' for name, text in texts)
        yield f'<tr class="{state_of(row)}">{cells}</tr>'


def _text(text: str) -> str:
    return escape(printable(text))
