"""Runs loops of very many small steps, and shows that time and memory of a step stay what they were.

    python3 ci/bench/long.py [--steps 1000000] [--evidence FILE]

Each loop runs in a process of its own, in ten parts. Shown are the processor time of a step in the second part and in
the last one, and by how many bytes a step the process has grown from the end of the second part to the end.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from evidence import Evidence, arguments

PARTS = 10
BYTES_MAX = 1.0
"""A step: less than any object takes."""
SLOWER_MAX = 1.3
"""The machine's own noise is below."""


def all_reduces(strategy, ss, np):
    """One replica function that all-reduces an array."""
    step = lambda: ss.get_replica_context().all_reduce("SUM", np.ones(4, np.float32))  # noqa: E731
    return lambda number: strategy.run(step)


def new_functions(strategy, ss, np):
    """A new function for each step, which merges and names what it does."""

    def act(number):
        def merge(strategy, value):
            return strategy.reduce("SUM", value, axis=None) + number

        strategy.run(lambda: ss.get_replica_context().merge_call(merge, args=(np.float32(number),)))

    return act


def writes(strategy, ss, np):
    """Writes of an aggregated variable and of own components, read outside."""
    with strategy.scope():
        total = ss.Variable(0.0, aggregation=ss.VariableAggregation.SUM)
        own = ss.Variable(
            0.0, aggregation=ss.VariableAggregation.SUM, synchronization=ss.VariableSynchronization.ON_READ
        )

    def replica():
        total.assign_add(np.float32(1))
        own.assign(1.0)

    def act(number):
        strategy.run(replica)
        own.numpy()

    return act


def batches(strategy, ss, np):
    """Steps of a distributed dataset, passes of 1,000 of them, reduced outside."""
    dataset = ss.data.Dataset.range(4000).shuffle(64, seed=1).batch(4)
    passes = strategy.experimental_distribute_dataset(dataset)
    steps = iter(passes)

    def act(number):
        nonlocal steps
        batch = next(steps, None)
        if batch is None:
            steps = iter(passes)
            batch = next(steps)
        strategy.reduce("SUM", strategy.run(lambda x: x, (batch,)), axis=0)

    return act


LOOPS = {one.__name__: one for one in (all_reduces, new_functions, writes, batches)}


def run(name, steps):
    """Prints the times of the parts in seconds a step, and the memory at the end of each in bytes."""
    import numpy as np

    import simstrategy as ss

    act = LOOPS[name](ss.Strategy.mirrored("sim", replicas=2), ss, np)
    times, sizes = [], []
    for part in range(PARTS):
        start = time.process_time()
        for number in range(part * steps // PARTS, (part + 1) * steps // PARTS):
            act(number)
        times.append((time.process_time() - start) / (steps / PARTS))
        sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    print(json.dumps([times, sizes]))


def main():
    parser = arguments(__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--loop", choices=LOOPS, help="runs this loop here, and prints its figures as JSON")
    options = parser.parse_args()
    if options.loop:
        run(options.loop, options.steps)
        return 0
    evidence = Evidence()
    evidence.add(f"{options.steps:,} steps {'':58} {'µs a step, early':>17} {'late':>6} {'bytes a step':>13}")
    for name, loop in LOOPS.items():
        command = [sys.executable, __file__, "--loop", name, "--steps", str(options.steps)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        times, sizes = json.loads(done.stdout)
        grown = (sizes[-1] - sizes[1]) / (options.steps * (PARTS - 2) / PARTS)
        failed = grown > BYTES_MAX or times[-1] > SLOWER_MAX * times[1]
        text = f"{loop.__doc__:72} {times[1] * 1e6:17.1f} {times[-1] * 1e6:6.1f} {grown:13.2f}"
        evidence.add(text + (": FAILED" if failed else ""))
    evidence.write(options.evidence)
    return evidence.exit_code


if __name__ == "__main__":
    sys.exit(main())
