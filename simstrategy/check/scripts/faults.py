"""The law of faults for scripts: whatever fails in one replica, the others end, and the job not as if all was well.

Each fault is planted in a run of its own, in a folder of its own, at each call of each replica in turn. What the run
leaves is judged in `aftermath.py`; where it has written files, the script is run again there without a fault.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, final

from simstrategy.check.fault_plan import WORDS, Planted, Tried, row_of_faults, spread
from simstrategy.check.injection import Fault, FaultKind
from simstrategy.check.row import Row
from simstrategy.check.rows import law_row, not_judged
from simstrategy.check.scripts.aftermath import aftermath_of
from simstrategy.check.scripts.facts import ScriptRun
from simstrategy.check.scripts.folders import fresh_folder, incomplete, written
from simstrategy.check.scripts.study import ScriptStudy
from simstrategy.errors import InvalidArgument

__all__ = ["FAULTS_MAX", "KINDS", "faults_of_script", "require_kinds"]

FAULTS_MAX: Final = 60
"""The most faults at one number of replicas; of more, an even choice of points is made, and stated."""

KINDS: Final[dict[str, FaultKind]] = {
    "exception": "exception",
    "inf": "inf",
    "input": "inf in its input",
    "exit": "early end",
    "kill": "dead",
    "stop": "stopped",
}
"""The kinds of faults by the word that chooses each."""


def require_kinds(words: Sequence[str]) -> tuple[FaultKind, ...]:
    """Returns the kinds of these words; all for none, and for "all".  Raises InvalidArgument for another word."""
    for word in words:
        if word not in KINDS and word != "all":
            raise InvalidArgument(f"There is no fault {word!r}: choose from {', '.join(KINDS)}, or all.")
    if not words or "all" in words:
        return tuple(KINDS.values())
    return tuple(kind for word, kind in KINDS.items() if word in words)


def faults_of_script(study: ScriptStudy, kinds: Sequence[FaultKind], seed: int = 0) -> Iterator[Row]:
    """Yields a row for each kind of fault at each number of replicas above 1.

    seed: by which points are chosen where there are more than `FAULTS_MAX` faults; 0 for an even choice. Clauses: G-72
    to G-77.
    """
    for count in study.replicas:
        if count > 1:
            yield from _Faults(study, count, kinds, seed).rows()


@final
class _Faults:
    """The runs with faults at one number of replicas."""

    def __init__(self, study: ScriptStudy, count: int, kinds: Sequence[FaultKind], seed: int) -> None:
        self._study = study
        self._count = count
        self._kinds = kinds
        self._seed = seed
        self._row = law_row("faults", study.reference, str(count))
        self._files: dict[str, int] = {}
        """What a run without a fault writes."""
        self._can_retry = False
        """Whether such a run can be followed by another one in its folder."""
        self._noted: set[str] = set()

    def rows(self) -> Iterator[Row]:
        """Yields the rows, or one that states why none was judged."""
        with fresh_folder() as folder:
            clean = self._run(folder, None)
            assert clean.ended is not None
            self._files = written(folder)
            if self._files and clean.error is None:
                self._can_retry = self._run(folder, None).error is None
        asked = "faults" in self._study.settings.asked
        if clean.error is not None:
            text = f"no fault was planted: the script fails without one: {_short(clean.error)}"
            yield not_judged(self._row, "it fails", text, asked=asked)
        elif not any(clean.ended.points):
            text = "no fault was planted: the script makes no collective call"
            yield not_judged(self._row, "nothing to compare", text, asked=asked)
        else:
            yield from self._judged(clean)

    def _judged(self, clean: ScriptRun) -> Iterator[Row]:
        assert clean.ended is not None
        per_kind = max(1, FAULTS_MAX // (len(self._kinds) * self._count))
        calls = [len(one) for one in clean.ended.points]
        self._row = self._row._replace(events=sum(calls))
        for kind in self._kinds:
            places = [*clean.ended.inputs] if kind == "inf in its input" else calls
            total = max(places)
            points = spread(range(1, total + 1), per_kind, self._seed)
            every = [Fault(kind, rank, one) for one in points for rank in range(self._count) if one <= places[rank]]
            row = self._row._replace(schedule=Planted(every, total, len(points)).words(WORDS[kind]))
            tried = (self._tried(clean, one) for one in every)
            found = row_of_faults(row, tried, max(1, len(clean.ended.values)))
            if found is not None:
                yield found

    def _tried(self, clean: ScriptRun, fault: Fault) -> Tried | None:
        """Runs the script with a fault, and once more where it has written files."""
        assert clean.ended is not None
        where = f"replica {fault.replica}, call {fault.point} of a model"
        if fault.kind != "inf in its input":
            text = clean.ended.points[fault.replica][fault.point - 1]
            where = f"replica {fault.replica}, point {fault.point}, {text}"
        with ExitStack() as stack:
            folder = stack.enter_context(fresh_folder())
            found = self._run(folder, fault)
            assert found.ended is not None
            if not found.ended.is_planted:
                return None if fault.kind == "inf" else Tried(where, is_reached=False)
            left = aftermath_of(fault, clean, found)
            problem = left.problem or self._retried(folder, fault)
        self._note(left.notes)
        return Tried(where, problem=problem, undecided=left.undecided)

    def _retried(self, folder: Path, fault: Fault) -> str | None:
        """Returns how the next run in the folder fails, where one after a run without a fault does not."""
        left = written(folder)
        if not left:
            return None
        broken = {file: why for file in left if (why := incomplete(folder, file, self._files)) is not None}
        texts = [f"{file}, which is {why}" for file, why in broken.items()]
        texts += [f"{file}, which no run without a fault leaves" for file in left if file not in self._files]
        self._note([f"After {WORDS[fault.kind]} the script leaves {text}." for text in texts])
        if not self._can_retry:
            return None
        error = self._run(folder, None).error
        if error is None:
            return None
        return f"the next run in the same folder fails, of which the fault has left {', '.join(left)}: {_short(error)}"

    def _run(self, folder: Path, fault: Fault | None) -> ScriptRun:
        return self._study.planted(self._count, str(folder), fault)

    def _note(self, texts: Sequence[str]) -> None:
        for text in texts:
            if text not in self._noted:
                self._noted.add(text)
                self._study.notes.append(text)


def _short(error: tuple[str, str]) -> str:
    return f"{error[0]}: {' '.join(error[1].split())[:400]}"
