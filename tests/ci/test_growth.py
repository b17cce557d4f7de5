"""What a call costs does not grow with the replicas, variables, leaves or events beside it: counted, not timed."""

import subprocess
import sys
from pathlib import Path

import pytest
from shares import one_in

from ci.bench.growth.counting import counted, exponent
from ci.bench.growth.every_style import STYLES
from ci.bench.growth.style import in_replicas

ROOT = Path(__file__).parents[2]
OFTEN = (
    'all_reduce("SUM", xp array)',
    'all_reduce("SUM", NumPy array)',
    'all_reduce("SUM", 1.5)',
    'all_reduce("MEAN", xp array)',
    "all_gather(xp array)",
    "merge_call",
    "assign_add(NumPy array), SUM",
    "reduce(MEAN, PerReplica, axis=0)",
)
"""The styles that are counted at 1,024 replicas here; `ci/run.py bench growth` counts all of them, at 4,096 too."""
OTHERS = sorted(STYLES.keys() - set(OFTEN))

pytestmark = pytest.mark.filterwarnings("ignore::simstrategy.errors.SimStrategyWarning")


def cost_of_one(style, size):
    """Returns the counted cost of a unit in an action that has run before."""
    return counted(style.prepared(size)) / size


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(20, OFTEN))
def test_a_replica_of_1024_costs_at_most_twice_one_of_64(name):
    assert cost_of_one(STYLES[name], 1024) <= 2 * cost_of_one(STYLES[name], 64)


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(56, OTHERS))
def test_a_unit_costs_no_more_among_eight_times_as_many(name):
    few = STYLES[name].sizes.counted[0]
    assert cost_of_one(STYLES[name], 8 * few) <= 1.5 * cost_of_one(STYLES[name], few)


def test_a_call_that_looks_at_every_replica_is_seen():
    def body(ctx):
        ctx.all_reduce("SUM", sum(one >= 0 for one in range(ctx.num_replicas_in_sync)))

    assert cost_of_one(in_replicas(body), 256) > 2 * cost_of_one(in_replicas(body), 16)


ACTION = """
import numpy as np
import simstrategy as ss
from ci.bench.growth.counting import counted

strategy = ss.Strategy.mirrored("sim", replicas=3)

def act():
    strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", np.ones(3, np.float32)))

act()
print(*(counted(act) for _ in range(5)))
"""


def test_the_same_action_has_the_same_count_again():
    # In a process of its own: what is left of other tests ends in whichever run comes after them, which costs more.
    done = subprocess.run([sys.executable, "-c", ACTION], cwd=ROOT, capture_output=True, text=True, check=True)
    counts = [int(one) for one in done.stdout.split()]
    assert len(counts) == 5
    assert len({*counts}) == 1, counts
    assert counts[0] > 100


def test_the_exponent_is_the_slope_between_logarithms():
    assert exponent([64, 512, 4096], [3 * size**1.5 for size in (64, 512, 4096)]) == pytest.approx(1.5)
    assert exponent([1, 2, 4], [7, 7, 7]) == pytest.approx(0)


def test_every_unit_is_counted_at_three_sizes_that_grow():
    assert {style.unit for style in STYLES.values()} == {
        *("elements", "events", "leaves", "lines", "programs", "replicas", "steps", "variables", "workers")
    }
    for style in STYLES.values():
        for sizes in style.sizes:
            assert len(sizes) == 3
            assert sorted(set(sizes)) == [*sizes]
