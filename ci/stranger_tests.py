"""What a stranger does with tests of their own: installs the wheels where nothing else is, and follows the guide.

    python3 ci/run.py deep stranger_tests

Builds the wheels of the project and of simstrategy-pytest, installs them with pytest, Hypothesis and pytest-xdist into
an empty environment in a temporary folder, writes the program and the tests without torch of the guide there, and
runs them: all have to pass. Then a bug is planted in the program, one at a time, and the tests that it turns red have
to be those that are named here, under pytest, under pytest-xdist and in the JUnit file. Then `simstrategy check` has to
find both bugs, and its JUnit file has to have the failure. Ends with exit code 1 if anything is otherwise.
"""

import re
import sys
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as Xml

from evidence import ROOT, Evidence
from stranger import must, run

GUIDE = ROOT / "docs" / "testing_your_program.md"
EVIDENCE = Evidence()
say = EVIDENCE.add

TRAINING = "test_training_does_not_depend_on_replicas"
LOSS = "test_loss_is_the_mean_square_of_all_errors"
WORLD = [f"test_average_reaches_all_replicas[{count}-replicas]" for count in (2, 4)]
AVERAGE = """    total = ctx.all_reduce("SUM", sums)
    return total / ctx.all_reduce("SUM", np.float32(rows))
"""


class Bug(NamedTuple):
    """A bug in `average` of the guide's program.  red: the tests that fail."""

    told: str
    body: str
    red: list


BUGS = (
    Bug("no bug", AVERAGE, []),
    Bug("mean of means", '    return ctx.all_reduce("MEAN", sums / max(rows, 1))\n', sorted([LOSS, TRAINING])),
    Bug("missing reduction", "    return sums / max(rows, 1)\n", sorted([*WORLD, LOSS, TRAINING])),
)


def installed(folder):
    """Returns the Python of an environment that has the wheels and what they ask for."""
    sources = [str(ROOT), str(ROOT / "property_tests" / "pytest_plugin")]
    say("$ pip wheel --no-deps simstrategy simstrategy-pytest")
    must([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), *sources], folder)
    wheels = {wheel.name.partition("-")[0]: wheel for wheel in sorted(folder.glob("*.whl"))}
    say("".join(f"  {wheel.name}\n" for wheel in wheels.values()).rstrip())
    say("$ pip install simstrategy.whl[cli] simstrategy_pytest.whl[hypothesis] pytest-xdist")
    venv.create(folder / "environment", with_pip=True)
    python = str(folder / "environment" / "bin" / "python")
    asked = [f"{wheels['simstrategy']}[cli]", f"{wheels['simstrategy_pytest']}[hypothesis]", "pytest-xdist"]
    must([python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *asked], folder)
    return python


def files_of_the_guide():
    text = GUIDE.read_text(encoding="utf-8")
    found = re.findall(r"^[^\n]*`(\w+\.py)`[^\n]*:\n\n```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    files = {name: text for name, text in found if not re.search(r"^import torch$", text, re.MULTILINE)}
    if sorted(files) != ["test_train.py", "train.py"]:
        sys.exit(f"{GUIDE} has to show train.py and test_train.py, and without torch shows {sorted(files)}.")
    return files


def red_in(file):
    """Returns the failed tests of a JUnit file, and whether each failure of the check begins with its report."""
    failed = {case.get("name"): case.find("failure") for case in Xml.parse(file).iter("testcase")}
    failed = {name: failure for name, failure in failed.items() if failure is not None}
    text = failed[TRAINING].text if TRAINING in failed else None
    shown = text is None or (text.startswith("train.py breaks the law of replicas") and "check of train.py" in text)
    return sorted(failed), shown


def tried(python, folder, bug):
    """Runs the tests and the command on the program with a bug; returns what is wrong."""
    wrong = []
    for how in ([], ["-n", "2"]):
        options = [*how, "--junitxml=report.xml"]
        done = run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options], folder)
        red, shown = red_in(folder / "report.xml")
        say(f"$ pytest {' '.join(options)}\n  exit code {done.returncode}; red: {', '.join(red) or 'none'}")
        wrong += [] if done.returncode == bool(bug.red) else [f"exit code {done.returncode}:\n{done.stdout}"]
        wrong += [] if red == bug.red else [f"red are {red}"]
        wrong += [] if shown else ["a failure does not begin with its report"]
    command = ["check", "train.py", "--replicas", "1,2,3,8", "--junit=check.xml"]
    done = run([str(Path(python).with_name("simstrategy")), *command], folder)
    failures = [*Xml.parse(folder / "check.xml").iter("failure")]
    say(f"$ simstrategy {' '.join(command)}\n  exit code {done.returncode}; failures in check.xml: {len(failures)}")
    wrong += [] if done.returncode == bool(bug.red) == bool(failures) else [f"check: {done.stdout}{done.stderr}"]
    return [f"{bug.told}: {what}" for what in wrong]


def main():
    files, wrong = files_of_the_guide(), []
    if files["train.py"].count(AVERAGE) != 1:
        sys.exit(f"{GUIDE}: the body of average is not the one in which bugs are planted.")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = installed(folder)
        for number, bug in enumerate(BUGS):
            repository = folder / f"repository{number}"
            repository.mkdir()
            for file, text in files.items():
                (repository / file).write_text(text.replace(AVERAGE, bug.body), encoding="utf-8")
            say(f"\n{bug.told}")
            wrong += tried(python, repository, bug)
    say(f"\nwrong: {'; '.join(wrong) or 'nothing'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
