"""Measures the conformance kit: a whole run on the simulator, and what its plugin costs whoever does not use it.

    python3 ci/run.py deep kit

A run is timed as a user waits for it, in two processes, and with the processor time of all its processes, which other
work on the machine lengthens less. Starts of pytest are taken by turns, with the plugin and without it (`-p no:`), and
each median stands beside the other. Ends with exit code 1 if a budget is exceeded. It measures nothing else.
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
PLUGIN_MS, STARTS = 20.0, 21


def timed(command, folder):
    """Runs a command; returns seconds of the clock and of the processors, of all its processes."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def whole_runs():
    """Prints what a run of the kit takes, by profile; returns whether budgets are kept."""
    kept = True
    for profile, budget in SECONDS.items():
        for jobs in ("1", "2"):
            command = [sys.executable, "-m", "simstrategy.cli", "conform", "sim", "--profile", profile, "--jobs", jobs]
            wall, cpu = timed(command, ROOT)
            told = f"{wall:6.1f} s, of the processors {cpu:6.1f} s; at most {budget:.0f} s: {wall / budget:.2f}"
            print(f"profile {profile:8} in {jobs} process{'es' if jobs != '1' else '  '}: {told}", flush=True)
        kept = kept and wall <= budget
    return kept


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
    walls = {way: statistics.median(wall for wall, _ in taken) * 1e3 for way, taken in found.items()}
    cpus = {way: statistics.median(cpu for _, cpu in taken) * 1e3 for way, taken in found.items()}
    for way in commands:
        print(f"pytest {way:7} the plugin: {walls[way]:7.1f} ms, of the processors {cpus[way]:7.1f} ms", flush=True)
    more, busy = walls["with"] - walls["without"], cpus["with"] - cpus["without"]
    ratio = walls["with"] / walls["without"]
    print(f"the plugin adds {more:.1f} ms ({ratio:.3f} of a start without it), of the processors {busy:.1f} ms;")
    print(f"at most {PLUGIN_MS:.0f} ms, medians of {STARTS} starts by turns")
    return more <= PLUGIN_MS


def main():
    kept = [whole_runs(), starts()]
    print("all budgets are kept" if all(kept) else "A BUDGET IS EXCEEDED")
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
