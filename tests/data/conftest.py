"""Counts for the full run of the property tests, and short ways to look at steps.  No tests."""

import numpy as np
import pytest
from hypothesis import settings

import simstrategy as ss

settings.register_profile("deep", max_examples=20_000, deadline=None)
settings.register_profile("pipelines")


@pytest.fixture
def steps_of():
    """Lists a distributed dataset: for each step, for each local replica, the numbers of its part."""

    def listed(strategy, distributed, pick=lambda step: step):
        return [
            [np.asarray(part).tolist() for part in strategy.experimental_local_results(pick(step))]
            for step in distributed
        ]

    return listed


@pytest.fixture
def on_workers(steps_of):
    """Distributes a dataset, or what makes one, on a simulated cluster; returns every worker's steps."""

    def run(workers, replicas, dataset, options=None, **settings):
        def main(strategy):
            return steps_of(strategy, strategy.experimental_distribute_dataset(dataset, options))

        return ss.sim.Cluster(workers, replicas, **settings).run(main)

    return run


@pytest.fixture
def text_files(tmp_path):
    """Writes files of so many lines, `f1-0` being the first line of the second; returns their names."""

    def write(*counts):
        names = []
        for number, count in enumerate(counts):
            path = tmp_path / f"f{number}.txt"
            path.write_text("".join(f"f{number}-{line}\n" for line in range(count)))
            names.append(str(path))
        return names

    return write
