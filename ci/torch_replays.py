"""Scripts of torchrun, replayed on simulated ranks: what ranks print and the recording are the same bytes in every run.

    python3 ci/torch_replays.py [--runs 400] [--loaded 10] [--jobs 2]

Five scripts, each so many times on a forkserver that stays, and then a few times beside two processes that compute all
the time. Compared are exit codes, the output of every rank, remarks, and the recording of all calls. Clause: G-78.
"""

import argparse
import io
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, redirect_stdout
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from simstrategy_torch_distributed.preloading import modules_of_torch
from simstrategy_torch_distributed.running import run_on, started
from simstrategy_torch_distributed.settings import Settings

SCRIPTS = Path(__file__).resolve().parents[1] / "backends" / "torch_distributed" / "tests" / "scripts" / "lawful"
REPLAYED = {"async_works": 4, "ddp_buckets": 3, "objects": 4, "overlapping_groups": 4, "point_to_point": 3}
"""The scripts, and how many ranks each has."""
BUSY = [sys.executable, "-c", "while True: pass"]


class Replayed(NamedTuple):
    """digests: how often each came.  calls: of the recording. seconds: for all runs."""

    digests: Counter
    calls: int
    seconds: float


def replay(name, runs):
    """Runs a script so many times; returns digests of all that it gave."""
    script = str(SCRIPTS / f"{name}.py")
    settings = Settings(script, ranks=REPLAYED[name], tee=True, record=True)
    digests, calls = Counter(), 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.chdir(folder)
        stack.callback(os.chdir, "/")
        server = started([*modules_of_torch(script), "torch._dynamo"])
        stack.callback(server.close)
        began = time.perf_counter()
        for _ in range(runs):
            with redirect_stdout(io.StringIO()):
                report = run_on([server], settings)
            trace = folder / "recording"
            report.record.trace(str(SCRIPTS)).write(trace)
            digests[sha256(report.as_json().encode() + trace.read_bytes()).hexdigest()[:16]] += report.exit_code == 0
            calls = len(report.record)
        return Replayed(digests, calls, time.perf_counter() - began)


def replay_all(runs, jobs):
    """Returns what each script gave, by its name."""
    with ProcessPoolExecutor(jobs) as pool:
        return dict(zip(REPLAYED, pool.map(replay, REPLAYED, [runs] * len(REPLAYED)), strict=True))


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400, help="of each script")
    parser.add_argument("--loaded", type=int, default=10, help="runs of all scripts beside two busy processes")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(arguments)
    quiet = replay_all(given.runs, given.jobs)
    with ExitStack() as stack:
        for _ in range(2):
            busy = stack.enter_context(subprocess.Popen(BUSY))
            stack.callback(busy.kill)
        loaded = replay_all(max(1, given.loaded // len(REPLAYED)), given.jobs)
    wrong = 0
    print(f"{'script':20}{'ranks':>6}{'calls':>7}{'runs':>7}{'under load':>12}{'different':>11}")
    for name, ranks in REPLAYED.items():
        both = quiet[name].digests + loaded[name].digests
        counts = [one.digests.total() for one in (quiet[name], loaded[name])]
        wrong += len(both) != 1
        print(f"{name:20}{ranks:6}{quiet[name].calls:7}{counts[0]:7}{counts[1]:12}{len(both):11}")
    runs = sum(one[name].digests.total() for one in (quiet, loaded) for name in REPLAYED)
    expected = len(REPLAYED) * (given.runs + max(1, given.loaded // len(REPLAYED)))
    seconds = sum(one.seconds for one in quiet.values())
    print(f"{seconds:.0f} s of runs, {given.jobs} at a time", file=sys.stderr)
    if wrong or runs != expected:
        print(f"{wrong} of {len(REPLAYED)} scripts gave other bytes; {runs} of {expected} runs ended with exit code 0.")
        return 1
    print(f"All {runs} runs ended with exit code 0, and each script gave the same bytes in every run.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
