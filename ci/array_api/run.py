"""Runs array-api-tests, the public suite of the Array API standard, on the `xp` of some backends.

    python3 ci/array_api/run.py --suite FOLDER [--backend sim] [--max-examples 10]

FOLDER is a checkout of github.com/data-apis/array-api-tests with its submodule, the packages of its requirements.txt
installed; the environment variable SIMSTRATEGY_ARRAY_API_SUITE may name it instead. What a backend's `xp` does
otherwise than the standard is listed in ci/array_api/exceptions/, with reasons. Strict both ways: a failure without an
exception fails the run, and so does an exception whose test passes, or that matches no test. A reason that begins with
"Either: " is of a test that fails for some of the examples that the suite draws, and not in every run.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
BACKENDS = ("sim", "torch", "xla")
SUITE = "SIMSTRATEGY_ARRAY_API_SUITE"
CANNOT_RUN = 77  # as in ci/evidence.py: with it, earlier evidence stands
# Arrays with their methods and operators are the frameworks' own, and so are constants and interchange.
IGNORED = ("array_object", "constants", "dlpack", "fft", "inspection_functions")
# The adapter's own functions, not the namespace's; extensions; what becomes of arrays without a name for it.
DESELECTED = ("finfo", "iinfo", "isdtype", "info_func", "array_method", "array_attribute", "__")
EXTENSIONS = ("linalg-", "fft-", "linalg.", "fft.")


def read(file):
    """Returns an exceptions file's patterns with their reasons: a test's name, or its beginning and a star."""
    reasons = {}
    for table in tomllib.loads(file.read_text(encoding="utf-8"))["exception"]:
        for pattern in table["tests"]:
            if pattern in reasons or not table["reason"].strip():
                raise SystemExit(f"{file.name}: {pattern} is listed twice, or has no reason.")
            reasons[pattern] = table["reason"]
    return reasons


def matches(pattern, test):
    """Tells whether a pattern covers a test."""
    return test.startswith(pattern[:-1]) if pattern.endswith("*") else test == pattern


def judge(outcomes, reasons):
    """Returns lines about what contradicts the exceptions.  outcomes: by test, "passed", "failed" or "skipped"."""
    lines = []
    for test, outcome in outcomes.items():
        covered = any(matches(pattern, test) for pattern in reasons)
        if outcome == "failed" and not covered:
            lines.append(f"failed without an exception: {test}")
        strict = any(matches(pattern, test) and not why.startswith("Either: ") for pattern, why in reasons.items())
        if outcome == "passed" and strict:
            lines.append(f"passed, and has an exception: {test}")
    unused = [one for one in reasons if not any(matches(one, test) for test in outcomes)]
    return lines + [f"an exception for no test: {pattern}" for pattern in unused]


def outcomes_of(report):
    """Returns what became of each test, from pytest's XML report."""
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        parts = {child.tag for child in case}
        outcome = "failed" if parts & {"failure", "error"} else "skipped" if "skipped" in parts else "passed"
        found[f"{case.get('classname', '').partition('.')[2]}::{case.get('name')}"] = outcome
    return found


def run_suite(suite, backend, count):
    """Runs the suite on one backend and returns the outcomes.  Raises SystemExit where it does not run."""
    settings = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": "adapter",
        "PYTHONHASHSEED": "0",  # with it, and in one process, the suite draws the same examples every time
        "SIMSTRATEGY_ARRAY_API_BACKEND": backend,
        "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(HERE)])),
    }
    words = " and ".join(f"not {word}" for word in (*DESELECTED, *EXTENSIONS))
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [
            *(sys.executable, "-m", "pytest", "array_api_tests", "-k", words),
            *(f"--ignore=array_api_tests/test_{name}.py" for name in IGNORED),
            *("-p", "unshrunk", "-p", "no:simstrategy", "-p", "no:cacheprovider", "-q"),
            *("--max-examples", str(count), "--derandomize", "--disable-deadline", f"--junitxml={report}"),
        ]
        done = subprocess.run(
            command, cwd=suite, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if done.returncode not in (0, 1) or not report.exists():
            raise SystemExit(f"{done.stdout[-4000:]}\nThe suite did not run on {backend}.")
        return outcomes_of(report)


def suite_at(option):
    """Returns the suite's folder and commit.  Raises SystemExit with CANNOT_RUN where there is none."""
    given = option or os.environ.get(SUITE, "")
    folder = Path(given)
    if not given or not (folder / "array_api_tests").is_dir() or not (folder / "array-api" / "spec").is_dir():
        found = f"is not in {given}" if given else "is missing"
        print(
            f"array-api-tests {found}: clone github.com/data-apis/array-api-tests with its submodule, install the "
            f"packages of its requirements.txt, and name the folder with --suite or {SUITE}.",
            file=sys.stderr,
        )
        raise SystemExit(CANNOT_RUN)
    commit = ["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"]
    return folder, subprocess.run(commit, stdout=subprocess.PIPE, text=True, check=False).stdout.strip() or "unknown"


def main(words):
    parser = argparse.ArgumentParser(description="Runs array-api-tests on the xp of some backends.")
    parser.add_argument("--suite", help=f"the suite's folder; {SUITE} is the default")
    parser.add_argument(
        "--backend", action="append", choices=BACKENDS, help="several times for several; all by default"
    )
    parser.add_argument("--max-examples", type=int, default=10, help="of each property")
    given = parser.parse_args(words)
    suite, commit = suite_at(given.suite)
    print(f"array-api-tests {commit}, standard 2024.12, {given.max_examples} examples of each property")
    wrong = 0
    for backend in given.backend or BACKENDS:
        outcomes = run_suite(suite, backend, given.max_examples)
        reasons = read(HERE / "exceptions" / f"{backend}.toml")
        lines, counts = judge(outcomes, reasons), Counter(outcomes.values())
        told = ", ".join(f"{counts[one]} {one}" for one in ("passed", "failed", "skipped"))
        print(f"{backend}: {told}; {len(reasons)} exceptions, {len(lines)} contradicted")
        print(*(f"    {line}" for line in lines), sep="\n" if lines else "", end="\n" if lines else "")
        wrong += len(lines)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
