"""Runs public programs of torch.distributed with gloo and on simulated ranks, unmodified, and compares how they end.

    python3 ci/campaigns/torch_sources.py [NAME …] [--checkouts DIR] [--environment DIR] [--kept DIR] [--first]
                                          [--evidence FILE]

The programs are those of torch_sources.toml; NAME is a part of a repository's name. Each is cloned from GitHub, or from
DIR/OWNER/NAME or DIR/OWNER+NAME of --checkouts, at its commit, and runs in an environment that sees this one and has
what it needs. Scripts run by `simstrategy torchrun` in place of torchrun, with --spawned in place of python; tests with
pytest's --simulated-ranks. A test passes, fails or is skipped on both sides, or the row differs; of a script the exit
code is compared. Times are of whole commands, one after the other. --kept: what each command printed and how it ended
stays there, and a command that has ended there is not run again: --side runs one side, for a later call with the other.
--first: only the first command of each source.
"""

import functools
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as Xml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from evidence import CANNOT_RUN, Evidence, arguments, versions
from overlay import install, python_over

HERE = Path(__file__).resolve().parent
SECONDS_MAX = 900
FIXED = ("torch", "numpy", "pytest", "setuptools", "protobuf")
"""Packages of this environment that no program's needs may replace."""


class Side(NamedTuple):
    """How one side starts the three kinds of commands."""

    torchrun: list
    pytest: list
    python: list


class Ended(NamedTuple):
    """How a command ended.  code: None at the limit. tests: of pytest, how each ended, by name; else empty."""

    code: int | None
    seconds: float
    tests: dict
    text: str

    def counted(self):
        """Returns in words how many tests passed, failed and were skipped; for a script, its exit code."""
        if self.code is None:
            return f"longer than {SECONDS_MAX} s"
        if not self.tests:
            return f"exit {self.code}"
        ends = list(self.tests.values())
        return ", ".join(f"{ends.count(end)} {end}" for end in ("passed", "failed", "skipped") if end in ends)


def sides(python):
    """Returns both sides: with gloo, and on simulated ranks."""
    ours = [python, "-m", "simstrategy_torch_distributed"]
    pytest = [python, "-m", "pytest", "-p", "no:cacheprovider"]
    simulated = [*pytest, "-p", "simstrategy_pytest.plugin", "--simulated-ranks"]
    return {
        "gloo": Side([python, "-m", "torch.distributed.run", "--standalone"], pytest, [python]),
        "simulated": Side([*ours, "--standalone"], simulated, [*ours, "--spawned"]),
    }


def command_of(text, side, report):
    """Returns the variables and the command of a run on a side.  report: where pytest writes what became of tests."""
    words = shlex.split(text)
    settings = {}
    while "=" in words[0]:
        name, _, settings[name] = words.pop(0).partition("=")
    if words[:3] == ["python", "-m", "pytest"]:
        return settings, [*side.pytest, f"--junitxml={report}", *words[3:]]
    start = {"torchrun": side.torchrun, "python": side.python}[words[0]]
    return settings, [*start, *words[1:]]


def checkout(source, folders, target):
    """Puts a source's files at its commit into `target`; returns the problem in words, or None."""
    repository = source["repository"]
    found = [
        folder / name
        for folder in folders
        for name in (repository, repository.replace("/", "+"))
        if (folder / name).is_dir()
    ]
    origin = str(found[0]) if found else f"https://github.com/{repository}"
    for command in (
        ["git", "clone", "--quiet", "--no-checkout", origin, str(target)],
        ["git", "-C", str(target), "checkout", "--quiet", source["commit"]],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["git failed"])[-1]
    for place, file in source.get("files", {}).items():
        (target / place).parent.mkdir(exist_ok=True)
        (target / place).write_text((HERE / "torch_files" / file).read_text(encoding="utf-8"), encoding="utf-8")
    return None


def ended(text, side, folder, path):
    """Runs a command in a folder to its end, and ends what it leaves; returns how it ended."""
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report.xml"
        settings, command = command_of(text, side, report)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        lookup = [*(str(folder / one) for one in path), kept.get("PYTHONPATH", "")]
        own = {"PYTHONPATH": os.pathsep.join(lookup), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        own |= {"TMPDIR": place, "HF_HUB_OFFLINE": "1"}
        begun = time.monotonic()
        with subprocess.Popen(
            command,
            cwd=folder,
            env={**kept, **own, **settings},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                printed, _ = process.communicate(timeout=SECONDS_MAX)
                code = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                printed, _ = process.communicate()
                code = None
        seconds = time.monotonic() - begun
        return Ended(code, seconds, tests_of(report), printed.decode(errors="replace"))


def tests_of(report):
    """Returns how each test of a JUnit file ended, by its name."""
    if not report.exists():
        return {}
    found = {}
    for case in Xml.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        end = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        found[f"{case.get('classname')}.{case.get('name')}"] = end
    return found


def has_passed(one):
    """Returns whether something has passed: a test, or a script."""
    return "passed" in one.tests.values() if one.tests else one.code == 0


def differences(there, here):
    """Returns what differs, in words: the tests that end otherwise here, or the exit codes."""
    names = sorted(there.tests.keys() | here.tests.keys())
    found = [
        f"{name}: {there.tests.get(name, 'not run')} there, {here.tests.get(name, 'not run')} here"
        for name in names
        if there.tests.get(name) != here.tests.get(name)
    ]
    if there.code != here.code and not found:
        found.append(f"exit code {there.code} there, {here.code} here")
    return found


def ended_once(folder, source, number, side, run):
    """Returns how a command has ended, as kept in a folder, or else runs it and keeps that; folder: None keeps none."""
    if folder is None:
        return run()
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{source['repository'].replace('/', '+')}.{number}.{side}"
    file = folder / f"{name}.json"
    if not file.exists():
        one = run()
        (folder / f"{name}.txt").write_text(one.text, encoding="utf-8")
        file.write_text(json.dumps([one.code, one.seconds, one.tests]), encoding="utf-8")
    return Ended(*json.loads(file.read_text(encoding="utf-8")), "")


def run_source(source, python, options, evidence):
    """Runs all commands of a source on both sides and adds their rows.

    Returns how many passed something on both sides, and how many differ; None where nothing could be run.
    """
    name, passed, bad = source["repository"], 0, 0
    with tempfile.TemporaryDirectory() as place:
        target = Path(place) / "checkout"
        problem = checkout(source, options.checkouts, target) or install(python, source["packages"], FIXED)
        if problem is not None:
            evidence.add(f"{name}: not run: {problem}")
            return None
        evidence.add(f"{name} at {source['commit'][:12]}, {source['start']}")
        for number, text in enumerate(source["runs"]):
            path, both = source.get("path", ["."]), {}
            for side, how in sides(python).items():
                if side in options.side:
                    run = functools.partial(ended, text, how, target, path)
                    both[side] = ended_once(options.kept, source, number, side, run)
            if len(both) == 1:
                ((side, one),) = both.items()
                evidence.add(f"  {text}\n          {side}: {one.counted()}; {one.seconds:.1f} s")
                continue
            there, here = both["gloo"], both["simulated"]
            found = differences(there, here)
            bad += bool(found)
            times = f"{here.seconds:.1f} s / {there.seconds:.1f} s = {here.seconds / there.seconds:.2f}"
            passed += has_passed(there) and has_passed(here)
            same = "DIFFERS" if found else "same" if has_passed(there) else "NOTHING"
            evidence.add(f"  {same:8}{text}\n          gloo: {there.counted()}; here: {here.counted()}; {times}")
            for line in found:
                evidence.add(f"          {line}")
        if "remark" in source:
            evidence.add(f"          ({source['remark']})")
    return passed, bad


def main():
    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--checkouts", type=Path, action="append", default=[])
    parser.add_argument("--environment", type=Path)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--side", action="append", choices=("gloo", "simulated"))
    parser.add_argument("--first", action="store_true", help="only the first command of each source")
    options = parser.parse_args()
    options.side = options.side or ["gloo", "simulated"]
    sources = tomllib.loads((HERE / "torch_sources.toml").read_text(encoding="utf-8"))["source"]
    chosen = [one for one in sources if not options.names or any(name in one["repository"] for name in options.names)]
    if options.first:
        chosen = [{**one, "runs": one["runs"][:1]} for one in chosen]
    evidence = Evidence()
    evidence.add(f"{versions('torch', 'numpy', 'pytest')}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as place:
        python = python_over(options.environment or Path(place) / "environment")
        found = [run_source(source, python, options, evidence) for source in chosen]
    ran = [one for one in found if one is not None]
    passed, bad = (sum(counts) for counts in zip(*ran, strict=True)) if ran else (0, 0)
    commands = sum(len(one["runs"]) for one in chosen)
    evidence.add(
        f"{commands} commands of {len(chosen)} sources: {passed} pass something on both sides, {bad} differ, "
        f"{len(chosen) - len(ran)} sources could not be run"
    )
    evidence.write(options.evidence)
    return CANNOT_RUN if not ran else int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
