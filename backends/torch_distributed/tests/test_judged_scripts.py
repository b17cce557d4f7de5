"""Scripts checked as they are: mistakes are found with step, parameter and line; lawful ones are not accused.

Clauses: G-20 to G-28.
"""

import pytest
from judged_scripts import judged, report_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("script", judged(wrong=True), ids=lambda one: one.file.stem)
def test_a_mistake_is_found_with_its_step_parameter_and_line(script):
    report = report_of(script)
    assert report.verdict == "differ", str(report)
    facts = script.facts
    first = report.findings[0]
    found = {"law": first.law, "kind": str(first.kind), "step": str(first.step), "variable": first.variable}
    assert found == {name: facts[name] for name in found}, str(report)
    assert first.site == script.line, str(report)


@pytest.mark.parametrize("script", judged(wrong=False), ids=lambda one: one.file.stem)
def test_a_lawful_script_agrees_and_something_was_compared(script):
    report = report_of(script)
    assert report.verdict == "agree", str(report)
    assert all(row.compared >= 12 for row in report.rows if not row.reference), str(report)
