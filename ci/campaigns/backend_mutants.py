"""Makes wrong backends of the simulator's and the template's source, and examines each by the conformance kit.

    python3 ci/campaigns/backend_mutants.py [--count 540] [--jobs 2] [--profiles quick,default] [--only NAME]

A mutant is one edit of one file (`backend_operators.py`). Two thirds are drawn from one seed, and one third from
another one, for which the kit was never mended. Left out, and counted: edits that compile to the same code, backends
that do not open, and places that no test of the kit executes. Those that were found to be equivalent by reading stand
in backend_mutants.toml with the reason. The tests that execute an edited statement are run, those first that execute
little else, and then all others; the first one that fails ends a mutant. Ends with exit code 1 unless `default` kills
every mutant and `quick` 97 of 100, of 400 at least.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from backend_child import Unit
from backend_drawing import FILES, Mutant, all_edits, drawn, left_out, read_reasons
from backend_edits import Edit
from backend_report import counts_by_operator, lines_of, short_of, unreached_lines
from backend_runs import ROOT, Copies, Ended, counts_of, probed_text, texts_of, watched

__all__ = ["Probed", "main", "order_of"]

SEEN, UNSEEN = "2026", "a third that stays unread until the kit is finished, the second one"
"""What lived of the first such third has been read, and the kit was mended for its families."""
COUNT_MIN, KILLED = 400, {"quick": 0.97, "default": 1.0}
UNIT_S, TIMES = 10.0, 8.0
"""The limit of a test: so many seconds, and so many times what it takes without an edit."""


class Probed(NamedTuple):
    """What the kit executes of a subject: when it opens, by test, and the seconds of each test."""

    opened: Counter[tuple[str, int]]
    units: dict[Unit, Counter[tuple[str, int]]]
    taken: dict[Unit, float]

    def reaches(self, edit: Edit) -> bool:
        """Returns whether anything executes the statement of an edit."""
        place = (edit.file, edit.statement)
        return place in self.opened or any(place in counts for counts in self.units.values())


def order_of(edit: Edit, probed: Probed) -> tuple[tuple[Unit, ...], tuple[Unit, ...]]:
    """Returns the tests that execute an edit's statement, and all others, each in the order to run them.

    Those come first whose setting is a name in the text, then those that execute the statement most among all others.
    """
    place, words = (edit.file, edit.statement), set(_line(edit).replace("(", " ").replace(".", " ").split())
    totals = {unit: sum(counts.values()) or 1 for unit, counts in probed.units.items()}
    everywhere = place in probed.opened

    def rank(unit: Unit) -> tuple[bool, float, int, str]:
        return unit.label not in words, -probed.units[unit][place] / totals[unit], totals[unit], str(unit)

    ordered = sorted(probed.units, key=rank)
    first = tuple(unit for unit in ordered if everywhere or place in probed.units[unit])
    return first, tuple(unit for unit in ordered if unit not in set(first))


def _line(edit: Edit) -> str:
    return (ROOT / edit.file).read_text(encoding="utf-8").splitlines()[edit.statement - 1]


def probed_of(subject: str, profile: str, copies: Copies) -> Probed:
    """Runs the whole kit on a subject without an edit.  Ends the campaign where a test fails."""
    files = [file for file, of in FILES.items() if of == subject]
    texts = {file: probed_text(file, (ROOT / file).read_text(encoding="utf-8")) for file in files}
    ((_, ended),) = watched([(None, texts, subject, profile, None, True)], copies, lambda _: 600.0)
    if ended.verdict != "passes":
        sys.exit(f"{subject} without an edit: {ended.verdict} {ended.unit or ''} {ended.told}")
    return Probed(*counts_of(ended))


def examined(
    mutants: Sequence[Mutant], profile: str, probed: dict[str, Probed], copies: Copies, first: dict[str, Unit]
) -> dict[str, Ended]:
    """Returns how each mutant ended.  first: the test to begin with, by mutant."""

    def task(mutant: Mutant) -> tuple[object, ...]:
        reached, others = order_of(mutant.edit, probed[mutant.subject])
        begin = tuple(unit for unit in (first.get(mutant.name),) if unit is not None)
        units = (*begin, *(unit for unit in (*reached, *others) if unit not in begin))
        return mutant.name, texts_of(mutant.edit), mutant.subject, profile, units, False

    def limit(unit: Unit) -> float:
        return UNIT_S + TIMES * max(one.taken.get(unit, 0.0) for one in probed.values())

    found: dict[str, Ended] = {}
    for name, ended in watched(map(task, mutants), copies, limit):
        found[name] = ended._replace(lines=[])
        print(f"{profile} {len(found)} of {len(mutants)}: {name} {ended.verdict}", file=sys.stderr, flush=True)
    return found


def chosen(
    edits: Sequence[tuple[str, Edit]], probed: dict[str, Probed], count: int, seed: str, taken: frozenset[str]
) -> tuple[list[Mutant], Counter[str]]:
    """Returns so many mutants of a seed, and how many edits that came before them are none, by the reason."""
    none: Counter[str] = Counter()

    def are_mutants(mutant: Mutant) -> bool:
        reason = left_out(mutant.edit) if probed[mutant.subject].reaches(mutant.edit) else "not reached"
        none[reason] += 1 if reason else 0
        return not reason

    return list(islice(filter(are_mutants, drawn(edits, seed, taken)), count)), none


def looked_at(name: str, edits: Sequence[tuple[str, Edit]], profiles: Sequence[str], copies: Copies) -> int:
    """Prints the edit of a name, and what comes of it by each profile, with all tests in the kit's order."""
    edit = dict(edits).get(name)
    if edit is None:
        sys.exit(f"There is no mutant {name}: the sources have changed, or it is another one.")
    print(f"{name}: {edit.file}:{edit.line}, in {edit.function}: {edit.operator}\n- {edit.before}\n+ {edit.after}")
    for profile in profiles:
        task = (name, texts_of(edit), FILES[edit.file], profile, None, False)
        ((_, ended),) = watched([task], copies, lambda _: 120.0)
        print(f"{profile}: {short_of(ended)} {ended.told}")
    return 0


def reported(options: argparse.Namespace, edits: Sequence[tuple[str, Edit]], copies: Copies) -> int:
    """Examines mutants by each profile and prints the table; returns the exit code."""
    equivalent, unreached = read_reasons(edits)
    profiles = options.profiles.split(",")
    probed = {profile: {of: probed_of(of, profile, copies) for of in ("sim", "template")} for profile in profiles}
    widest = probed[profiles[-1]]
    third = 0 if options.seen_alone else options.count // 3
    mutants, none = chosen(edits, widest, options.count - third, SEEN, frozenset())
    more, none_of_more = chosen(edits, widest, third, UNSEEN, frozenset(one.name for one in mutants))
    mutants += more
    found: dict[str, dict[str, Ended]] = {}
    first: dict[str, Unit] = {}
    for profile in profiles:
        tried = [one for one in mutants if one.name not in equivalent]
        found[profile] = examined(tried, profile, probed[profile], copies, first)
        first |= {name: ended.unit for name, ended in found[profile].items() if ended.unit is not None}
    print("\n".join(lines_of(mutants, found, equivalent, SEEN)))
    print("\n".join(counts_by_operator(mutants, found, equivalent)))
    print(f"edits that make no mutant: {dict(none + none_of_more)}")
    reached = {name for name, edit in edits if widest[FILES[edit.file]].reaches(edit)}
    lines, unnamed = unreached_lines([edit for name, edit in edits if name not in reached], unreached)
    print("\n".join(lines))
    return judged(mutants, found, equivalent, unnamed, options.count)


def judged(
    mutants: Sequence[Mutant],
    found: dict[str, dict[str, Ended]],
    equivalent: dict[str, str],
    unnamed: int,
    count: int,
) -> int:
    """Prints what each profile kills, by seed; returns 1 where that is too little."""
    counted = [
        one.name
        for one in mutants
        if one.name not in equivalent and all(by[one.name].verdict != "not opened" for by in found.values())
    ]
    seeds = {one.name: one.seed for one in mutants}
    short = len(counted) < min(COUNT_MIN, count) or unnamed > 0
    for profile, by in found.items():
        killed = [name for name in counted if by[name].verdict != "passes"]
        share = len(killed) / len(counted)
        told = [
            f"{sum(seeds[name] == seed for name in killed)} of {sum(seeds[name] == seed for name in counted)}"
            for seed in (SEEN, UNSEEN)
        ]
        hung = sum(by[name].verdict == "hangs" for name in counted)
        print(
            f"{profile}: killed {len(killed)} of {len(counted)} ({share:.1%}), {hung} of them by the limit; "
            f"of the first seed {told[0]}, of the second {told[1]}; needed {KILLED[profile]:.0%}"
        )
        short = short or share < KILLED[profile]
    return int(short)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=540, help="mutants of places that the kit reaches")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--profiles", default="quick,default")
    parser.add_argument("--seen-alone", action="store_true", help="leaves out the third of the second seed")
    parser.add_argument("--only", metavar="NAME", help="one mutant: its edit, and what each profile says")
    options = parser.parse_args(arguments)
    edits = all_edits()
    with tempfile.TemporaryDirectory() as folder:
        copies = Copies(Path(folder), options.jobs)
        if options.only:
            return looked_at(options.only, edits, options.profiles.split(","), copies)
        return reported(options, edits, copies)


if __name__ == "__main__":
    sys.exit(main())
