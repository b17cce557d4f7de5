"""Scripts that fail on simulated ranks: the run ends, names rank, line and remedy, and leaves nothing.

Clauses: G-3, G-4, G-10, G-60, G-61, G-63. All scenarios run in `every_failure.py`.
"""

import pytest
from failure_scenarios import SCENARIOS
from on_server import left, run_text

QUICK = [name for name, one in SCENARIOS.items() if one.is_quick]


def ends_as_it_must(server, folder, scenario):
    """Runs a scenario; what a first run on this forkserver has opened for good is no part of what it leaves."""
    before = left(server)
    report = run_text(server, folder, scenario.text, ranks=scenario.ranks, limit_s=scenario.limit_s)
    text = "\n".join([report.text(), *(one.output for one in report.ranks)])
    missing = [part for part in scenario.shown if part not in text]
    assert (report.exit_code, missing) == (scenario.code, []), text
    assert left(server) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_failure_ends_the_run_and_names_rank_line_and_remedy(server, tmp_path, name):
    ends_as_it_must(server, tmp_path, SCENARIOS[name])


def test_there_are_forty_scenarios_and_a_few_are_quick():
    assert len(SCENARIOS) >= 40
    assert 4 <= len(QUICK) <= 10
