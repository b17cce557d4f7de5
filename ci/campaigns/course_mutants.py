"""Grades wrong answers that a generator makes of the course's solutions, and prints a table: what names each of them.

A mutant is refused if it does not pass. Its hint is its own if a known wrong answer, a rule or a symptom names it. Exit
code 1 where fewer than 95 of 100 are refused, or fewer than 80 have a hint of their own.

    python3 ci/campaigns/course_mutants.py [--mutants 100] [--seed 2026] [--student NAME]
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator

from mutations_course import Mutant, drawn

from simstrategy_course import grade, lesson_numbered, lessons
from simstrategy_course.observing import Limits, Runner
from simstrategy_course.submission import submission_of
from simstrategy_course.verdict import Idea

__all__ = ["graded", "main"]

REFUSED_MIN, OWN_MIN = 0.95, 0.80
LIMITS = Limits(seconds=5.0)


def graded(count: int, seed: int, student: str = "") -> Iterator[tuple[Mutant, Idea | None]]:
    """Yields each mutant with the idea that its verdict names; None for one that passes."""
    solutions = {lesson.number: lesson.solution for lesson in lessons()}
    with Runner(LIMITS) as runner:
        for mutant in drawn(solutions, count, seed):
            submission = submission_of(mutant.text, f"lesson_{mutant.lesson}.py", lesson_numbered(mutant.lesson).number)
            yield mutant, grade(submission._replace(seed=student), runner).idea


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=100)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--student", default="")
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    print(f"{'lesson':6}  {'found by':8}  {'edit':44}  idea")
    for mutant, idea in graded(given.mutants, given.seed, given.student):
        source = "passes" if idea is None else idea.source
        counts[source] += 1
        print(f"{mutant.lesson:>6}  {source:8}  {mutant.what[:44]:44}  {'' if idea is None else idea.name}", flush=True)
    total = sum(counts.values())
    refused, own = total - counts["passes"], counts["known"] + counts["symptom"]
    by = ", ".join(f"{name} {counts[name]}" for name in sorted(counts))
    print(f"{total} mutants: {refused} refused, {own} with a hint of their own ({by})")
    return 0 if refused >= REFUSED_MIN * total and own >= OWN_MIN * total else 1


if __name__ == "__main__":
    sys.exit(main())
