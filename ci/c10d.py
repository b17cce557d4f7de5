"""Backends of torch.distributed under the kit: PyTorch's own, simulated ranks, one in Python, and wrong ones.

    python3 ci/c10d.py [NAME …]      the names are those of COLUMNS and WRONG

Of each column: exit code, clauses, faults, and what is not offered or differs. Of each wrong backend: whether it breaks
the clause of its mistake.
"""

import sys
import tempfile
import time
from json import loads
from pathlib import Path

from evidence import COMMAND, ROOT, Evidence, arguments, ended, failures

VENDOR = ROOT / "property_tests" / "tests" / "c10d_vendor"
COLUMNS = {
    "gloo": (1, "default", "--exceptions=none.toml"),
    "gloo, with its exceptions": (0, "quick"),
    "simulated": (0, "quick"),
    "stored_group:stored": (0, "quick"),
    "threaded": (1, "quick"),
    "fake": (1, "quick"),
    "mpi": (2, "quick"),
    "ucc": (2, "quick"),
    "nccl": (2, "quick"),
}
"""Each with the exit code that is expected, the profile and more options; nccl where there is no GPU."""
WRONG = {
    "sumsatfive": "W-4",
    "readsmemory": "W-16",
    "losesthelast": "W-6",
    "takesworldranks": "W-15",
    "neverwaits": "W-14",
    "reportsearly": "W-14",
    "otherdtype": "W-3",
    "falls_back": "W-1",
    "handson": "W-1",
    "gathersbygloo": "W-1",
    "averagesovertheworld": "W-4",
    "passesthebarrier": "W-13",
    "crashes": "W-3",
    "keepspacked": "W-3",
    "sendslater": "W-11",
    "leastofbytes": "W-3",
    "readsinorder": "W-16",
    "oneatatime": "W-14",
}
"""Each with the clause of its mistake."""
SECONDS = 1500


def conform(name, file, *options):
    """Runs the kit; returns exit code, report (None without one), its last lines and the seconds."""
    (file.parent / "none.toml").touch()
    options = [option.replace("=none", f"={file.parent}/none") for option in options]
    command = [*COMMAND, "conform", f"c10d:{name}", f"--json={file}", *options]
    began = time.monotonic()
    code, lines = ended(command, SECONDS, folder=VENDOR)
    report = loads(file.read_text()) if file.exists() else None
    return code, report, lines, time.monotonic() - began


def column(evidence, name, file):
    """Adds a column: its verdict by clause, notes and failures."""
    expected, profile, *options = COLUMNS[name]
    code, report, lines, seconds = conform(name.partition(",")[0], file, f"--profile={profile}", *options)
    failed = "" if code == expected or (name == "nccl" and code in (0, 2)) else ": FAILED"
    shown = " ".join((f"profile {profile}", *options))
    evidence.add(f"=== c10d:{name}: {shown}: exit code {code}{failed} ({seconds:.0f} s)")
    if report is None:
        evidence.add("\n".join(line for line in lines if "cannot be" in line or "Error" in line))
        return
    for one in report["clauses"]:
        tests = ", ".join(f"{test['name'][5:]} {test['verdict']} {test['examples']}" for test in one["tests"])
        evidence.add(f"  {one['clause']:5} {one['verdict']:8} {tests}")
    for one in report.get("notes", ()):
        evidence.add(f"  {one['kind']}: {one['text']}")
    for one in report["exceptions"]:
        evidence.add(f"  excepted: {one['clause']} {one['test']} ({one['kind']}): {one['reason']} {one['link']}")
    for one in failures(report):
        evidence.add(f"  {one}")
    evidence.add(next(f"  {line}" for line in reversed(lines) if line.startswith("c10d:")))


def wrong(evidence, name, file):
    """Adds a wrong backend: whether it breaks the clause of its mistake, and keeps that of the numbers of ranks."""
    clause = WRONG[name]
    clauses = f"--clauses={clause},W-2"
    code, report, lines, seconds = conform(f"wrong_groups:{name}", file, "--profile=quick", clauses)
    broken = [one["clause"] for one in report["clauses"] if one["verdict"] == "failed"] if report else []
    failed = "" if code == 1 and broken == [clause] else ": FAILED"
    evidence.add(f"=== wrong: {name}: of {clause} and W-2 it breaks {', '.join(broken)}{failed} ({seconds:.0f} s)")
    for one in failures(report) if report else lines[-5:]:
        evidence.add(f"  {one}")


def main():
    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    unknown = sorted({*options.names} - {*COLUMNS, *WRONG})
    if unknown:
        parser.error(f"no such name: {', '.join(unknown)}; there are {', '.join((*COLUMNS, *WRONG))}")
    evidence = Evidence()
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate((*COLUMNS, *WRONG)):
            if name in (options.names or (*COLUMNS, *WRONG)):
                (column if name in COLUMNS else wrong)(evidence, name, Path(folder) / f"{number}.json")
    evidence.write(options.evidence)
    return evidence.exit_code


if __name__ == "__main__":
    sys.exit(main())
