"""Names that are imported on their first use: a program without them does not pay for them, and sees no difference."""

import subprocess
import sys
import types

import pytest

import simstrategy as ss

START = """
import sys
import numpy
before = set(sys.modules)
import simstrategy
strategy = simstrategy.Strategy.mirrored("sim", replicas=2)
strategy.run(lambda: simstrategy.get_replica_context().all_reduce("SUM", 1.0))
packages = ("check", "estimator", "ledger", "testing")
late = {"asyncio", "concurrent", "hashlib", "html", "linecache", "numpy.ma", "traceback"}
late |= {f"simstrategy.{one}" for one in packages}
print(*sorted(late & set(sys.modules) - before))
"""
ORDERS = """
import sys
import simstrategy
import simstrategy.check.outcome, simstrategy.ledger.weights
from simstrategy.testing import World
from simstrategy import check, estimator, ledger, testing
import simstrategy.check.report, simstrategy.ledger.report
print(callable(check), check is simstrategy.check, callable(ledger), ledger is simstrategy.ledger)
print(testing is simstrategy.testing is sys.modules["simstrategy.testing"], testing.World is World)
print(estimator is simstrategy.estimator is sys.modules["simstrategy.estimator"], callable(estimator.Estimator))
"""


def printed(code):
    """Returns what a new process prints."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def imported(*arguments):
    """Returns the lines of what a new process imports, each ending with the name."""
    command = [sys.executable, "-X", "importtime", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stderr.splitlines()


@pytest.mark.slow
def test_a_program_that_judges_nothing_does_not_import_what_judges():
    assert printed(START) == ""


@pytest.mark.slow
def test_a_function_is_not_replaced_by_the_package_of_its_name_whichever_is_imported_first():
    assert printed(ORDERS).split() == ["True"] * 8


@pytest.mark.slow
def test_numpy_is_imported_by_the_public_module_itself_and_not_deep_inside_others():
    (numpy,) = (
        line for line in imported("-c", "import simstrategy\nsimstrategy.Strategy") if line.split()[-1] == "numpy"
    )
    assert numpy.endswith("| numpy"), "two spaces for each import that is not finished"


@pytest.mark.slow
def test_the_list_of_commands_imports_nothing_that_runs():
    names = {line.split()[-1] for line in imported("-m", "simstrategy", "--help")}
    packages = {"simstrategy.run", "simstrategy.strategy", "simstrategy.sim", "simstrategy.data", "simstrategy.check"}
    assert "simstrategy.cli.app" in names
    assert not names & {
        *packages,
        "simstrategy_course.grading",
        "simstrategy_torch_distributed.settings",
        "jax",
        "torch",
    }


def test_every_public_name_is_listed_before_and_after_its_first_use():
    assert set(ss.__all__) <= set(dir(ss))
    assert all(getattr(ss, name) is not None for name in ss.__all__)
    assert set(ss.__all__) <= set(dir(ss))


def test_a_name_that_does_not_exist_is_named_with_the_one_that_was_meant():
    with pytest.raises(AttributeError, match="module 'simstrategy' has no attribute 'chekc'") as caught:
        ss.chekc  # noqa: B018 - what is tested
    assert (caught.value.name, caught.value.obj) == ("chekc", ss)


def test_a_late_name_can_be_replaced_and_restored(monkeypatch):
    own = ss.check
    monkeypatch.setattr(ss, "check", len)
    assert ss.check([1]) == 1
    monkeypatch.setattr(ss, "check", types.ModuleType("other"))
    assert isinstance(ss.check, types.ModuleType)
    monkeypatch.undo()
    assert ss.check is own
