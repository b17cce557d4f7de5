"""JAX's collectives in replica functions of a strategy: the error states what to write.

Clauses: J-69.
"""

import jax
import pytest

import simstrategy as ss
from simstrategy.errors import ContextError


def averaged():
    return jax.lax.pmean(ss.get_replica_context().xp.ones(3), "batch")


LINE = f"test_mesh_axis_names.py:{averaged.__code__.co_firstlineno + 1}"


def counted():
    return jax.lax.axis_index("batch")


def misspelt():
    return jax.lax.undefined_name if False else undefined_here  # noqa: F821


@pytest.fixture
def strategy():
    opened = ss.Strategy.mirrored("xla", replicas=2)
    yield opened
    opened.close()


def test_a_collective_of_jax_in_a_replica_function_is_named_with_what_to_write(strategy):
    with pytest.raises(ContextError) as raised:
        strategy.run(averaged)
    text = str(raised.value)
    assert text.startswith(f"jax.lax.pmean at {LINE} names the axis 'batch', and a replica function of a strategy has")
    assert 'Write ctx.all_reduce("MEAN", value), with ctx = simstrategy.get_replica_context()' in text
    with pytest.raises(ContextError, match=r"jax.lax.axis_index at .* Write ctx.replica_id_in_sync_group"):
        strategy.run(counted)


def test_the_same_is_explained_in_a_compiled_step(strategy):
    with pytest.raises(ContextError, match=rf"{LINE} names the axis 'batch'.*Write ctx.all_reduce"):
        strategy.run(strategy.compile(averaged))


def test_another_name_that_is_not_defined_stays_a_name_error(strategy):
    with pytest.raises(NameError, match="undefined_here"):
        strategy.run(misspelt)
