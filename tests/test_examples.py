"""The examples in the docstrings of all that is shipped give what they show, and the first public names have one."""

import doctest
import importlib
import sys
from pathlib import Path

import pytest

from ci.run import SHIPPED
from simstrategy.errors import BackendUnavailable

ROOT = Path(__file__).resolve().parents[1]
CORE = "simstrategy."
FRAMEWORKS = ("tensorflow", "torch", "jax", "keras", "covertable", "hypothesis", "pytest")
FINDER = doctest.DocTestFinder(exclude_empty=True)


def modules():
    """Yields the names of the shipped modules that have examples.

    Commands are left out, whose examples are commands too, and the corpus's programs, which are data.
    """
    for folder in SHIPPED:
        package = ROOT / folder
        for file in sorted(package.rglob("*.py")):
            parts = file.relative_to(package.parent).with_suffix("").parts
            if ">>> " in file.read_text(encoding="utf-8") and not {"cli", "programs"} & {*parts}:
                yield ".".join(parts).removesuffix(".__init__")


MODULES = [
    pytest.param(name, marks=() if name.startswith(CORE) else pytest.mark.slow, id=name) for name in sorted(modules())
]


def examples(module):
    """Returns the docstrings of a module that have examples; skips where its framework is not installed."""
    try:
        found = importlib.import_module(module)
    except (ModuleNotFoundError, BackendUnavailable) as error:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] not in FRAMEWORKS:
            raise
        pytest.skip(str(error))
    return [test for test in FINDER.find(found) if test.examples]


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_a_module_give_what_they_show(module):
    runner = doctest.DocTestRunner(verbose=False)
    found = examples(module)
    if module.startswith("simstrategy_xla."):  # JAX would start with one device, and other tests here need four
        importlib.import_module("simstrategy_xla").open_xla(replicas=4, platform="cpu")
    for test in found:
        runner.run(test, out=sys.stdout.write)
    assert runner.tries > 0
    assert runner.failures == 0, f"see the differences with: python -m doctest, in {module}"


def test_the_first_public_names_have_examples():
    names = {test.name for module in modules() if module.startswith(CORE) for test in examples(module)}
    assert {
        "simstrategy.data.dataset.Dataset",
        "simstrategy.data.dataset.Dataset.zip",
        "simstrategy.data.splitting.per_batch_chunks",
        "simstrategy.schedules.Seeded",
        "simstrategy.sim.backend.open_sim",
        "simstrategy.strategy.extended.StrategyExtended",
        "simstrategy.strategy.replica.ReplicaContext",
        "simstrategy.strategy.strategy.Strategy",
        "simstrategy.strategy.variables.variable.Variable",
        "simstrategy.sim.cluster.Cluster",
        "simstrategy.trace.events.Trace",
        "simstrategy.values.Mirrored",
        "simstrategy.values.PerReplica",
        "simstrategy.regrouping.regroup",
    } <= names
