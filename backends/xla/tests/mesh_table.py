"""Checks all programs of mesh_programs/ and prints a line for each: what the check answered, and what is not right.

python backends/xla/tests/mesh_table.py [--timed] [NAME …]

--timed: bare runs of the same numbers of devices, one process each, run half before each check and half after it, since
machines have slower times; the ratio of both is printed.
"""

import sys
import tempfile
import time

from mesh_corpus import accusations, bare_run, faults, lawful, wrong

import simstrategy as ss

COUNTS = (1, 2, 3, 4)
BEFORE, AFTER = (1, 3), (2, 4)
"""The numbers of devices of bare runs before a check, and after it."""


def main(arguments):
    timed, names = "--timed" in arguments, [name for name in arguments if not name.startswith("--")]
    bad = total = 0
    ratios = []
    for row, examine in [*[(row, faults) for row in wrong()], *[(row, accusations) for row in lawful()]]:
        if names and row.name not in names:
            continue
        bare = seconds_of_bare_runs(row.file, BEFORE) if timed else None
        began = time.monotonic()
        report = ss.check(row.program, replicas=COUNTS)
        seconds = time.monotonic() - began
        problems = examine(row, report)
        first = next((one for one in report.findings if one.law == "replicas"), None)
        found = f"{first.kind}, step {first.step}, {first.site or '-'}, {first.variable or '-'}" if first else ""
        ratio = ""
        if bare is not None:
            bare += seconds_of_bare_runs(row.file, AFTER)
            ratios.append(seconds / bare)
            ratio = f"{seconds / bare:4.1f} x bare"
        kept = "held back" if row.held_back else ""
        print(
            f"{row.name:32} {seconds:5.1f} s {ratio} {report.verdict:9} {kept:9} {found}",
            *[f"WRONG: {one}" for one in problems],
            flush=True,
        )
        bad, total = bad + bool(problems), total + 1
    print(f"{total} programs, {bad} with an answer that is not right")
    if ratios:
        print(f"check against bare runs: median {sorted(ratios)[len(ratios) // 2]:.2f}, largest {max(ratios):.2f}")
    return int(bad > 0)


def seconds_of_bare_runs(file, counts):
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        for count in counts:
            bare_run(file, count, folder)
        return time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
