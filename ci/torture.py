"""Same seed, same bytes: seeded programs, each run twice and replayed once, in two processes.

For every seed a program is made (collectives, merges, nested runs, variables, errors, clusters), run
under `Seeded(seed)`, run again, and replayed from its recorded draws; values, errors and trace go into
one digest. Two processes with different PYTHONHASHSEED must print the same digests. Then three faults
are planted, a set iteration, a clock read and a lane swap, and each has to change digests.

    python3 ci/run.py torture [--seeds 200] [--evidence FILE]
"""

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import simstrategy as ss
from simstrategy.check.outcome import run_program
from simstrategy.schedules import InOrder, Recorded, Replayed, Seeded

FAULTS = ("set", "clock", "swap")
HERE = Path(__file__).resolve()


def program_of(seed, fault=None):
    """Returns (workers, replicas, program) of a seed, with a fault planted on demand."""
    rng = random.Random(seed)
    workers = rng.choice((1, 1, 1, 2, 3))
    replicas = rng.randint(1, 5 if workers == 1 else 2)
    kinds = ("all_reduce", "mean", "nest", "gather", "merge", "nested", "assign", "local")
    steps = [(rng.choice(kinds), rng.randint(0, 4), rng.random()) for _ in range(rng.randint(2, 7))]
    ending = rng.choice(("return", "return", "return", "raise", "leave", "disagree"))
    victim = rng.randrange(workers * replicas)

    def program(strategy):
        with strategy.scope():
            variable = ss.Variable(np.zeros(3, np.float32), aggregation=ss.VariableAggregation.SUM, name="v")
        names = ["alpha", "beta", "gamma", "delta", "epsilon"]
        order = list(set(names)) if fault == "set" else names
        came = []

        def replica():
            ctx = ss.get_replica_context()
            rank = ctx.replica_id_in_sync_group
            came.append(rank)
            noise = time.perf_counter_ns() % 1000 / 7 if fault == "clock" else 0.0
            results = []
            for kind, size, number in steps:
                x = ctx.xp.full((size,), number * (rank + 1) + noise, dtype="float32")
                results.append(take_step(ctx, kind, x, variable, order, number))
                came.append(rank)
            if ending == "raise" and rank == victim:
                raise KeyError(f"replica {rank} gives up")
            if ending == "disagree":
                results.append(ctx.all_reduce("MEAN" if rank == victim else "SUM", ctx.xp.ones(2)))
            if ending == "leave" and rank != victim:
                results.append(ctx.all_reduce("SUM", ctx.xp.ones(2)))
            return results

        result = strategy.run(replica)
        return {"result": result, "came": np.asarray(came)}

    return workers, replicas, program


def take_step(ctx, kind, x, variable, order, number):
    """Takes one step of a program in one replica and returns what came of it."""

    def all_reduce():
        return ctx.all_reduce("SUM", x)

    def mean():
        return ctx.all_reduce("MEAN", x)

    def nest():
        value = ctx.all_reduce("SUM", {name: x[: i % 3] for i, name in enumerate(order)})
        return [value[name] for name in order]

    def gather():
        return ctx.all_gather(ctx.xp.full((ctx.replica_id_in_sync_group % 3, 2), number, dtype="float32"), axis=0)

    def merge():
        return ctx.merge_call(lambda strategy, v: strategy.reduce("MEAN", v, axis=None), (x,))

    def nested():
        def inner(y):
            return ss.get_replica_context().all_reduce("SUM", y * 2.0)

        return ctx.merge_call(lambda strategy, v: strategy.run(inner, (v,)), (x,))

    def assign():
        variable.assign_add(ctx.xp.full((3,), number * ctx.replica_id_in_sync_group, dtype="float32"))
        return variable.value()

    def local():
        return x * 3.0

    return {function.__name__: function for function in (all_reduce, mean, nest, gather, merge, nested, assign, local)}[
        kind
    ]()


class Swap:
    """The planted lane swap: once, the second lane is taken where the schedule said the first."""

    def __init__(self, inner):
        self.inner = inner
        self.name = "Swap"
        self.left = 1

    def choose(self, label, n):
        taken = self.inner.choose(label, n)
        if self.left and n > 1:
            self.left -= 1
            return (taken + 1) % n
        return taken


def digest_of(seed, schedule, fault=None):
    """Runs a seed's program and returns the digests of everything it came to, and of its trace alone."""
    workers, replicas, program = program_of(seed, fault)
    trace = ss.trace.Trace(root=HERE.parent)
    cluster = ss.sim.Cluster(workers, replicas, schedule=schedule, trace=trace)
    outcomes = [end.result for end in cluster.outcomes(lambda strategy: run_program(program, strategy, trace))]
    whole = hashlib.sha256(trace.digest().encode())
    for outcome in outcomes:
        whole.update(repr(outcome.error).encode())
        for path, value in outcome.leaves:
            whole.update(f"{path} {value.dtype} {value.shape}".encode() + value.tobytes())
    return whole.hexdigest(), trace.digest()


def run_seeds(seeds, fault=None):
    """Returns for each seed its digest, whether run again and replayed it is the same, and whether the order shows."""
    lines = []
    for seed in range(seeds):
        recorded = Recorded(Seeded(seed))
        one, trace = digest_of(seed, Swap(recorded) if fault == "swap" else recorded, fault)
        two, _ = digest_of(seed, Seeded(seed), fault)
        again, _ = digest_of(seed, Replayed(recorded.draws), fault)
        in_order = digest_of(seed, InOrder(), fault)[1]
        lines.append([seed, one, one == two, one == again, trace != in_order])
    return lines


def in_processes(seeds, fault=None):
    """Runs the seeds in two processes with different hash seeds, at once; returns what each printed."""
    command = [sys.executable, str(HERE), "--child", "--seeds", str(seeds), *(["--fault", fault] if fault else [])]
    children = [
        subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONHASHSEED": seed})
        for seed in ("1", "2")
    ]
    outputs = [child.communicate()[0] for child in children]
    if any(child.returncode for child in children):
        raise SystemExit("torture: a process failed")
    return [json.loads(output) for output in outputs]


def torture(seeds, fault_seeds):
    """Returns the report's lines and whether all is well."""
    one, two = in_processes(seeds)
    twice = all(same for _, _, same, _, _ in one + two)
    replayed = all(same for _, _, _, same, _ in one + two)
    across = [line[1] for line in one] == [line[1] for line in two]
    shows = sum(differs for *_, differs in one)
    lines = [
        f"{seeds} seeds, each twice and replayed once, in two processes with different hash seeds",
        f"the same twice: {twice}; the same replayed: {replayed}; the same in both processes: {across}",
        f"traces that differ from InOrder: {shows}",
    ]
    well = twice and replayed and across and shows > 0
    for fault in FAULTS:
        first, second = in_processes(fault_seeds, fault)
        changed = sum(not (a[2] and a[3] and b[2] and b[3]) or a[1] != b[1] for a, b in zip(first, second, strict=True))
        lines.append(f"planted {fault}: {changed} of {fault_seeds} digests changed")
        well = well and changed > 0
    return lines, well


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--evidence", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--fault", choices=FAULTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        json.dump(run_seeds(options.seeds, options.fault), sys.stdout)
        return 0
    lines, well = torture(options.seeds, min(options.seeds, 50))
    lines.append("torture: all digests equal, every planted fault seen" if well else "torture: FAILED")
    print("\n".join(lines))
    if options.evidence:
        options.evidence.parent.mkdir(parents=True, exist_ok=True)
        options.evidence.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
