"""Measures what agreeing costs between real processes: our Strategy on gloo against torch.distributed doing the same.

Both take turns in the same processes, one local replica each, one BLAS thread; now one begins and now the other, so
that what else the machine does meets both. A figure is the median over pairs of turns of the median of several
launches, all of which are printed, for processes keep their luck with memory and cores as long as they live. The
best turns and the processor time, of all threads of a process, are printed beside it.

    python3 ci/bench/processes.py [--workers 2,4] [--rounds 80] [--launches 3] [--pin] [--evidence FILE]

--pin: keeps each process on one core of its own, for systems that gather processes which talk to each other on one.
"""

import argparse
import os
import platform
import statistics
import sys
import time
from importlib.metadata import version
from pathlib import Path

CALLS = 16
ELEMENTS = 262_144
WIDTH = 320
WARMING = 5
OURS_MAX = 1.25
STEP_MAX = 1.10


def reduces(strategy):
    """Returns one all-reduce of 1 MiB, bare and ours: functions that do it CALLS times; for worker processes."""
    import torch
    from torch import distributed

    import simstrategy as ss

    array = torch.ones(ELEMENTS)

    def bare():
        for _ in range(CALLS):
            distributed.all_reduce(array.clone())

    def step():
        context = ss.get_replica_context()
        for _ in range(CALLS):
            context.all_reduce("SUM", array)

    return {"bare_reduce": bare, "our_reduce": lambda: strategy.run(step)}


def steps(strategy):
    """Returns a step of some arithmetic and an all-reduce of its gradient, bare and ours."""
    import torch
    from torch import distributed

    import simstrategy as ss

    left, right = torch.ones(WIDTH, WIDTH), torch.full((WIDTH, WIDTH), 1e-3)

    def gradient():
        return torch.tanh(left @ right) @ right

    def step():
        ss.get_replica_context().all_reduce("SUM", gradient())

    def bare():
        for _ in range(CALLS):
            distributed.all_reduce(gradient())

    def ours():
        for _ in range(CALLS):
            strategy.run(step)

    return {"bare_step": bare, "our_step": ours}


def measure(rounds, pin):
    """Returns the seconds a call of each subject's turns, and the processor seconds; runs in every worker."""
    import torch
    from torch import distributed

    import simstrategy as ss

    if pin:
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[int(os.environ["RANK"]) % os.cpu_count()]})
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    backend = ss.backend("gloo")
    strategy = ss.Strategy.multi_worker(backend)
    pairs = [list(reduces(strategy).items()), list(steps(strategy).items())]
    seconds = {name: [] for pair in pairs for name, _ in pair}
    busy = {name: [] for name in seconds}
    for turn in range(-WARMING, rounds):
        for pair in pairs:
            for name, run in pair if turn % 2 else pair[::-1]:
                distributed.barrier()
                begun, worked = time.perf_counter(), time.process_time()
                run()
                if turn >= 0:
                    seconds[name].append((time.perf_counter() - begun) / CALLS)
                    busy[name].append((time.process_time() - worked) / CALLS)
    backend.close()
    distributed.destroy_process_group()
    return seconds, busy


def figures_of(ended, names):
    """Returns ours ÷ theirs of one launch: in the middle, the best turns, processor time; and their milliseconds."""
    seconds, busy = zip(*[one.value for one in ended], strict=True)
    # A turn is as long as in the process that took longest.
    ours, bare = [[max(turn) for turn in zip(*[one[name] for one in seconds], strict=True)] for name in names]
    worked = [statistics.median(sum(turn) for turn in zip(*[one[name] for one in busy], strict=True)) for name in names]
    middle = statistics.median(mine / its for mine, its in zip(ours, bare, strict=True))
    return middle, min(ours) / min(bare), worked[0] / worked[1], statistics.median(bare) * 1e3


def row_of(what, launches, names, limit):
    """Returns (work, what was measured, budget, kept); names: of ours and of what it is measured against."""
    found = sorted(figures_of(ended, names) for ended in launches)
    middle, best, worked, milliseconds = found[len(found) // 2]
    each = ", ".join(f"{one[0]:.3f}" for one in found)
    text = f"{middle:.3f}  of {each}; best {best:.2f}, processor {worked:.2f}"
    return f"{what} ({milliseconds:.2f} ms)", text, limit, limit is None or middle <= limit


def rows_of(workers, launches):
    """Returns a row for each pair."""
    bound = workers == 2  # more are stated: on a small machine they share its cores
    reduce = f"1 MiB all_reduce, {workers} gloo processes ÷ torch.distributed"
    step = f"step with an all_reduce, {workers} gloo processes ÷ torch.distributed"
    return [
        row_of(reduce, launches, ("our_reduce", "bare_reduce"), OURS_MAX if bound else None),
        row_of(step, launches, ("our_step", "bare_step"), STEP_MAX if bound else None),
    ]


def main():
    from simstrategy.launch import Launcher

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", default="2,4")
    parser.add_argument("--rounds", type=int, default=80, help="of each launch")
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--pin", action="store_true")
    parser.add_argument("--evidence", type=Path)
    options = parser.parse_args()
    if options.launches < 1 or options.rounds < 1:
        parser.error(f"a median takes at least one launch and one round, not {options.launches} and {options.rounds}")
    rows = []
    for workers in map(int, options.workers.split(",")):
        launches = []
        for _ in range(options.launches):
            with Launcher(workers, preload=["simstrategy_torch"]) as launcher:
                launches.append(launcher.run(measure, [options.rounds, options.pin], timeout_s=300.0))
        broken = [one for ended in launches for one in ended if not one.ok]
        if broken:
            print(f"A worker failed: {broken[0]}", file=sys.stderr)
            return 1
        rows += rows_of(workers, launches)
    width = max(len(row[0]) for row in rows)
    lines = [f"Python {platform.python_version()}, torch {version('torch')}, {os.cpu_count()} cores"]
    for work, found, limit, kept in rows:
        budget = "" if limit is None else f"≤ {limit:.2f}"
        lines.append(f"{work:{width}}  {found}  {budget:>6}  {'' if kept else 'MISSED'}")
    print(*[line.rstrip() for line in lines], sep="\n")
    if options.evidence:
        options.evidence.write_text("\n".join(line.rstrip() for line in lines) + "\n", encoding="utf-8")
    return 0 if all(row[3] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
