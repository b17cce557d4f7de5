"""Runs commands and keeps what they print: the one shape of the scripts that make evidence.

A script makes an `Evidence`, adds lines to it, and ends with its exit code. Nothing here chooses what is run.
"""

import argparse
import os
import platform
import re
import signal
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["CANNOT_RUN", "COMMAND", "ROOT", "Evidence", "arguments", "ended", "failures", "output", "versions"]

ROOT = Path(__file__).resolve().parent.parent
COMMAND = (sys.executable, "-m", "simstrategy")
"""The command line `simstrategy` of this environment."""
CANNOT_RUN = 77
"""The exit code of a script that misses what it runs: it has found nothing, and earlier evidence stands."""


class Evidence:
    """Lines that are printed when they are added, and written to a file at the end.

    prefix: of every line in the file. A line that begins with FAILED, or has ": FAILED" in it, is a failure.
    """

    def __init__(self, prefix=""):
        self.lines, self.prefix = [], prefix

    def add(self, text):
        """Prints and keeps a text of one or several lines."""
        print(text, flush=True)
        self.lines += text.splitlines()

    def write(self, file):
        """Writes the lines to a file; None writes none."""
        if file is not None:
            file.write_text("".join(f"{self.prefix}{line}\n" for line in self.lines), encoding="utf-8")

    @property
    def exit_code(self):
        """1 where a line is a failure, else 0."""
        return int(any(line.startswith("FAILED") or ": FAILED" in line for line in self.lines))


def arguments(text):
    """Returns a parser of options that takes --evidence FILE.  text: the script's docstring."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evidence", type=Path, help="write what is printed to this file too")
    return parser


def output(command, *, folder=ROOT, errors=subprocess.DEVNULL, **settings):
    """Runs a command to its end; returns its exit code and its output.

    errors: what becomes of its error output: dropped; shown, for None; returned where there is no other, for PIPE.
    settings: of the environment, beside what is there.
    """
    environment = {**os.environ, **settings}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True, check=False
    )
    return done.returncode, done.stdout or done.stderr or ""


def ended(command, limit_s, *, folder, **settings):
    """Runs a command in a process group, killed at its limit; returns its code, or None, and its lines.

    The last lines are those of its output, or of its errors where it failed. settings: of the environment, beside what
    is there.
    """
    environment = {**os.environ, **settings}
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            printed = process.communicate(timeout=limit_s)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            printed = process.communicate()
            code = None
        except BaseException:  # interrupted: what holds the device must not go on
            os.killpg(process.pid, signal.SIGKILL)
            raise
    output, errors = [one.decode(errors="replace").strip().splitlines() for one in printed]
    return code, errors + output if code == 0 else output + errors


def versions(*names):
    """Returns Python's version and those of packages, in words."""
    found = [f"Python {platform.python_version()}"]
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    return ", ".join(found)


def failures(report):
    """Yields a line for each test of a kit's report that failed: its clause, and the error."""
    for one in report["clauses"]:
        for test in one["tests"]:
            if "failure" in test:
                errors = re.findall(r"^E +(?:\w[\w.]*: )?(.+)$", test["failure"], re.MULTILINE)
                yield f"{one['clause']} {test['name']}: {' | '.join(errors)[:1500]}"
