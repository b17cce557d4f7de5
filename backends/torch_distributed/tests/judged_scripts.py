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
COMPARED_MIN = 12
"""How many values a row of a lawful script compares at least."""


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
    """Returns whether a check of a script takes minutes."""
    return script.file.parent.name == "keras"


def name_of(script):
    return f"{script.file.parent.name}/{script.file.stem}"


def faults(script, report):
    """Returns what is not right in the report on a wrong script, as texts."""
    if report.verdict != "differ":
        return [f"the verdict is {report.verdict}"]
    first = next((one for one in report.findings if one.law == script.facts["law"]), None)
    if first is None:
        return [f"no finding of the law of {script.facts['law']}"]
    found = {"kind": str(first.kind), "step": str(first.step), "variable": first.variable, "line": first.site}
    expected = {name: script.facts[name] for name in ("kind", "step", "variable")} | {"line": script.line}
    return [f"{name}: {found[name]}, expected {value}" for name, value in expected.items() if found[name] != value]


def accusations(_script, report):
    """Returns what is not right in the report on a lawful script, as texts."""
    rows = [row for row in report.rows if row.law in ("replicas", "cut", "order")]
    few = [row.law for row in rows if row.compared < COMPARED_MIN] if rows else ["no law"]
    verdicts = [] if report.verdict == "agree" else [f"the verdict is {report.verdict}"]
    return [*verdicts, *(f"{law} compared little" for law in few)]


def report_of(script, **settings):
    """Checks a script as its head states, in this process."""
    options, _, arguments = script.facts["check"].partition(" -- ")
    given = dict(zip(words := shlex.split(options), words[1:], strict=False))
    vary = varied([given["--vary"]]) if "--vary" in given else None
    replicas = numbers(given["--replicas"])
    return check_script(
        runner_of, str(script.file), arguments=shlex.split(arguments), replicas=replicas, vary=vary, **settings
    )
