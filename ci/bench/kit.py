"""Measures the conformance kit: a whole run on the simulator, and what its plugin costs whoever does not use it.

    python3 ci/run.py deep kit

A run is timed as a user waits for it, in one process and in two, and with the processor time of all its processes. All
are taken by turns, and the best of several counts, as in budgets.py: machines have times in which they take twice as
long. Starts of pytest are taken in pairs, with the plugin and without it (`-p no:`), and the median difference counts.
Ends with exit code 1 if a budget is exceeded. It measures nothing else.
"""

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS = {"quick": 10.0, "default": 60.0}
RUNS = 3
PLUGIN_MS, STARTS = 20.0, 41


def timed(command, folder):
    """Runs a command; returns seconds of the clock and of the processors, of all its processes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def whole_runs():
    """Prints what runs of the kit take, by profile; returns whether budgets are kept."""
    found = {(profile, jobs): [] for profile in SECONDS for jobs in ("1", "2")}
    for _ in range(RUNS):
        for (profile, jobs), taken in found.items():
            command = [sys.executable, "-m", "simstrategy", "conform", "sim", "--profile", profile, "--jobs", jobs]
            taken.append(timed(command, ROOT))
    best = {run: min(wall for wall, _ in taken) for run, taken in found.items()}
    for (profile, jobs), taken in found.items():
        wall, budget = best[profile, jobs], SECONDS[profile]
        told = f"best {wall:5.1f} s, of the processors {min(cpu for _, cpu in taken):5.1f} s"
        where = f"profile {profile:8} in {jobs} process{'es' if jobs != '1' else '  '}"
        others = ", ".join(f"{wall:.1f}" for wall, _ in taken)
        print(f"{where}: {told}; at most {budget:.0f} s: {wall / budget:.2f} (all: {others})", flush=True)
    return all(best[profile, "2"] <= budget for profile, budget in SECONDS.items())


def starts():
    """Prints what a start of pytest takes with and without the plugin; returns whether the budget is kept."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_one.py").write_text("def test_one():\n    pass\n")
        (folder / "pytest.ini").write_text("[pytest]\n")
        plain = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        commands = {"without": [*plain, "-p", "no:simstrategy"], "with": plain}
        found = {way: [] for way in commands}
        for _ in range(STARTS):
            for way, command in commands.items():
                found[way].append(timed(command, folder))
    walls = {way: [wall * 1e3 for wall, _ in taken] for way, taken in found.items()}
    for way, taken in walls.items():
        middle = statistics.median(taken)
        print(f"pytest {way:7} the plugin: median {middle:6.1f} ms, best {min(taken):6.1f} ms", flush=True)
    differences = [after - before for before, after in zip(walls["without"], walls["with"], strict=True)]
    more = statistics.median(differences)
    share = more / statistics.median(walls["without"])
    print(f"the plugin adds {more:.1f} ms ({share:.1%}), the median of {STARTS} pairs; at most {PLUGIN_MS:.0f} ms")
    return more <= PLUGIN_MS


def main():
    kept = [whole_runs(), starts()]
    print("all budgets are kept" if all(kept) else "A BUDGET IS EXCEEDED")
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
