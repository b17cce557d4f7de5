"""Shows that a wrong program is wrong and a right one right, by plain runs of its own framework.

It calls no tool. A proof is about the runs that a case names, and no others.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence

from simstrategy_corpus.cases import Bug, Case, Run
from simstrategy_corpus.gloo_ranks import run_ranks
from simstrategy_corpus.printed import OTHER, SAME, largest_distance, lines_of
from simstrategy_corpus.processes import Ran, run_command

SECONDS = 300.0
"""What a run of a program may take at most, on a machine that is busy."""


class NotProven(AssertionError):
    """A program that is not what the corpus states of it."""


def plain_run(case: Case, run: Run, limit: float = SECONDS, settings: Mapping[str, str] | None = None) -> Ran:
    """Runs a case as its library is run without any tool: ranks of gloo, or one process for TensorFlow and JAX."""
    if case.launcher == "torchrun":
        return run_ranks(case.file, run.replicas, run.arguments, limit, settings)
    command = [sys.executable, str(case.file), "--replicas", str(run.replicas), *run.arguments]
    return run_command(command, limit, settings)


def prove(bug: Bug) -> str:
    """Returns in some words what the wrong program shows; raises `NotProven` where a program is not as described."""
    shown, is_shown = SHOWS[bug.shows]
    right = [_ended_well(bug.right, run) for run in bug.right.runs]
    _agree(bug.right, right)
    if is_shown is not None and is_shown(right):
        raise NotProven(f"{bug.right.file}: {shown}: {bug.name} should show that in wrong.py alone.")
    if is_shown is None:
        return _stops(bug)
    wrong = [_ended_well(bug.wrong, run) for run in bug.wrong.runs]
    found = is_shown(wrong)
    if not found:
        raise NotProven(f"{bug.wrong.file}: no run shows it: {shown}. The runs printed:\n{_all_lines(wrong)}")
    return found


def prove_healthy(case: Case) -> str:
    """Runs every run of a healthy program; raises `NotProven` where one fails or they do not agree."""
    _agree(case, [_ended_well(case, run) for run in case.runs])
    return f"healthy in {len(case.runs)} runs"


def _ended_well(case: Case, run: Run) -> str:
    ran = plain_run(case, run)
    if ran.code != 0:
        ended = "did not end" if ran.code is None else f"ended with exit code {ran.code}"
        raise NotProven(f"{case.file} with {run} {ended}. It printed:\n{ran.text[-3000:]}")
    return ran.text


def _agree(case: Case, texts: Sequence[str]) -> None:
    """Raises `NotProven` where runs that should agree print other numbers, or print nothing that is compared."""
    far = _between_runs(texts)
    if far > SAME:
        raise NotProven(f"{case.file}: its runs differ by {far:.3g} of the largest number:\n{_all_lines(texts)}")
    if not any(lines_of(text, word) for text in texts for word in ("result", "rank", "epoch")):
        raise NotProven(f"{case.file} prints no line that could be compared. Print result, rank or epoch lines.")


def _stops(bug: Bug) -> str:
    ends = []
    for run in bug.wrong.runs:
        ran = plain_run(bug.wrong, run)
        if ran.code == 0:
            raise NotProven(f"{bug.wrong.file} with {run} ends well, and should stop. It printed:\n{ran.text[-3000:]}")
        ends.append("hangs" if ran.code is None else f"ends with exit code {ran.code}")
    return ", ".join(dict.fromkeys(ends))


def _between_runs(texts: Sequence[str]) -> float:
    return largest_distance([{name: by[0] for name, by in lines_of(text, "result").items()} for text in texts])


def _runs_differ(texts: Sequence[str]) -> str:
    far = _between_runs(texts)
    return f"runs differ by {far:.2g}" if far > OTHER else ""


def _ranks_differ(texts: Sequence[str]) -> str:
    far = max(_among(texts, "rank"), default=0.0)
    return f"ranks differ by {far:.2g}" if far > OTHER else ""


def _ranks_equal(texts: Sequence[str]) -> str:
    return "all ranks print the same" if max(_among(texts, "rank"), default=math.inf) <= SAME else ""


def _lines_repeat(texts: Sequence[str]) -> str:
    return "all epochs print the same" if max(_among(texts, "epoch"), default=math.inf) <= SAME else ""


def _among(texts: Sequence[str], word: str) -> list[float]:
    """Returns how far the lines of each name are from each other, where a run has several."""
    several = [by for text in texts for by in lines_of(text, word).values() if len(by) > 1]
    return [largest_distance([{"": one} for one in by.values()]) for by in several]


def _all_lines(texts: Sequence[str]) -> str:
    kept = [line for text in texts for line in text.splitlines() if line.startswith(("result", "rank", "epoch"))]
    return "\n".join(kept)


SHOWS: Mapping[str, tuple[str, Callable[[Sequence[str]], str] | None]] = {
    "runs differ": ("runs that should agree print other results", _runs_differ),
    "ranks differ": ("ranks that should be equal print other numbers", _ranks_differ),
    "ranks equal": ("ranks that should differ print the same", _ranks_equal),
    "lines repeat": ("epochs that should differ print the same", _lines_repeat),
    "stops": ("a run hangs or fails", None),
}
"""How a bug shows in plain runs: a sentence, and a function of what the runs printed; None where a run does not end."""
