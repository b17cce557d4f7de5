"""Checks public bugs as they were: the old package as it was released, used by a small program in the usual way.

    python3 ci/campaigns/in_situ.py [NAME …] [--environments DIR] [--evidence FILE]

The bugs are those of in_situ.toml, and the programs in in_situ/. Each runs in an environment that sees this one and has
the package of its time before it, then in one with the package that corrects it, where there is one. A bug is found if
the check of the old package ends with a finding that its row names, and the check of the corrected one accuses nothing.
What does not install, or whose program does not run without a check, is listed with the reason and is not found.
Environments stay in --environments, and are made anew where there is none.
"""

import re
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from evidence import Evidence, arguments, ended, versions
from overlay import install, python_over

HERE = Path(__file__).resolve().parent
SECONDS_MAX = 300
FIXED = ("torch", "numpy", "jax", "tensorflow")
"""Packages of this environment that no bug's packages may replace, but for those that a row names itself."""
AGREES, DIFFERS = 0, 1


class Bug(NamedTuple):
    """A row of in_situ.toml.

    packages, corrected: what pip installs for the two sides; corrected is None where nothing is released. check: its
    arguments, after the program's file. names: patterns that the text of the finding has, all of them.
    """

    name: str
    source: str
    packages: tuple
    corrected: tuple | None
    program: str
    check: tuple
    names: tuple


def bugs():
    """Returns the rows of the table."""
    rows = tomllib.loads((HERE / "in_situ.toml").read_text(encoding="utf-8"))["bug"]
    return [
        Bug(
            row["name"],
            row["source"],
            tuple(row["packages"]),
            tuple(row["corrected"]) if "corrected" in row else None,
            row["program"],
            tuple(row["check"]),
            tuple(row["names"]),
        )
        for row in rows
    ]


def environment(folder, packages):
    """Returns the Python of an environment that has packages before this one's; and the problem in words, or None."""
    python = python_over(folder)
    own = {re.split(r"[=<>!~\[]", package)[0] for package in packages}
    return python, install(python, packages, fixed=[name for name in FIXED if name not in own])


def checked(python, bug):
    """Returns exit code, text and seconds of a check of a bug's program."""
    command = [python, "-m", "simstrategy.cli", "check", bug.program, *bug.check]
    began = time.monotonic()
    code, lines = ended(command, SECONDS_MAX, folder=HERE / "in_situ", PYTHONDONTWRITEBYTECODE="1")
    return code, "\n".join(lines), time.monotonic() - began


def side(folder, packages, bug):
    """Returns exit code, text and seconds of a check in an environment; the code is "" where it cannot be made."""
    python, problem = environment(folder, packages)
    if problem is not None:
        return "", f"does not install: {problem}", 0.0
    code, text, seconds = checked(python, bug)
    if "Could not be judged" in text or "FAILED" in text:
        return code, f"does not run: {_error(text)}", seconds
    return code, text, seconds


def _error(text):
    """Returns the first line of a report that has an error."""
    found = [line for line in text.splitlines() if re.search(r"Error|error|exit code", line)]
    return (found or text.splitlines() or ["nothing was printed"])[0][:300]


def tried(bug, folder, examine=side):
    """Returns whether a bug is found, and a line on it.  examine: as `side`."""
    code, text, seconds = examine(folder / bug.name, bug.packages, bug)
    if text.startswith("does not"):
        return False, text
    missing = [pattern for pattern in bug.names if not re.search(pattern, text)]
    if code != DIFFERS:
        return False, f"NOT FOUND: exit code {code}"
    if missing:
        return False, f"noticed in {seconds:.0f} s, without {missing[0]!r}"
    words = f"found in {seconds:.0f} s"
    if bug.corrected is None:
        return True, f"{words}; no corrected package"
    is_accused, end = _corrected(*examine(folder / f"{bug.name}-corrected", bug.corrected, bug)[:2])
    return not is_accused, f"{words}; {' '.join(bug.corrected)} {end}"


def _corrected(code, text):
    """Returns whether a corrected package is accused, and the answer to it in words."""
    if text.startswith("does not"):
        return False, text
    if code == DIFFERS:
        return True, f"is ACCUSED: {_error(text)}"
    return False, "is not accused" if code == AGREES else f"ends with {code}"


def main():
    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*", help="bugs, by a part of their name")
    parser.add_argument("--environments", type=Path)
    options = parser.parse_args()
    evidence = Evidence()
    evidence.add(versions("torch", "tensorflow", "jax", "simstrategy"))
    chosen = [bug for bug in bugs() if not options.names or any(one in bug.name for one in options.names)]
    found = 0
    with tempfile.TemporaryDirectory() as place:
        for bug in chosen:
            is_found, line = tried(bug, options.environments or Path(place))
            found += is_found
            evidence.add(f"{bug.name:22} {' '.join(bug.packages) or 'as installed':42} {line}")
    evidence.add(f"{found} of {len(chosen)} bugs found")
    evidence.write(options.evidence)
    return evidence.exit_code


if __name__ == "__main__":
    sys.exit(main())
