"""What a stranger does: installs the wheels where nothing else is, writes the guide's short backend, and breaks it.

    python3 ci/run.py deep stranger

Builds the wheels of the project and of the kit, installs them into an empty environment in a temporary folder, takes
the backend out of docs/writing_a_backend.md, and runs the kit on it: it has to conform. Then one line is broken at a
time: the clause has to be named that the line stands for, with a counterexample of at most 3 replicas and 4 numbers.
Ends with exit code 1 if anything is otherwise. It uses nothing of this repository but the wheels and that page.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple

from evidence import ROOT, Evidence

GUIDE = ROOT / "docs" / "writing_a_backend.md"
LINES_MAX, RANKS_MAX, NUMBERS_MAX = 60, 3, 4
COMMAND = "simstrategy conform my_backend:MyBackend"


class Break(NamedTuple):
    """One broken line.  clause: what it stands for, and has to be named."""

    told: str
    clause: str
    line: str
    broken: str


BREAKS = (
    Break("two ranks are added", "B-8", "[one.host for one in arrays])", "[one.host for one in arrays[:2]])"),
    Break("the root is not looked at", "B-10", "self.all_reduce(arrays, op)[root]", "self.all_reduce(arrays, op)[0]"),
    Break(
        "ranks are gathered backwards",
        "B-12",
        "[one.host for one in arrays], axis",
        "[one.host for one in arrays[::-1]], axis",
    ),
    Break("a write is forgotten", "B-7", "self.native = value", "pass"),
    Break("notes have eight bytes", "B-15", "return (note,)", "return (note[:8],)"),
    Break("sums have NumPy's dtype", "B-19", '{"dtype": found[0].dtype} if name in', "{} if name in"),
    Break(
        "the byte order is not looked at",
        "B-3",
        'value.astype(value.dtype.newbyteorder("="))',
        'value.view(value.dtype.newbyteorder("="))',
    ),
)


EVIDENCE = Evidence()
say = EVIDENCE.add


def run(command, folder, **settings):
    """Runs a command of the environment in its folder, with nothing of this process's Python settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False, **settings)


def must(command, folder):
    done = run(command, folder)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")


def installed(folder):
    """Returns the bin folder of an environment that has the wheels and what they ask for."""
    say("$ pip wheel --no-deps simstrategy simstrategy-conformance")
    sources = [str(ROOT), str(ROOT / "property_tests")]
    must([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), *sources], folder)
    wheels = {wheel.name.partition("-")[0]: wheel for wheel in sorted(folder.glob("*.whl"))}
    say(
        "".join(f"  {wheel.name}\n" for wheel in wheels.values())
        + "$ pip install simstrategy.whl[cli] simstrategy_conformance.whl"
    )
    venv.create(folder / "environment", with_pip=True)
    programs = folder / "environment" / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(programs / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    must([*pip, f"{wheels['simstrategy']}[cli]", str(wheels["simstrategy_conformance"])], folder)
    return programs


def backend_of_the_guide():
    """Returns the text of the guide's short backend."""
    blocks = re.findall(r"^```py\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if len(blocks) != 1:
        sys.exit(f"{GUIDE} has to show one backend in a block of `py`, and has {len(blocks)}.")
    return blocks[0]


def conform(programs, folder, text, *options):
    """Runs the kit on a backend; returns the exit code, the report and the last lines."""
    folder.mkdir()
    (folder / "my_backend.py").write_text(text, encoding="utf-8")
    name = COMMAND.split()
    done = run([str(programs / name[0]), *name[1:], "--json=report.json", *options], folder)
    report = folder / "report.json"
    return done, json.loads(report.read_text()) if report.exists() else {}


def counterexample(report, clause):
    """Returns the smallest example with which a test of a clause failed."""
    tests = [test for one in report["clauses"] if one["clause"] == clause for test in one["tests"]]
    found = re.findall(r"Failing test case: .*?\n(?:E .*\n)*?E +\)", "".join(t.get("failure", "") for t in tests))
    # Of what was drawn step by step no numbers are shown here, but beside it.
    texts = [re.sub(r"\n(?:E +)?", "\n  ", f"  {one}").replace("\n  )", "\n)") for one in found]
    return min(texts, key=lambda text: (size_of(text)[1] == 0, len(text)), default="")


def size_of(example):
    """Returns how many replicas and numbers a counterexample has."""
    ranks = re.search(r"(\d+) ranks?", example)
    # What stands in dtypes and shapes is no number of the example's.
    drawn = example.partition("(")[2]
    plain = re.sub(r"dtype=\S+|shape=\([^)]*\)|\d+ ranks? of \w+\[[^\]]*\]|[a-zA-Z_]+\d+|\\x[0-9a-f]{2}", " ", drawn)
    return int(ranks[1]) if ranks else 1, len(re.findall(r"\d+\.?\d*|True|False", plain))


def broken(programs, folder, text, one):
    """Breaks one line, and tells what the kit says; returns what is wrong with that."""
    if text.count(one.line) != 1:
        return [f"{one.line} is in the guide's backend {text.count(one.line)} times"]
    say(f"\n{one.told}: {one.broken} in place of {one.line}\n$ {COMMAND} --profile quick")
    done, report = conform(programs, folder, text.replace(one.line, one.broken), "--profile=quick")
    named = [clause["clause"] for clause in report.get("clauses", ()) if clause["verdict"] == "failed"]
    example = counterexample(report, one.clause) if report else ""
    ranks, numbers = size_of(example)
    say(f"  exit code {done.returncode}; breaks {', '.join(named)}\n{example}\n  {ranks} replicas, {numbers} numbers")
    wrong = [] if done.returncode == 1 else [f"exit code {done.returncode}"]
    wrong += [] if one.clause in named else [f"{one.clause} is not named"]
    wrong += [] if example else ["no counterexample"]
    wrong += [] if ranks <= RANKS_MAX and numbers <= NUMBERS_MAX else ["the counterexample is large"]
    return [f"{one.told}: {what}" for what in wrong]


def main():
    text = backend_of_the_guide()
    count = sum(bool(line.strip()) for line in text.splitlines())
    say(f"The guide's backend has {count} lines; {LINES_MAX} at most.")
    wrong = [] if count <= LINES_MAX else ["the guide's backend is too long"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = installed(folder)
        say(f"$ {COMMAND}")
        done, _ = conform(programs, folder / "whole", text)
        ended = done.stdout.strip().splitlines()[-2:]
        # Times differ from run to run.
        say("\n".join(f"  {re.sub(r' in [0-9.]+s.*', '', line)}" for line in ended))
        wrong += [] if done.returncode == 0 else [f"the guide's backend does not conform:\n{done.stdout}{done.stderr}"]
        for number, one in enumerate(BREAKS):
            wrong += broken(programs, folder / f"broken{number}", text, one)
    say(f"\nwrong: {'; '.join(wrong) or 'nothing'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
