"""The scripts of `scripts/judged/` and `scripts/keras/`: what their first comments state, and how they are checked."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from simstrategy.check.scripts import check_script
from simstrategy.cli.texts import numbers, varied
from simstrategy_torch_distributed.checking.front import runner_of

FOLDERS = [Path(__file__).parent / "scripts" / name for name in ("judged", "keras")]
"""Those of keras/ have models of Keras on torch."""
QUICK = "normalised_over_rows"


class Judged(NamedTuple):
    """A script.  facts: of its head: check, and for a wrong one law, kind, step and variable of the first finding."""

    file: Path
    facts: dict

    @property
    def line(self) -> str:
        """File and line of the comment `# here`."""
        lines = self.file.read_text(encoding="utf-8").splitlines()
        (found,) = [number for number, line in enumerate(lines, 1) if line.endswith("# here")]
        return f"{self.file.name}:{found}"


def judged(*, wrong: bool):
    """Returns the scripts, by name: those with a mistake, or the lawful ones."""
    head = re.compile(r"^# (check|law|kind|step|variable): (.+)$", re.MULTILINE)
    files = [file for folder in FOLDERS for file in sorted(folder.glob("*.py"))]
    found = [Judged(file, dict(head.findall(file.read_text(encoding="utf-8")))) for file in files]
    return [one for one in found if "check" in one.facts and ("law" in one.facts) == wrong]


def is_slow(script):
    """Returns whether a check of a script takes minutes: of those with Keras, all but one."""
    return script.file.parent.name == "keras" and script.file.stem != QUICK


def report_of(script, **settings):
    """Checks a script as its head states, in this process."""
    options, _, arguments = script.facts["check"].partition(" -- ")
    given = dict(zip(words := shlex.split(options), words[1:], strict=False))
    vary = varied([given["--vary"]]) if "--vary" in given else None
    replicas = numbers(given["--replicas"])
    return check_script(
        runner_of, str(script.file), arguments=shlex.split(arguments), replicas=replicas, vary=vary, **settings
    )
