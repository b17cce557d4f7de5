"""Replays cases on a backend and a profile, and counts: agree, deviation, differ, not built.

A listed deviation has to be one: an entry that agrees, or deviates otherwise than it says, differs.
A case that cannot be replayed (a dtype that the backend lacks, several workers of it) never counts as agreement.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from enum import Enum
from typing import NamedTuple, final

from golden_replay.cases import Case
from golden_replay.deviations import Deviation
from golden_replay.replay import dtypes_of, replay
from golden_replay.verdict import Raised, difference
from simstrategy.device import Backend, open_backend
from simstrategy.errors import InvalidArgument, Unsupported
from simstrategy.strategy import Semantics, Strategy

__all__ = ["COLUMNS", "Finding", "Outcome", "Tally", "replay_all"]

COLUMNS = ("kind", "cases", "agree", "deviations", "differ", "not built")


class Outcome(Enum):
    """How a case came out."""

    AGREES = "agree"
    DEVIATES = "deviations"
    DIFFERS = "differ"
    NOT_BUILT = "not built"


class Finding(NamedTuple):
    """One case's outcome; text says what differs or is missing."""

    case: Case
    outcome: Outcome
    text: str


@final
class Tally:
    """The findings of a replay, in the cases' order."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)

    @property
    def agrees(self) -> bool:
        """Whether no case differs."""
        return all(finding.outcome is not Outcome.DIFFERS for finding in self.findings)

    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Returns the texts of a table, in the order of COLUMNS: a row for each kind, and all."""
        kinds = sorted({finding.case.kind for finding in self.findings})
        counted = [self._row(kind, [one for one in self.findings if one.case.kind == kind]) for kind in kinds]
        return (*counted, self._row("all", self.findings))

    def differences(self) -> tuple[str, ...]:
        """Returns what differs: kind, id, and the first difference of each case."""
        differing = (finding for finding in self.findings if finding.outcome is Outcome.DIFFERS)
        return tuple(f"{case.kind} {case.id}: {text}" for case, _, text in differing)

    def not_asked(self) -> tuple[str, ...]:
        """Returns why cases were not replayed, with how many of them."""
        reasons = Counter(finding.text for finding in self.findings if finding.outcome is Outcome.NOT_BUILT)
        return tuple(f"{count} not replayed: {reason}" for reason, count in sorted(reasons.items()))

    def _row(self, name: str, findings: Sequence[Finding]) -> tuple[str, ...]:
        outcomes = [finding.outcome for finding in findings]
        return (name, str(len(outcomes)), *(str(outcomes.count(one)) for one in Outcome))


def replay_all(
    cases: Iterable[Case],
    backend: str,
    semantics: Semantics,
    deviations: Mapping[str, Deviation],
    *,
    on_case: Callable[[Finding], None] = lambda finding: None,
) -> Tally:
    """Replays the cases that the profile's release answered.

    backend: a name, opened once for each number of replicas. deviations: by case id. Raises
    InvalidArgument where no case has an answer of that release, and what opening the backend raises.
    """
    everything = tuple(cases)
    answered = [case for case in everything if semantics.release in case.answers]
    if not answered:
        releases = sorted({release for case in everything for release in case.answers})
        raise InvalidArgument(
            f"Profile {semantics.name} stands for TensorFlow {semantics.release}, and the cases have answers of "
            f"{', '.join(releases) or 'none'}. Choose the profile that was recorded."
        )
    findings = []
    with ExitStack() as stack:
        opened: dict[int, Backend] = {}
        for case in answered:
            if case.replicas not in opened:
                made = open_backend(backend, replicas=case.replicas)
                opened[case.replicas] = stack.enter_context(closing(made))
            findings.append(_examine(case, opened, semantics, deviations.get(case.id)))
            on_case(findings[-1])
    return Tally(findings)


def _examine(case: Case, opened: Mapping[int, Backend], semantics: Semantics, deviation: Deviation | None) -> Finding:
    backend = opened[case.replicas]
    lacking = dtypes_of(case) - backend.capabilities.dtypes
    if lacking:
        return Finding(case, Outcome.NOT_BUILT, f"backend {backend.name!r} has no {', '.join(sorted(lacking))}")
    try:
        with closing(Strategy.mirrored(backend, semantics=semantics)) as strategy:
            ours = replay(case, strategy)
    except Exception as error:  # noqa: BLE001 - a difference of this case; the other cases are replayed all the same
        return Finding(case, Outcome.DIFFERS, f"could not be asked: {type(error).__name__}: {error}")
    recorded = case.answers[semantics.release]
    problem = difference(recorded, ours)
    if isinstance(ours, Raised) and isinstance(ours.error, Unsupported):
        return Finding(case, Outcome.NOT_BUILT, str(ours.error))
    if deviation is not None:
        return _deviating(case, deviation, ours, problem)
    return Finding(case, Outcome.AGREES, "") if problem is None else Finding(case, Outcome.DIFFERS, problem)


def _deviating(case: Case, deviation: Deviation, ours: object, problem: str | None) -> Finding:
    if problem is None:
        return Finding(case, Outcome.DIFFERS, "is listed as a deviation and agrees: strike it from the list")
    if deviation.as_in is not None:
        if deviation.as_in not in case.answers:
            return Finding(case, Outcome.DIFFERS, f"is listed as in {deviation.as_in}, which has no answer here")
        other = difference(case.answers[deviation.as_in], ours)
    elif deviation.expected is not None:
        other = difference(deviation.expected, ours)
    else:
        fits = isinstance(ours, Raised) and type(ours.error).__name__ == deviation.error
        other = None if fits else f"is listed to raise {deviation.error}: {problem}"
    if other is not None:
        return Finding(case, Outcome.DIFFERS, f"deviates otherwise than listed ({deviation.answer}): {other}")
    return Finding(case, Outcome.DEVIATES, f"{deviation.clause}: {deviation.reason}")
