"""A report in other forms: data for programs, JUnit XML for CI, Markdown for summaries, a page for people.

Each is a function of a `Report` that returns text. Nothing here writes a file; `played` alone runs the program again.
"""

from simstrategy.check.formats.data import EXIT_CODES, VERSION, as_data, as_json
from simstrategy.check.formats.joined import joined, not_run, report_of
from simstrategy.check.formats.junit import as_junit
from simstrategy.check.formats.markdown import as_markdown
from simstrategy.check.formats.page import as_page
from simstrategy.check.formats.played import NOTHING, Played, played

__all__ = [
    "EXIT_CODES",
    "NOTHING",
    "VERSION",
    "Played",
    "as_data",
    "as_json",
    "as_junit",
    "as_markdown",
    "as_page",
    "joined",
    "not_run",
    "played",
    "report_of",
]
