"""Compares the runs of generated programs on several numbers of replicas: many in one run, and one alone.

Many in one run are quick, and show which agree. One that does not is checked alone by the command `simstrategy check`,
with all that it measures: only what that calls different differs.
"""

import pickle
import re
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from ci.campaigns.upstream.programs import file_of
from simstrategy.check.compare import sensitivity
from simstrategy.check.runs import Measured, compared

__all__ = ["AGREES", "DIFFERS", "NOT_JUDGED", "RAISES", "Judge", "Verdict"]

SECONDS_MAX = 600
ROOT = Path(__file__).resolve().parents[3]
WORDS = {"torchrun": ("--as", "torchrun"), "mesh": (), "strategy": ("--quiet-program",)}
"""What `check` is given for a front, beside the file."""
_NAME = re.compile(r"p\d{5}")
AGREES, DIFFERS, RAISES, NOT_JUDGED = "agrees", "differs", "raises", "not judged"


class Verdict(NamedTuple):
    """What became of a program.  kind: AGREES, DIFFERS, RAISES on some number of replicas, or NOT_JUDGED. text: why."""

    kind: str
    text: str = ""


class Judge:
    """Judges programs of one library.  python: of the environment that has it."""

    def __init__(self, library, python):
        self.library, self.python = library, python

    def together(self, programs):
        """Returns the verdicts of one run on each number of replicas, by the name of the program.

        Where a run ends with an error, the program that it ended in runs alone. Where that one is not to blame, the
        programs after it run in halves.
        """
        found, rest = {}, list(programs)
        while rest:
            outcomes = self._outcomes(rest)
            last = min(_reached(outcome, rest) for outcome in outcomes) if self._is_whole(outcomes) else 0
            found.update(self._compared(rest[:last], outcomes))
            rest = rest[last:]
            if rest:  # the run ended before them
                program = rest.pop(0)
                own = self._outcomes([program]) if len(programs) > 1 else outcomes
                is_to_blame = self._has_ended(own)
                found |= {program.name: Verdict(RAISES, _error(own))} if is_to_blame else self._compared([program], own)
                half = 0 if is_to_blame else len(rest) // 2
                found |= self.together(rest[:half])
                rest = rest[half:]
        return found

    def _has_ended(self, outcomes):
        """Returns whether a run ended before its last program."""
        return not self._is_whole(outcomes) or any(one.error is not None for one in outcomes)

    def _is_whole(self, outcomes):
        return len(outcomes) == len(self.library.replicas)

    def _compared(self, programs, outcomes):
        """Returns the verdicts of programs that ended in all runs; one that gives no value has nothing to agree in."""
        if not programs:
            return {}
        known = _names_in(outcomes[0])
        found = {one.name: Verdict(AGREES) if one.name in known else _NO_VALUE for one in programs}
        counts = self.library.replicas
        for count, outcome in zip(counts[1:], outcomes[1:], strict=True):
            pair = [Measured(one, one, (), sensitivity(one, ())) for one in (outcomes[0], outcome)]
            across = compared(*pair, (counts[0], count), {})
            for path, text in {**across.left, **across.undecided, **across.problems}.items():
                name = next(iter(_NAME.findall(f"{path} {text}")), None)
                if name in found and found[name].kind in {AGREES, NOT_JUDGED}:
                    found[name] = Verdict(DIFFERS, f"{count} replicas against {counts[0]}: {path}: {text}")
        return found

    def _outcomes(self, programs):
        """Returns the outcomes of one run on each number of replicas; those that there are where the process ends."""
        with tempfile.TemporaryDirectory(prefix="simstrategy-") as folder:
            file, answer = Path(folder) / "programs.py", Path(folder) / "answer"
            file.write_text(file_of(self.library, programs), encoding="utf-8")
            counts = ",".join(map(str, self.library.replicas))
            command = [self.python, "-m", "ci.campaigns.upstream.child", self.library.front, file, counts, answer]
            _ended([*map(str, command)], folder=ROOT)
            return pickle.loads(answer.read_bytes()) if answer.exists() else []

    def alone(self, program, seen):
        """Returns the verdict of `simstrategy check` on one program.  seen: what a plain run showed."""
        with tempfile.TemporaryDirectory(prefix="simstrategy-") as folder:
            file = Path(folder) / "program.py"
            file.write_text(file_of(self.library, [program]), encoding="utf-8")
            counts = ",".join(map(str, self.library.replicas))
            words = ["check", file, "--replicas", counts, *WORDS[self.library.front]]
            code, text = _ended([self.python, "-m", "simstrategy", *map(str, words)], folder=folder)
        finding = text.partition("First differences:\n")[2].strip() or text.strip()[-600:]
        kinds = {0: AGREES, 1: seen.kind}
        return Verdict(kinds.get(code, NOT_JUDGED), finding)


_NO_VALUE = Verdict(NOT_JUDGED, "it gives no value")


def _names_in(outcome):
    """Returns the names of the programs that have a value."""
    return {name for path, _ in outcome.leaves for name in _NAME.findall(path)}


def _reached(outcome, programs):
    """Returns the place of the first program that has no value in a run that ended with an error."""
    if outcome.error is None:
        return len(programs)
    known = _names_in(outcome)
    return next((place for place, program in enumerate(programs) if program.name not in known), len(programs) - 1)


def _error(outcomes):
    found = [one.error for one in outcomes if one.error is not None]
    return ": ".join(found[0]) if found else "the process ended"


def _ended(command, folder):
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        return None, f"longer than {SECONDS_MAX} s"
    return done.returncode, done.stdout + done.stderr
