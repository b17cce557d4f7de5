"""Bad input to the command is refused before anything starts."""

import pytest
from typer.testing import CliRunner

from simstrategy.check.scripts.faults import KINDS
from simstrategy.errors import InvalidArgument
from simstrategy_torch_distributed.__main__ import app
from simstrategy_torch_distributed.command import FAULTS
from simstrategy_torch_distributed.settings import Settings


def asked(*arguments):
    """Returns the exit code and what was printed, with single spaces."""
    result = CliRunner().invoke(app, [*arguments])
    return result.exit_code, " ".join(result.output.split())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--nproc-per-node", "2", "missing.py"), "The script 'missing.py' cannot be read: No such file or directory."),
        (("--nproc-per-node", "0", __file__), "from 1 to 256 simulated ranks, got 0"),
        (("--nproc_per_node", "1000", __file__), "from 1 to 256 simulated ranks, got 1000"),
        (("--nproc-per-node", "many", __file__), "--nproc-per-node takes a number or cpu, got 'many'"),
        (("--nnodes", "2", __file__), "Simulated ranks are on one machine, got --nnodes 2"),
        (("--order", "star", __file__), "There is no order 'star'; choose from linear, ring, tree."),
        (("--seed", "-1", __file__), "A seed is a number of at least 0, got -1."),
        (("/",), "'/' is no file."),
        (("--limit-seconds", "0", __file__), "--limit-seconds takes a number above 0, got 0.0"),
        (("--busy-seconds", "-1", __file__), "--busy-seconds takes a number above 0, got -1.0"),
        (("--spawned", "--nproc-per-node", "2", "--tee", "3", __file__), "leave out --nproc-per-node, --tee."),
        (("--spawned", "--faults", "kill", __file__), "leave out --faults."),
        (("--spawned", "missing.py"), "The script 'missing.py' cannot be read"),
        (("--device", "cuda", __file__), "There is no device 'cuda'; choose from cpu, cpu-for-cuda."),
    ],
)
def test_what_cannot_be_run_is_an_error_of_one_sentence(arguments, text):
    code, printed = asked(*arguments)
    assert code == 2
    assert text in printed
    assert "Traceback" not in printed


def test_a_module_is_not_looked_up_before_a_rank_runs_it():
    assert Settings("a.b", is_module=True).ranks == 1
    with pytest.raises(InvalidArgument, match="cannot be read"):
        Settings("a.b")


def test_the_help_names_every_kind_of_fault():
    assert tuple(KINDS) == FAULTS
