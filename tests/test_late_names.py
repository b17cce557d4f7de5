"""Names that are imported on their first use: all of them are there, and a start does not pay for them."""

import importlib
import subprocess
import sys

import pytest

from simstrategy.late_names import on_first_use

PACKAGES = ("simstrategy", "simstrategy.data", "simstrategy.sim", "simstrategy.sim.stacked", "simstrategy.trace")
LATE = (
    "check",
    "data.dataset",
    "data.distributed",
    "estimator",
    "ledger",
    "sim.cluster",
    "sim.stacked.tape",
    "sim.virtual_time",
    "testing",
    "trace.recorder",
)
"""What a strategy without a dataset, a cluster or a compiled step does without."""
FIRST = """
import sys
import simstrategy as ss
strategy = ss.Strategy.mirrored("sim", replicas=2)
assert strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", 1.5)).values[0] == 3
print(*[name for name in sys.modules if name.startswith("simstrategy")])
"""


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_has_all_of_its_names(name):
    package = importlib.import_module(name)
    assert {*package.__all__} <= {*dir(package)}
    for one in package.__all__:
        assert getattr(package, one) is vars(package)[one]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_name_that_is_not_there_is_refused_by_name(name):
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nothing'"):
        _ = importlib.import_module(name).nothing


def test_a_name_that_its_module_lacks_is_refused():
    get, _ = on_first_use({"__name__": "mine"}, {"root": "math:no_root"})
    with pytest.raises(AttributeError, match="no_root"):
        get("root")


def test_a_name_of_a_package_that_has_late_names_itself():
    get, _ = on_first_use(found := {"__name__": "mine"}, {"split": "simstrategy.data:split"})
    assert get("split") is importlib.import_module("simstrategy.data").split is found["split"]


def test_the_first_collective_imports_nothing_that_it_does_without():
    done = subprocess.run([sys.executable, "-c", FIRST], check=True, capture_output=True, text=True)
    names = {*done.stdout.split()}
    assert "simstrategy.strategy.replica" in names
    assert [one for one in LATE if f"simstrategy.{one}" in names] == []
