"""Runs with all values recorded in a file, and the same ones without: one of several subjects of budgets.py.

The digits example over so many epochs that it has 10,000 events, steps of an MLP, and collectives of new values alone.
In processor time: what waits for the disk is the machine's.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from subjects import sim_mlp

import simstrategy as ss

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
import train_digits

train_digits.EPOCHS = 7


def main():
    """Prints times in seconds, numbers of events and sizes in bytes, as one line of JSON."""
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, subject in (
            ("digits", digits),
            ("mlp", mlp),
            ("collectives", collectives),
        ):
            figures[f"unrecorded_{name}"] = min(subject(None) for _ in range(5))
            times = []
            for number in range(5):
                file = f"{folder}/{name}{number}.jsonl"
                recorder = ss.trace.Recorder(file)
                times.append(subject(recorder))
                recorder.close()
            figures[f"recorded_{name}"] = min(times)
            figures[f"events_{name}"] = sum(1 for _ in recorder.events())
            figures[f"bytes_{name}"] = os.path.getsize(file)
    print(json.dumps(figures))


def mlp(trace):
    step = sim_mlp(8, trace)
    start = time.process_time()
    for _ in range(40):
        step()
    return time.process_time() - start


def digits(trace):
    strategy = ss.Strategy.mirrored("sim", replicas=8, trace=trace)
    start = time.process_time()
    train_digits.program(strategy)
    return time.process_time() - start


def collectives(trace):
    strategy = ss.Strategy.mirrored("sim", replicas=8, trace=trace)

    def replica():
        ctx = ss.get_replica_context()
        x = ctx.xp.full((16,), 0.1 + ctx.replica_id_in_sync_group, dtype="float32")
        for number in range(1250):
            ctx.all_reduce(ss.ReduceOp.SUM, x + number)

    start = time.process_time()
    strategy.run(replica)
    return time.process_time() - start


if __name__ == "__main__":
    main()
