"""The examples in the docstrings of the core give what they show, and the first public names have one."""

import doctest
import importlib
import pkgutil

import pytest

import simstrategy


def examples():
    """Returns, by module, the docstrings that have examples."""
    finder, found = doctest.DocTestFinder(exclude_empty=True), {}
    for module in pkgutil.walk_packages(simstrategy.__path__, "simstrategy."):
        if module.name.startswith("simstrategy.cli"):
            continue  # needs the extra cli, and its examples are commands
        tests = [test for test in finder.find(importlib.import_module(module.name)) if test.examples]
        if tests:
            found[module.name] = tests
    return found


EXAMPLES = examples()


@pytest.mark.parametrize("module", EXAMPLES)
def test_the_examples_of_a_module_give_what_they_show(module):
    runner = doctest.DocTestRunner(verbose=False)
    for test in EXAMPLES[module]:
        runner.run(test)
    assert runner.tries > 0
    assert runner.failures == 0, f"see the differences with: python -m doctest, in {module}"


def test_the_first_public_names_have_examples():
    names = {test.name for tests in EXAMPLES.values() for test in tests}
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
        "simstrategy.values.regroup",
    } <= names
