"""The page of the kit's reports on every backend that is at hand.

    python3 ci/matrix.py [--page FILE] [--jobs 2] [NAME …]

The names are those of COLUMNS, all without one; the page is build/matrix.html without a FILE. A column is a run of the
kit at the quick profile. One that ends with another exit code than is expected is a failure. Two run at once, the one
first that takes longest.
"""

import argparse
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from evidence import COMMAND, ROOT, ended

VENDOR = ROOT / "property_tests" / "tests" / "c10d_vendor"
COLUMNS = {
    "sim": (0, ROOT),
    "template": (0, ROOT),
    "tensorflow": (0, ROOT),
    "torch": (0, ROOT),
    "xla": (0, ROOT),
    "gloo": (0, ROOT),
    "remote_gloo:two_processes": (0, ROOT / "backends" / "torch" / "tests"),
    "c10d:gloo": (0, ROOT),
    "c10d:simulated": (0, ROOT),
    "c10d:stored_group:stored": (0, VENDOR),
    "c10d:threaded": (1, ROOT),
    "c10d:fake": (1, ROOT),
}
"""Each with the exit code that is expected, and the folder from which its module is imported."""
LONGEST = "xla"
LAWS = ("docs/semantics.md", "docs/c10d.md")
SECONDS = 2400


def column(name, file):
    """Runs the kit on a backend, writes its report, and prints how it ended; returns whether as expected."""
    expected, place = COLUMNS[name]
    began = time.monotonic()
    options = ["conform", name, "--profile", "quick", "--json", str(file)]
    code, lines = ended([*COMMAND, *options], SECONDS, folder=place)
    taken = f"({time.monotonic() - began:.0f} s)"
    print(f"{name}: exit code {code}{'' if code == expected else ': FAILED'} {taken}", flush=True)
    if code != expected:
        print("\n".join(lines[-20:]), flush=True)
    return code == expected


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--page", type=Path, default=ROOT / "build" / "matrix.html")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    names = options.names or list(COLUMNS)
    unknown = sorted({*names} - {*COLUMNS})
    if unknown:
        parser.error(f"no such name: {', '.join(unknown)}; there are {', '.join(COLUMNS)}")
    page = options.page.absolute()
    page.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{number}.json" for number in range(len(names))]
        pairs = sorted(zip(names, files, strict=True), key=lambda one: one[0] != LONGEST)
        with ThreadPoolExecutor(options.jobs) as pool:
            expected = list(pool.map(lambda one: column(*one), pairs))
        laws = [word for law in LAWS for word in ("--law", str(ROOT / law))]
        made = [str(file) for file in files if file.exists()]
        code, lines = ended([*COMMAND, "conform", "--matrix", *made, "--html", str(page), *laws], SECONDS, folder=ROOT)
    print("\n".join(lines) if code else f"{options.page}: {len(made)} reports, {page.stat().st_size // 1024} KB")
    return 0 if all(expected) and code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
