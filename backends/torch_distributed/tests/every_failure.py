"""Every scenario of failure: `ci/run.py deep torch_failures`.  Some of them run in each run of `test_failures.py`."""

import pytest
from failure_scenarios import SCENARIOS
from test_failures import ends_as_it_must

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_failure_ends_the_run_and_names_rank_line_and_remedy(server, tmp_path, name):
    ends_as_it_must(server, tmp_path, SCENARIOS[name])
