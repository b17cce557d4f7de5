"""Checks public bugs as they were: the old package as it was released, used by a small program in the usual way.

    python3 ci/campaigns/in_situ.py [NAME …] [--environments DIR] [--evidence FILE]

The bugs are those of in_situ.toml, and the programs in in_situ/. Each runs in an environment that sees this one and has
the package of its time before it, then in one with the package that corrects it, where there is one. A bug is found if
the check of the old package ends with a finding that has one of the lines and all patterns of its row, and the check of
the corrected one accuses nothing. What does not install, or whose program does not run without a check, is listed with
the reason and is not found. Environments stay in --environments, one for each list of packages, and are made anew where
there is none.
"""

import hashlib
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
    arguments, after the program's file. place: lines, one of which the finding names. names: patterns that the text of
    the finding has, all of them.
    """

    name: str
    source: str
    packages: tuple
    corrected: tuple | None
    program: str
    check: tuple
    place: tuple
    names: tuple


def table():
    """Returns the rows of in_situ.toml, by kind: bug, not_installed."""
    return tomllib.loads((HERE / "in_situ.toml").read_text(encoding="utf-8"))


def bugs():
    """Returns the bugs of the table."""
    return [
        Bug(
            row["name"],
            row["source"],
            tuple(row["packages"]),
            tuple(row["corrected"]) if "corrected" in row else None,
            row["program"],
            tuple(row["check"]),
            tuple(row["place"]),
            tuple(row["names"]),
        )
        for row in table()["bug"]
    ]


def lines_of(place, program, site):
    """Returns the patterns of the lines of a place, as a finding names them.

    place: lines of the program, or "FILE: LINE" of a package.  site: the folders in which packages are looked for; of
    one that is not there no line is named.
    """
    found = []
    for entry in place:
        package = re.match(r"([\w/]+\.py): (.*)", entry)
        files = [folder / package[1] for folder in site] if package else [HERE / "in_situ" / program]
        file = next((one for one in files if one.is_file()), None)
        lines = file.read_text(encoding="utf-8").splitlines() if file else []
        numbers = [number for number, line in enumerate(lines, 1) if line.strip() == (package[2] if package else entry)]
        found += [rf"\b{re.escape(file.name)}\b\S*?:{number}\b" for number in numbers]
    return found


def environment(folder, packages):
    """Returns the Python of an environment that has packages before this one's; and the problem in words, or None."""
    python = python_over(folder)
    own = {re.split(r"[=<>!~\[]", package)[0] for package in packages}
    return python, install(python, packages, fixed=[name for name in FIXED if name not in own])


def checked(python, bug):
    """Returns exit code, text and seconds of a check of a bug's program."""
    command = [python, "-m", "simstrategy", "check", bug.program, *bug.check]
    began = time.monotonic()
    code, lines = ended(command, SECONDS_MAX, folder=HERE / "in_situ", PYTHONDONTWRITEBYTECODE="1")
    return code, "\n".join(lines), time.monotonic() - began


def side(folder, packages, bug):
    """Returns exit code, text and seconds of a check in an environment; the code is "" where it cannot be made."""
    python, problem = environment(folder, packages)
    if problem is not None:
        return "", f"does not install: {problem}", 0.0
    code, text, seconds = checked(python, bug)
    is_finding = code == DIFFERS and re.search(r"raises Replicas(?:Disagree|Blocked):", text)
    if not is_finding and ("Could not be judged" in text or "FAILED" in text):
        return code, f"does not run: {_error(text)}", seconds
    return code, text, seconds


def _error(text):
    """Returns the first line of a report that has an error."""
    found = [line for line in text.splitlines() if re.search(r"Error|error|exit code", line)]
    return (found or text.splitlines() or ["nothing was printed"])[0][:300]


def folder_of(folder, packages):
    """Returns the folder of the environment for a list of packages."""
    first = next((re.sub(r"\W+", "-", one) for one in packages if "==" in one), "as-installed")
    return folder / f"{first}-{hashlib.sha256(' '.join(packages).encode()).hexdigest()[:8]}"


def tried(bug, folder, examine=side):
    """Returns whether a bug is found, and a line on it.  examine: as `side`."""
    old = folder_of(folder, bug.packages)
    code, text, seconds = examine(old, bug.packages, bug)
    if text.startswith("does not"):
        return False, text
    if code != DIFFERS:
        return False, f"NOT FOUND: exit code {code}"
    missing = [pattern for pattern in bug.names if not re.search(pattern, text)]
    if not any(re.search(line, text) for line in lines_of(bug.place, bug.program, old.glob("lib/*/site-packages"))):
        missing.append("a line of its place")
    if missing:
        return False, f"noticed in {seconds:.0f} s, without {missing[0]!r}"
    words = f"found in {seconds:.0f} s"
    if bug.corrected is None:
        return True, f"{words}; no corrected package"
    is_accused, end = _corrected(*examine(folder_of(folder, bug.corrected), bug.corrected, bug)[:2])
    return not is_accused, f"{words}; {named(bug.corrected)} {end}"


def refused(row, folder, make=environment):
    """Returns a line on a bug whose packages do not install.  make: as `environment`."""
    problem = make(folder / f"{row['name']}-refused", row["packages"])[1]
    end = "INSTALLS: give it a program" if problem is None else f"does not install: {problem}"
    return f"{row['name']:22} {named(row['packages']):26} {end}"


def named(packages):
    """Returns the first package of a list that has a version, which is the one that a bug is about."""
    return next((one for one in packages if "==" in one), "as installed")


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
        folder = (options.environments or Path(place)).resolve()
        for bug in chosen:
            is_found, line = tried(bug, folder)
            found += is_found
            evidence.add(f"{bug.name:22} {named(bug.packages):26} {line}")
        for row in table()["not_installed"] if not options.names else ():
            evidence.add(refused(row, folder))
    evidence.add(f"{found} of {len(chosen)} bugs found")
    evidence.write(options.evidence)
    return evidence.exit_code


if __name__ == "__main__":
    sys.exit(main())
