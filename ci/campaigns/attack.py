"""Programs that misuse Python, on all backends side by side: the same values or the same error, no hang, no silence.

First the programs that once broke a promise (`misuses/promises.toml`), then a program for each excuse in
`misuses/known.toml`, then programs composed at random. Program k of a seed is the same text in every process.

    python3 ci/campaigns/attack.py [--programs N] [--seconds S] [--seed 0] [--show K] [--backends sim,torch,…]
"""

import argparse
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from misuse import Form, Program, drawn, misuses, smaller
from misuse_verdict import REFERENCES, Finding, findings, judged, known_ones, verdict
from misuse_workers import CARRIERS, SIDES, Workers
from promises import promises

CHUNK = 50
SHRUNK = 12
TRIES = 80


class Wrong(NamedTuple):
    """A program with what is wrong with it.  number: of the program at random.

    again: whether new processes show it again; where they do not, it depends on what ran before, or on chance.
    """

    number: int
    program: Program
    findings: list[Finding]
    again: bool = True

    @property
    def key(self) -> tuple[str, ...]:
        """What two programs have in common that show the same defect, as far as texts show it."""
        first = self.findings[0]
        return (first.kind, re.sub(r"\d+|program\.py:\S+", "#", first.text.splitlines()[0])[:90])


def shrunk(workers, wrong, known):
    """Returns the smallest program that still shows the first finding's kind on its side."""
    kind, side, _ = wrong.findings[0]
    sides = [side, REFERENCES.get(side, side)]

    def shown_by(program):
        seen = next(workers.run([(program.text(), program.form)], sides))
        return [one for one in verdict(program, seen, known)[1] if (one.kind, one.side) == (kind, side)]

    if not shown_by(wrong.program):
        return wrong._replace(again=False)
    program, found, tries = wrong.program, wrong.findings, 0
    candidates = smaller(program)
    while tries < TRIES and (candidate := next(candidates, None)) is not None:
        tries += 1
        left = shown_by(candidate)
        if left:
            program, found, candidates = candidate, left, smaller(candidate)
    return Wrong(wrong.number, program, found)


def attacked(workers, table, known, options):
    """Runs programs at random; returns the verdicts' counts, what is wrong, and which excuses were used."""
    began, verdicts, wrong, used = time.monotonic(), Counter(), [], Counter()
    done = 0
    while done < options.programs and time.monotonic() - began < options.seconds:
        numbers = range(done, min(done + CHUNK, options.programs))
        programs = [drawn(table, options.seed, number) for number in numbers]
        seen = workers.run([(one.text(), one.form) for one in programs], options.sides)
        for number, program, outcomes in zip(numbers, programs, seen, strict=True):
            word, found, excuses = verdict(program, outcomes, known)
            verdicts[word] += 1
            used.update(excuses)
            wrong += [Wrong(number, program, found)] if found else []
        done = numbers[-1] + 1
        print(f"{done} programs, {len(wrong)} wrong, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return done, verdicts, wrong, used


def shown(wrong):
    """Returns a defect in words: what is wrong, the fragments with their clauses, and the program."""
    clauses = ", ".join(dict.fromkeys(f"{one.misuse.clause} ({one.misuse.name})" for one in wrong.program.every()))
    how = (
        "made smaller" if wrong.again else "not shown again by new processes: it depends on what ran before, or chance"
    )
    lines = [f"program {wrong.number}, {how}; clauses: {clauses}", *map(str, wrong.findings), "", wrong.program.text()]
    return "\n".join(lines)


def kept(workers, table, known, options):
    """Runs the programs of `promises.toml` and of `known.toml`; returns what is wrong with them, in words."""
    problems = []
    for one in promises():
        sides = [side for side in one.sides if side in options.sides]
        if not sides:
            continue
        seen = next(workers.run([(one.text, Form())], sides))
        found = judged(seen, one.expects, one.error, shares=one.shares, process=one.process)
        found = [finding for finding in found if not (one.chance and finding.kind == "differs")]
        # What is broken by chance, or on sides that do not run here, may be right.
        may_be_right = one.broken and (one.chance or len(sides) < len(one.sides))
        if bool(found) != bool(one.broken) and not (may_be_right and not found):
            texts = "\n".join(map(str, found)) or "nothing is wrong any more: take `broken` out"
            problems.append(f"{one.letter} {one.name}: {texts}")
    for one in known:
        both = {*one.sides, *(REFERENCES.get(side, side) for side in one.sides)}
        sides = [side for side in options.sides if side in both]
        seen = next(workers.run([(one.program.text(), one.program.form)], sides))
        found = findings(one.program, seen)
        if set(one.sides) & set(seen) and not any(one.covers(one.program, finding) for finding in found):
            texts = "\n  ".join(map(str, found)) or "nothing is wrong with it"
            problems.append(f"the excuse {one.name!r} is not used by its program; take it out.\n  {texts}")
    return problems


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=3600.0, help="after which no more programs are begun")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of one program on one backend")
    parser.add_argument("--backends", default=",".join(CARRIERS), help="some of them; sim is always there")
    parser.add_argument("--show", type=int, help="print the program of this number, and run nothing")
    parser.add_argument("--shrink", type=int, default=SHRUNK, help="so many programs that differ are made smaller")
    parser.add_argument("--keep", type=Path, help="a folder for the programs that show a defect")
    options = parser.parse_args(arguments)
    table = misuses()
    if options.show is not None:
        print(drawn(table, options.seed, options.show).text())
        return 0
    known, carriers = known_ones(table), tuple(dict.fromkeys(["sim", *options.backends.split(",")]))
    options.sides = tuple(side for side in SIDES if any(side in CARRIERS[name][2] for name in carriers))
    began = time.monotonic()
    with Workers(carriers, limit_s=options.limit) as workers:
        problems = kept(workers, table, known, options)
        done, verdicts, wrong, used = attacked(workers, table, known, options)
        first = {one.key: one for one in reversed(wrong)}
        workers.restart()
        small = [shrunk(workers, one, known) for one in list(first.values())[: options.shrink]]
    print(f"{done} programs of seed {options.seed} on {', '.join(options.sides)}; {len(table)} misuses")
    for word, times in verdicts.most_common():
        print(f"  {times:>6}  {word}")
    for name, times in used.most_common():
        print(f"  excused in {times:>5} programs: {name}")
    for one in {(*one.program.names, one.findings[0].kind, one.findings[0].side): one for one in small}.values():
        print(f"\n{'=' * 100}\n{shown(one)}")
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"program{one.number}.py").write_text(one.program.text(), encoding="utf-8")
    print(*problems, sep="\n\n")
    short = done < options.programs
    print(f"{len(wrong)} programs differ, {len(problems)} kept programs are not as listed")
    print(f"{time.monotonic() - began:.0f} s of wall time")
    if short:
        print(f"TIME WAS UP: {options.programs} programs were asked for")
    return 1 if wrong or problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
