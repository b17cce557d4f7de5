"""A sum that differentiation makes of a sum is named where it has the factor of a cause, and nowhere else.

Clauses: J-37.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec
from lowered import sites_of

from simstrategy.check.causes.facts import Cause, PointFacts
from simstrategy_xla.mesh_check.jobs import Moment, Record, Site
from simstrategy_xla.mesh_check.points import facts_of
from simstrategy_xla.mesh_check.transposed import with_transposed_sum

CAUSE = Cause(None, 1, "train.py:21", "all_reduce", None, "It is twice as large.", certain=True, factor=2.0, number=5)


def point(*terms, step=1, number=3, site="train.py:19"):
    inputs = tuple([(np.float32(term),) for term in terms])
    return PointFacts(step, site, "all_reduce", None, "SUM", inputs, (np.float32(sum(terms)),), number=number)


ONE, TWO = [point(1.0)], [point(1.0, 1.0)]


def test_equal_cotangents_of_all_devices_are_named_with_their_line_and_factor():
    found = with_transposed_sum(CAUSE, ONE, TWO, (1, 2))
    assert found.source == "train.py:19"
    assert found.text.startswith("It is twice as large. ")
    assert "train.py:19" in found.text
    assert "factor 2" in found.text
    assert with_transposed_sum(CAUSE, TWO, [point(1.0, 1.0, 1.0, 1.0)], (2, 4)).source == "train.py:19"


@pytest.mark.parametrize(
    ("cause", "reference", "other"),
    [
        (CAUSE._replace(factor=None), ONE, TWO),
        (CAUSE._replace(factor=0.5), ONE, TWO),
        (CAUSE._replace(number=None), ONE, TWO),
        (CAUSE, ONE, [point(1.0, 1.0, step=2)]),
        (CAUSE, ONE, [point(1.0, 1.0, number=6)]),
        (CAUSE, ONE, [point(0.5, 0.5)]),  # the mean of a loss: its backward pass brings a share of each device
        (CAUSE, ONE, [point(1.0, 0.0)]),
        (CAUSE, [point(0.0)], [point(0.0, 0.0)]),
        (CAUSE, [point(1.0, site="train.py:7")], TWO),
        (CAUSE, [], TWO),
    ],
)
def test_what_does_not_have_the_factor_of_the_cause_is_not_named(cause, reference, other):
    assert with_transposed_sum(cause, reference, other, (1, 2)) == cause


@pytest.mark.slow
@pytest.mark.usefixtures("xla")  # it makes the devices of this process
@pytest.mark.parametrize(
    ("summed", "transposed"), [(True, [True, False]), (False, [False])], ids=["loss summed inside", "loss of the part"]
)
def test_a_sum_is_transposed_where_differentiation_made_it(summed, transposed):
    def gradient(weights, rows):
        def loss(weights):
            total = jnp.sum((rows @ weights) ** 2)
            return jax.lax.psum(total, "data") if summed else total

        return jax.lax.psum(jax.grad(loss)(weights), "data")

    specs = {"in_specs": (PartitionSpec(), PartitionSpec("data")), "out_specs": PartitionSpec(), "check_vma": False}
    step = jax.shard_map(gradient, mesh=Mesh(np.array(jax.devices()[:1]), ("data",)), **specs)
    sums = [site for site in sites_of(step) if site.op == "SUM"]
    assert [site.transposed for site in sums] == transposed


def test_facts_have_the_transposed_sums_apart():
    sites = [
        Site(number, 0, "all_reduce", "SUM", "train.py:1", False, 1, 1, transposed=number == 1) for number in (0, 1)
    ]
    moments = [Moment(number, 0, (np.float32(number), np.float32(number))) for number in (0, 1)]
    facts = facts_of(Record(tuple(sites), tuple(moments)))
    assert [one.number for one in facts.points] == [0, 1]
    assert [one.number for one in facts.transposed] == [1]
