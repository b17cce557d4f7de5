"""Measures simulated ranks of torch.distributed against gloo doing the same, as ratios.

    python3 ci/bench/torch_distributed.py [--rounds 5] [--evidence FILE]

Both sides take turns, now one first and now the other; a figure is the median of the ratios of pairs, and a call's time
the median within one run. From the shell: whole commands. A test's body: 4 ranks by the marker `world_size`, against
the same body under torch.multiprocessing.spawn, each test after the first of its kind in one session. Calls: 2 ranks.
"""

import argparse
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree as Xml

ROOT = Path(__file__).resolve().parents[2]
OURS = (sys.executable, "-m", "simstrategy_torch_distributed")
GLOO = (sys.executable, "-m", "torch.distributed.run", "--standalone")
GLOO_TRIES = 3
SMALL = ROOT / "backends" / "torch_distributed" / "tests" / "scripts" / "lawful" / "as_module.py"

SCRIPT = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(20):
    optimizer.zero_grad()
    model(torch.ones(4, 8) * dist.get_rank()).square().mean().backward()
    optimizer.step()
total = torch.ones(1)
dist.all_reduce(total)
print("total", total.item())
dist.destroy_process_group()
"""

CALLS = """
import json, statistics, time
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.set_num_threads(1)

def median(call, count):
    times = []
    for turn in range(-5, count):
        dist.barrier()
        begun = time.perf_counter()
        call()
        if turn >= 0:
            times.append(time.perf_counter() - begun)
    return statistics.median(times)

def reduces(elements, calls):
    tensor = torch.zeros(elements)
    def run():
        for _ in range(calls):
            dist.all_reduce(tensor)
    return lambda: run()

layers = [torch.nn.Linear(577, 577) for _ in range(3)]
model = DistributedDataParallel(torch.nn.Sequential(*layers))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
rows = torch.ones(32, 577)

def step():
    optimizer.zero_grad()
    model(rows).square().mean().backward()
    optimizer.step()

found = {
    "1 KiB": median(reduces(256, 50), 15) / 50,
    "16 MiB": median(reduces(4 << 20, 1), 15),
    "step": median(step, 25),
}
if dist.get_rank() == 0:
    print(json.dumps(found))
dist.destroy_process_group()
"""

TESTS = """
import os
import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def body():
    total = torch.ones(4) * dist.get_rank()
    dist.all_reduce(total)
    assert total[0].item() == 6.0

def spawned(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=4)
    body()
    dist.destroy_process_group()

@pytest.mark.world_size(4)
@pytest.mark.parametrize("number", range(6))
def test_simulated(number):
    dist.init_process_group("gloo")
    body()

@pytest.mark.parametrize("number", range(2))
def test_spawned(number, tmp_path):
    mp.spawn(spawned, args=(tmp_path,), nprocs=4)
"""


def seconds_of(command, folder):
    """Returns how long a command takes, and what it prints.

    Ends the bench with what it printed where it fails. Torchrun is run again: gloo's threads may still run when the
    process ends, which aborts it then.
    """
    tries = GLOO_TRIES if command[: len(GLOO)] == [*GLOO] else 1
    while True:
        begun = time.perf_counter()
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
        )
        if not done.returncode:
            return time.perf_counter() - begun, done.stdout
        failed = f"exit code {done.returncode} of {shlex.join(map(str, command))}"
        tries -= 1
        if not tries:
            sys.exit(f"{done.stdout}{done.stderr}{failed}")
        print(f"{failed}; it is run again", file=sys.stderr)


def paired(rounds, run):
    """Returns what `run` gives for both sides, in pairs: (ours, gloo's); each goes first in every other pair."""
    found = []
    for turn in range(rounds):
        order = (OURS, GLOO) if turn % 2 else (GLOO, OURS)
        both = {side: run(side) for side in order}
        found.append((both[OURS], both[GLOO]))
    return found


def row(work, pairs, budget, unit=1.0, name="s"):
    """Returns (work, ratio, budget, kept, times) from pairs of seconds."""
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    ours, theirs = [statistics.median(side) * unit for side in zip(*pairs, strict=True)]
    return f"{work} ({ours:.2f} against {theirs:.2f} {name})", ratio, budget


def in_sessions(folder, rounds):
    """Returns the seconds of a test on simulated ranks and of one that spawns, in pairs, one pair a session."""
    (folder / "test_bodies.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "simstrategy_pytest.plugin", "--junitxml=report.xml"]
    pairs = []
    for _ in range(rounds):
        seconds_of([*command, "-p", "no:cacheprovider", "test_bodies.py"], folder)
        times = {"test_simulated": [], "test_spawned": []}
        for case in Xml.parse(folder / "report.xml").iter("testcase"):
            times[case.get("name").partition("[")[0]].append(float(case.get("time")))
        pairs.append(tuple(statistics.median(each[1:]) for each in times.values()))
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--evidence", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        script, calls = folder / "script.py", folder / "calls.py"
        script.write_text(SCRIPT, encoding="utf-8")
        calls.write_text(CALLS, encoding="utf-8")
        shell = paired(options.rounds, lambda side: seconds_of([*side, "--nproc-per-node=4", str(script)], folder)[0])
        printed = paired(
            options.rounds, lambda side: json.loads(seconds_of([*side, "--nproc-per-node=2", str(calls)], folder)[1])
        )
        times = {name: [(ours[name], gloo[name]) for ours, gloo in printed] for name in printed[0][0]}
        many, _ = seconds_of([*OURS, "--nproc-per-node=64", "-m", SMALL.stem, "3", "--flag"], SMALL.parent)
        rows = [
            row("a script on 4 ranks from the shell ÷ torchrun with gloo", shell, 0.6),
            row("a test's body on 4 ranks ÷ mp.spawn with gloo", in_sessions(folder, max(1, options.rounds // 2)), 0.1),
            row("all_reduce of 1 KiB, 2 ranks ÷ gloo", times["1 KiB"], 1.5, 1e6, "µs"),
            row("all_reduce of 16 MiB, 2 ranks ÷ gloo", times["16 MiB"], 1.2, 1e3, "ms"),
            row("a step of DDP, 1 million parameters, 2 ranks ÷ gloo", times["step"], 1.2, 1e3, "ms"),
        ]
    load = os.getloadavg()[1]
    machine = f"Python {platform.python_version()}, torch {version('torch')}, {os.cpu_count()} cores"
    lines = [f"{machine}, {options.rounds} pairs, a load of {load:.1f} in the last five minutes"]
    width = max(len(work) for work, _, _ in rows)
    for work, ratio, budget in rows:
        lines.append(f"{work:{width}}  {ratio:6.2f}  ≤ {budget:.1f}{'' if ratio <= budget else '  MISSED'}")
    lines.append(f"{SMALL.name} on 64 ranks: {many:.1f} s")
    print(*lines, sep="\n")
    if options.evidence:
        options.evidence.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if all(ratio <= budget for _, ratio, budget in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
