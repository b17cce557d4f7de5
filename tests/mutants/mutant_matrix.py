"""Examines every mutant by every test of the kit, and every sound variant too: who is caught by what.

    python tests/mutants/mutant_matrix.py [--examples 40] [--jobs 1] [NAME ...]

Ends with exit code 1 if a mutant lives, or is not caught by the clause that it breaks; if a sound variant is caught;
unless at least 50 mutants, at most 8 of a clause, and at least 15 of them fail one test of the kit alone; and if some
test of the kit could be taken out unseen: if no mutant fails it alone, and it is not the only test of its clause. It
changes nothing, and NAMEs are for looking at a few mutants, without the questions that are about all of them.
"""

import argparse
import sys
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

import mutants_of_collectives
import mutants_of_functions
import mutants_of_memory
import mutants_of_places
import mutants_of_scope
import mutants_of_settings
import mutants_of_sizes
import mutants_of_strategies
from mutation import failure_apart, mutates, subject_with
from sound_variants import SOUND

from simstrategy_conformance.index import by_clause, entries
from simstrategy_conformance.profiles import PROFILES, Profile

GROUPS = (
    mutants_of_places,
    mutants_of_collectives,
    mutants_of_functions,
    mutants_of_strategies,
    mutants_of_sizes,
    mutants_of_scope,
    mutants_of_settings,
    mutants_of_memory,
)
MUTANTS = {mutant.name: mutant for mutant in mutates.mutants}
MUTANTS_MIN, CLAUSE_MAX, ALONE_MIN, SOUND_MIN = 50, 8, 15, 20


class Found(NamedTuple):
    """What came of one subject.  caught: the kit's tests that it fails. deep: whether its own needed deep counts."""

    name: str
    caught: tuple[str, ...]
    deep: bool = False


def examine(name, examples):
    """Runs the whole kit on one mutant, or on a sound variant."""
    warnings.simplefilter("ignore")  # in a process of its own, or at the end of this one's work
    profile = Profile("matrix", examples, replicas_max=4, shrink=False)
    mutant = MUTANTS.get(name)
    subject = subject_with(name, SOUND[name], profile) if mutant is None else mutant.subject(profile)
    caught = tuple(entry.name for entry in entries() if failure_apart(entry, subject) is not None)
    subject.close()
    if mutant is None or mutant.test in caught:
        return Found(name, caught)
    subject = mutant.subject(PROFILES["deep"]._replace(shrink=False))
    (own,) = (entry for entry in entries() if entry.name == mutant.test)
    seen = failure_apart(own, subject) is not None
    subject.close()
    return Found(name, (*caught, mutant.test) if seen else caught, deep=seen)


def examine_all(names, examples, jobs):
    """Runs the kit on all of them, in so many processes; in the order of the names."""
    if jobs == 1:
        yield from (examine(name, examples) for name in names)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(examine, names, [examples] * len(names))


def row_of(found):
    """Returns the line of one subject."""
    mutant = MUTANTS.get(found.name)
    if mutant is None:
        return f"sound  {found.name}: {', '.join(found.caught) or 'passes every test'}"
    others = [name for name in found.caught if name != mutant.test]
    own = "LIVES" if not found.caught else "NOT BY ITS OWN" if mutant.test not in found.caught else "killed"
    own += " at deep counts" if found.deep else ""
    told = f"by {mutant.test} alone" if not others else f"by {mutant.test} and {len(others)} more: {' '.join(others)}"
    return f"{mutant.clause:6} {found.name:48} {own} {told}"


GENERATED = {
    "test_workers_make_every_group_call_together": "of the simulator alone: kills generated mutants of its fabric",
}
"""Tests that no mutant here can fail, as they skip whatever is wrapped, and why they are needed."""


def needed_lines(mutants):
    """Returns a line for each test of the kit, with what would go unseen without it; and the tests that lack it."""
    alone = {found.caught[0]: found.name for found in mutants if len(found.caught) == 1}
    lines, unneeded = [], []
    for clause, tests in by_clause().items():
        for name in tests:
            reason = f"alone kills {alone[name]}" if name in alone else ""
            if len(tests) == 1:
                reason = f"the only test of {clause}{'; ' if reason else ''}{reason}"
            reason = reason or GENERATED.get(name, "")
            lines.append(f"{clause:6} {name:78} {reason or 'NOT NEEDED'}")
            unneeded += [] if reason else [name]
    return lines, unneeded


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants or sound variants; all without one")
    parser.add_argument("--examples", type=int, default=40, help="of each property")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - {*MUTANTS, *SOUND})
    if unknown or options.examples < 1 or options.jobs < 1:
        parser.error(f"there is no {', '.join(unknown)}" if unknown else "examples and jobs are 1 or more")
    found = []
    for one in examine_all(options.names or [*MUTANTS, *SOUND], options.examples, options.jobs):
        found.append(one)
        print(row_of(one), flush=True)
    mutants = [one for one in found if one.name in MUTANTS]
    wrong = [one.name for one in mutants if MUTANTS[one.name].test not in one.caught]
    wrong += [one.name for one in found if one.name in SOUND and one.caught]
    if not options.names:
        wrong += totals(mutants)
    print(f"wrong: {', '.join(wrong) or 'none'}")
    return 1 if wrong else 0


def totals(mutants):
    """Prints what is needed of each test, and the totals; returns what is wrong with them."""
    lines, unneeded = needed_lines(mutants)
    print("\nWhat would go unseen without each test of the kit:\n")
    print("\n".join(lines), "\n")
    alone = sum(len(one.caught) == 1 for one in mutants)
    killed = sum(MUTANTS[one.name].test in one.caught for one in mutants)
    most = Counter(MUTANTS[one.name].clause for one in mutants).most_common(1)[0][1]
    print(f"{len(mutants)} mutants in {len(GROUPS)} groups, at most {most} of a clause; {len(SOUND)} sound variants")
    print(f"killed by the clause that they break: {killed} of {len(mutants)} ({killed / len(mutants):.0%})")
    print(f"{alone} mutants pass every test of the kit but one; {len(lines)} tests, not needed: {len(unneeded)}")
    few = len(mutants) < MUTANTS_MIN or alone < ALONE_MIN or len(SOUND) < SOUND_MIN
    return [*unneeded, *(["too few"] if few else []), *(["too many of one clause"] if most > CLAUSE_MAX else [])]


if __name__ == "__main__":
    sys.exit(main())
