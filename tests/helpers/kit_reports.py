"""Documents of reports, as the kit writes them, for tests of what is made of them."""

import json

from simstrategy_conformance.exceptions import Excepted
from simstrategy_conformance.reports import Note, Outcome, Report, json_text

KNOWN = {"B-8": ("test_sum", "test_wrap"), "B-9": ("test_bound",), "K-1": ("test_workers",), "R-2": ("test_axis",)}
OUTCOMES = (
    Outcome("test_bound", ("B-9",), "excepted", 12, 0.1, ""),
    Outcome("test_sum[1]", ("B-8",), "passed", 12, 0.1, ""),
    Outcome("test_sum[2]", ("B-8",), "passed", 12, 0.1, ""),
    Outcome("test_workers", ("K-1",), "skipped", 1, 0.1, "one process"),
    Outcome("test_wrap", ("B-8",), "passed", 3, 0.1, ""),
)
REASON = Excepted("B-9", "never", "The processor flushes <subnormals>.", "https://example.org/1", "test_bound")


def document(backend="acme", *, outcomes=OUTCOMES, exceptions=(REASON,), known=KNOWN, notes=(), wrong=(), **changed):
    """Returns the document of a report.  changed: its fields to replace."""
    report = Report(backend, "quick", 0, outcomes, exceptions, wrong, {}, notes, known)
    return json.loads(json_text(report)) | changed


def failed(text="E   assert 1 == 2", name="test_axis", clause="R-2"):
    """Returns the outcome of a test that failed."""
    return Outcome(name, (clause,), "failed", 4, 0.1, text)


def note(text, kind="differs"):
    """Returns a finding that is no fault."""
    return Note(kind, text)
