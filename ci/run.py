"""Every step of building and checking this repository, the same for people and for CI.

    python3 ci/run.py demo          installs what is needed and runs the main job
    python3 ci/run.py test          installs what is needed and runs every check and test at quick counts

Needs Python 3.11 or newer, nothing else: the first call makes `.venv` beside this folder.
"""

import hashlib
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / "simstrategy-installed.json"
DISTRIBUTIONS = (
    ".",
    "backends/tensorflow",
    "backends/torch",
    "backends/xla",
    "backends/tf_distribute",
    "backends/torch_distributed",
    "backends/template",
    "property_tests",
    "property_tests/pytest_plugin",
    "property_tests/corpus",
    "course",
)
SHIPPED = (
    "simstrategy",
    "backends/tensorflow/simstrategy_tensorflow",
    "backends/torch/simstrategy_torch",
    "backends/xla/simstrategy_xla",
    "backends/tf_distribute/simstrategy_tf_distribute",
    "backends/torch_distributed/simstrategy_torch_distributed",
    "backends/template/simstrategy_template",
    "property_tests/simstrategy_conformance",
    "property_tests/pytest_plugin/simstrategy_pytest",
    "property_tests/corpus/simstrategy_corpus",
    "course/simstrategy_course",
)
TYPED = (*SHIPPED, "ci/golden/golden_replay")
TEST_FOLDERS = (
    "tests",
    "backends/tensorflow/tests",
    "backends/torch/tests",
    "backends/xla/tests",
    "backends/tf_distribute/tests",
    "backends/torch_distributed/tests",
    "backends/template/tests",
    "property_tests",
    "course/tests",
)
SECONDS_OF_ONE_TEST = 600


def main(arguments: list[str]) -> int:
    if sys.version_info < (3, 11):
        print(f"simstrategy needs Python 3.11 or newer; this is {sys.version.split()[0]}.", file=sys.stderr)
        return 2
    if not arguments or arguments[0] not in STEPS:
        print("usage: python3 ci/run.py STEP [options]\n\nsteps:")
        for name, step in STEPS.items():
            print(f"  {name:13} {(step.__doc__ or '').splitlines()[0]}")
        return 0 if arguments[:1] in ([], ["--help"], ["-h"]) else 2
    if arguments[1:] and arguments[0] in ("lint", "types", "layers", "tidy", "house", "all"):
        print(f"{arguments[0]} takes no options, got {' '.join(arguments[1:])}.", file=sys.stderr)
        return 2
    install()
    return STEPS[arguments[0]](arguments[1:])


def install() -> None:
    """Makes .venv and installs the pinned packages and this repository, unless that was done already."""
    wanted = _fingerprint()
    found = json.loads(STAMP.read_text()) if STAMP.exists() else {}
    if found == wanted and PYTHON.exists():
        return
    shared = next((path for path in (VENV, VENV / "bin", VENV / "lib") if path.is_symlink()), None)
    if shared is not None:
        print(
            f"{shared} is a link to {shared.readlink()}, a part of another checkout's environment, and that is not the "
            f"one that this checkout needs. Nothing was changed. Remove {VENV} to make one here.",
            file=sys.stderr,
        )
        raise SystemExit(2)
    print("Installing into .venv (about two minutes the first time, 4 GB) …", flush=True)
    if {**found, "files": None} != {**wanted, "files": None} or not PYTHON.exists():
        # Never finished, moved, or made by another Python: such an environment cannot be mended.
        venv.create(VENV, with_pip=True, clear=True)
    STAMP.unlink(missing_ok=True)
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # PyTorch alone and first: a later package that wants "torch" then finds the CPU build and takes it.
    pinned = (ROOT / "ci" / "requirements.txt").read_text().splitlines()
    _must([*pip, *(line for line in pinned if line.startswith("torch=="))])
    _must([*pip, "-r", "ci/requirements.txt"])
    # Apart, because JAX looks for TPUs wherever it finds it.
    _must([*pip, "--no-deps", "--upgrade", "--target", str(VENV / "tpu"), "-r", "ci/requirements-tpu.txt"])
    for distribution in DISTRIBUTIONS:
        _must([*pip, "--no-deps", "--no-build-isolation", "--editable", distribution])
    STAMP.write_text(json.dumps(wanted))


def _fingerprint() -> dict[str, object]:
    files = [
        "ci/requirements.txt",
        "ci/requirements-tpu.txt",
        *(f"{folder}/pyproject.toml" for folder in DISTRIBUTIONS),
    ]
    digests = {file: hashlib.sha256((ROOT / file).read_bytes()).hexdigest() for file in files}
    return {"python": sys.version, "root": str(ROOT), "files": digests}


def _settings() -> dict[str, str]:
    path = f"{VENV / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    settings = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ, "PATH": path}
    # Tests start some thousands of processes, each of which would compile the packages again.
    settings.pop("PYTHONDONTWRITEBYTECODE", None)
    return settings


def _run(command: list[str]) -> int:
    return subprocess.run(command, cwd=ROOT, env=_settings(), check=False).returncode


def _must(command: list[str]) -> None:
    code = _run(command)
    if code:
        print(f"This failed with exit code {code}: {' '.join(command)}", file=sys.stderr)
        raise SystemExit(code)


def _all(*steps: str) -> int:
    """Runs steps one after the other to the end, and names those that failed."""
    failed = []
    for step in steps:
        print(f"--- {step}", flush=True)
        if STEPS[step]([]):
            failed.append(step)
    if failed:
        print(f"FAILED: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


def demo(options: list[str]) -> int:
    """Trains on real data on every backend and shows that they agree: the main job."""
    command = ["simstrategy", "check", "examples/train_digits.py"]
    backends = ["--backends", "sim,tensorflow,torch,xla,gloo", "--replicas", "1,2,4", "--workers", "1,2"]
    command = [str(VENV / "bin" / command[0]), *command[1:], *(options or backends)]
    with subprocess.Popen(command, cwd=ROOT, env=_settings(), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            # What TensorFlow's libraries say of themselves before anybody could ask them not to.
            if not line.startswith(("I0000 ", "W0000 ", "E0000 ", "WARNING: All log messages before absl")):
                print(line, end="", file=sys.stderr)
    return process.returncode


def test(options: list[str]) -> int:
    """Runs lint, types, layers and tidy, then every test at quick counts."""
    failed = _all("lint", "types", "layers", "tidy")
    _run([str(PYTHON), "ci/browser.py", "--install"])  # without it the tests of pages are skipped, with the reason
    tested = pytest(options)
    if failed:
        print("FAILED before the tests: see lint, types, layers and tidy above.", file=sys.stderr)
    return 1 if failed or tested else 0


def pytest(options: list[str]) -> int:
    """Runs every test at quick counts, but for the cases of `ci/run.py deep cases`; options go to pytest."""
    # The slow tests of a folder are neighbours: a process that has no more tests takes half of another one's.
    # Tests wait for processes and time limits: one worker more than there are processors uses these waits.
    workers = str(len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else "auto")
    command = [str(PYTHON), "-m", "pytest", "-n", workers, "--dist", "worksteal", "--simstrategy-profile=quick"]
    # A test that hangs: the stack of every thread is printed, then its process ends and the test is named as failed.
    limit = [f"--timeout={SECONDS_OF_ONE_TEST}", "--timeout-method=thread"]
    stacks = ["-o", f"faulthandler_timeout={SECONDS_OF_ONE_TEST - 60}"]
    return _run([*command, "-m", "not deep", *limit, *stacks, *(options or TEST_FOLDERS)])


def deep(options: list[str]) -> int:
    """Runs the full counts that acceptance lists name, and writes what they printed to docs/evidence/."""
    return _run([str(PYTHON), "ci/deep.py", *options])


def lint(options: list[str]) -> int:
    """Runs ruff: rules and format."""
    return _run([str(PYTHON), "-m", "ruff", "check", "."]) or _run(
        [str(PYTHON), "-m", "ruff", "format", "--check", "."]
    )


def types(options: list[str]) -> int:
    """Runs mypy, strict, on everything that is shipped, and on the replay."""
    return _run([str(PYTHON), "-m", "mypy", *TYPED])


def layers(options: list[str]) -> int:
    """Runs import-linter, then looks for circles of files: imports point down only."""
    contracts = _run([str(VENV / "bin" / "lint-imports"), "--config", "ci/layers.ini", "--no-cache"])
    return _run([str(PYTHON), "-m", "ci.imports"]) or contracts


def tidy(options: list[str]) -> int:
    """Runs the repository's own rules."""
    return _run([str(PYTHON), "-m", "ci.tidy"])


def house(options: list[str]) -> int:
    """Measures the structure: files, members, annotations, the way of a value; fails where a bound is exceeded."""
    return _run([str(PYTHON), "-m", "ci.house"])


def torture(options: list[str]) -> int:
    """Runs seeded programs twice and replayed, in two processes with different hash seeds: equal digests."""
    return _run([str(PYTHON), "ci/torture.py", *options])


def bench(options: list[str]) -> int:
    """Measures the budgets, side by side in one run, as ratios; `bench growth` how costs grow with what is run."""
    if options[:1] == ["growth"]:
        return _run([str(PYTHON), "-m", "ci.bench.growth", *options[1:]])
    return _run([str(PYTHON), "ci/bench/budgets.py", *options])


def gpu(options: list[str]) -> int:
    """Says which GPUs there are, and runs what needs one; without one it says so and succeeds."""
    return _run([str(PYTHON), "ci/gpu.py", *options])


def tpu(options: list[str]) -> int:
    """Runs the kit and the examples on this machine's TPUs; without one it says so and succeeds."""
    return _run([str(PYTHON), "ci/tpu.py", *options])


def browser(options: list[str]) -> int:
    """Opens pages of recordings in Chromium; installs it where apt is at hand, else gives the reason and succeeds."""
    return _run([str(PYTHON), "ci/browser.py", *options])


def docs(options: list[str]) -> int:
    """Builds the documentation as pages that need no server, in build/docs/html; options go to sphinx-build."""
    return _run([str(PYTHON), "-m", "ci.docs", *options])


def picture(options: list[str]) -> int:
    """Makes the picture of README.md anew: the page of a run, opened in Chromium."""
    return _run([str(PYTHON), "ci/picture.py"])


def notebooks(options: list[str]) -> int:
    """Runs every notebook, and compares what its cells show with what its file has; `--write` keeps that."""
    return _run([str(PYTHON), "-m", "ci.notebooks", *options])


def golden_record(options: list[str]) -> int:
    """Asks real TensorFlow 1.13, 1.15 and 2.21 the recorded cases again; `--write` records. No test does it."""
    return _run([str(PYTHON), "ci/golden/record.py", *options])


def changelog(options: list[str]) -> int:
    """Assembles CHANGELOG.md from the fragments in changelog.d/."""
    return _run([str(PYTHON), "ci/changelog.py", *options])


def golden_replay(options: list[str]) -> int:
    """Replays recorded answers of TensorFlow: one FILE with its options, or all on every backend."""
    return _run([str(PYTHON), "ci/golden/replay.py" if options else "ci/replays.py", *options])


def everything(options: list[str]) -> int:
    """Runs demo, test, docs, browser, torture, bench and gpu."""
    return _all("demo", "test", "docs", "browser", "torture", "bench", "gpu")


STEPS = {
    "demo": demo,
    "test": test,
    "pytest": pytest,
    "deep": deep,
    "lint": lint,
    "types": types,
    "layers": layers,
    "tidy": tidy,
    "house": house,
    "torture": torture,
    "bench": bench,
    "gpu": gpu,
    "tpu": tpu,
    "browser": browser,
    "docs": docs,
    "picture": picture,
    "notebooks": notebooks,
    "changelog": changelog,
    "golden-record": golden_record,
    "golden-replay": golden_replay,
    "all": everything,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
