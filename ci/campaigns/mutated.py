"""Plants mistakes in lawful programs at random; counts how many the judge finds, and how many others it accuses.

Mutants are made from ten programs of `tests/judging/lawful`. A wrong one is kept if its results depend on the number
of replicas far beyond rounding, a neutral one if they do not, both measured without the judge. Mutant k of a seed is
the same text in every process.

    python3 ci/campaigns/mutated.py [--count 300] [--seed 0] [--show K] [--without-judge] [--keep FOLDER]
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from mutations import Edit, Source
from mutations_neutral import NEUTRAL
from mutations_planted import KINDS, PLANTED

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "judging"))

from judge_adapter import judged, why_not
from measured import COUNTS, distances, run_once

from ci.evidence import CANNOT_RUN
from simstrategy.check.programs import load_program

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = (
    "accumulate_micro_batches",
    "clip_after_the_sum",
    "k_means",
    "least_squares",
    "loss_and_count",
    "mixture_of_gaussians",
    "power_iteration",
    "synchronised_batch_norm",
    "two_layer_network",
    "weighted_examples",
)
FAR = 1e-3
"""A wrong mutant moves a result by at least this, relative to the largest element of a leaf."""
NEAR = 1e-5
"""A neutral mutant moves no result by more than this."""
FOUND, NAMED = 0.95, 0.80
"""The shares of wrong mutants that are to be found, and to be found with the right kind."""


class Mutant(NamedTuple):
    """A program with edits.  kinds: what a judge may call the planted one; () of a neutral mutant."""

    name: str
    text: str
    edits: tuple[str, ...]
    kinds: tuple[str, ...]


class Tally(NamedTuple):
    """What came of candidates, by verdict, and the answers of the judge to those that were kept."""

    candidates: Counter[str]
    kept: list[Mutant]


def planted(source: Source, kind: str, rng: Random) -> Edit | None:
    """Returns an edit that plants a kind, or None where the program has no place for it."""
    edits = [edit for way in PLANTED for edit in way(source) if edit.kinds[0] == kind]
    return rng.choice(edits) if edits else None


def neutral(source: Source, rng: Random) -> Edit | None:
    """Returns an edit that plants nothing: first a way is drawn, so that many places make none likelier."""
    found = [edits for edits in [list(way(source)) for way in NEUTRAL] if edits]
    return rng.choice(rng.choice(found)) if found else None


def drawn(seed: int, number: int, *, wrong: bool) -> Mutant | None:
    """Returns the candidate of a number: one planted edit or none, and some that plant nothing.

    Programs follow one another, and kinds. None is returned where the program has no place for the kind.
    """
    rng = Random(f"{seed}/{'wrong' if wrong else 'neutral'}/{number}")
    name = PROGRAMS[number % len(PROGRAMS)]
    text = (ROOT / "tests" / "judging" / "lawful" / f"{name}.py").read_text(encoding="utf-8")
    source, names, kinds = Source(text), [], ()
    if wrong:
        edit = planted(source, KINDS[number // len(PROGRAMS) % len(KINDS)], rng)
        if edit is None:
            return None
        edit.apply(rng)
        names, kinds = [edit.name], edit.kinds
    for _ in range(rng.choice((0, 1, 2, 3)) if wrong else rng.choice((1, 1, 2, 3, 4))):
        # Read again: the first edit has moved parts of the tree.
        source = Source(source.text())
        edit = neutral(source, rng)
        if edit is not None:
            edit.apply(rng)
            names.append(edit.name)
    return Mutant(f"{name}_{'w' if wrong else 'n'}{number}", source.text(), tuple(names), kinds)


def measured(file: Path) -> str:
    """Runs a mutant with each number of replicas; returns whether it depends on it."""
    try:
        program = load_program(file)
    except Exception as error:  # noqa: BLE001 - of any kind: the text was made at random
        return f"raises {type(error).__name__}"
    runs = [run_once(program, count) for count in COUNTS]
    errors = [one.error for one in runs if one.error is not None]
    if errors:
        return "raises for some numbers of replicas" if len(errors) < len(runs) else "raises"
    far = max(max(distances(runs[0], one).values(), default=0.0) for one in runs[1:])
    return "depends" if far >= FAR else "does not depend" if far <= NEAR else "unclear: near rounding"


def mutants(seed: int, count: int, folder: Path, *, wrong: bool) -> Tally:
    """Draws candidates until so many are kept, and writes these to files."""
    tally, seen = Tally(Counter(), []), set()
    number = 0
    while len(tally.kept) < count and number < 40 * count + 400:
        mutant = drawn(seed, number, wrong=wrong)
        number += 1
        if mutant is None:
            tally.candidates["no place for the kind"] += 1
            continue
        if mutant.text in seen:
            tally.candidates["the same text as another one"] += 1
            continue
        seen.add(mutant.text)
        file = folder / f"{mutant.name}.py"
        file.write_text(mutant.text, encoding="utf-8")
        answer = measured(file)
        tally.candidates[answer] += 1
        if answer == ("depends" if wrong else "does not depend"):
            tally.kept.append(mutant)
        else:
            file.unlink()
    return tally


def shown(title: str, tally: Tally) -> None:
    print(f"{title}: {sum(tally.candidates.values())} candidates, {len(tally.kept)} kept")
    for verdict, times in tally.candidates.most_common():
        print(f"  {times:>6}  {verdict}")


def judge_wrong(kept: Sequence[Mutant], folder: Path, show: int) -> bool:
    """Judges wrong mutants; prints how many were found, by kind, and those that were not.

    named: the kind comes first, or it is listed as one that gives the same numbers, as in `tests/judging`. first: how
    many of these come first. other: another kind is named. The rest is not recognised.
    """
    rows: dict[str, Counter[str]] = {}
    missed: list[str] = []
    for mutant in kept:
        answer = judged(load_program(folder / f"{mutant.name}.py"))
        row = rows.setdefault(mutant.kinds[0], Counter())
        found = answer.verdict == "differ" and bool(answer.of_replicas)
        first = answer.of_replicas[0] if found else None
        named = first is not None and bool(first.kinds & set(mutant.kinds))
        row.update({"planted": 1, "found": found, "named": named})
        row["first"] += first is not None and first.kind in mutant.kinds
        row["other"] += first is not None and not named and first.kind != "not recognised"
        if not named:
            called = answer.of_replicas[0].kind if answer.of_replicas else answer.verdict
            missed.append(f"{mutant.name}: {mutant.edits[0]}; the judge: {called}\n\n{mutant.text}\n{answer.text}\n")
    total = sum(rows.values(), Counter())
    columns = ("planted", "found", "named", "first", "other")
    print(f"{'kind':<55}", *[f"{column:>7}" for column in columns])
    for kind, row in [*sorted(rows.items()), ("all", total)]:
        print(f"{kind:<55}", *[f"{row[column]:>7}" for column in columns])
    print("\n".join(missed[:show]))
    return total["found"] >= FOUND * len(kept) and total["named"] >= NAMED * len(kept)


def judge_neutral(kept: Sequence[Mutant], folder: Path, show: int) -> bool:
    """Judges neutral mutants; prints the verdicts, and those that were accused."""
    verdicts: Counter[str] = Counter()
    accused: list[str] = []
    for mutant in kept:
        answer = judged(load_program(folder / f"{mutant.name}.py"))
        verdicts[answer.verdict] += 1
        if answer.verdict == "differ":
            accused.append(f"{mutant.name}: {', '.join(mutant.edits)}\n\n{mutant.text}\n{answer.text}\n")
    print(f"accused: {len(accused)}; verdicts: {', '.join(f'{name} {times}' for name, times in verdicts.items())}")
    print("\n".join(accused[:show]))
    return not accused


def positive(text: str) -> int:
    """Returns a count from the command line.  Raises ValueError below 1: nothing would be judged, and all be well."""
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=positive, default=300, help="so many wrong mutants, and so many neutral ones")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=3, help="so many that were missed or accused, in full")
    parser.add_argument("--without-judge", action="store_true", help="makes and measures the mutants alone")
    parser.add_argument("--keep", type=Path, default=None, help="a folder for the mutants' files")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        wrong = mutants(options.seed, options.count, folder, wrong=True)
        shown("wrong", wrong)
        neutral = mutants(options.seed, options.count, folder, wrong=False)
        shown("neutral", neutral)
        print(f"{time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        short = min(len(wrong.kept), len(neutral.kept)) < options.count
        if options.without_judge or short:
            for kind, times in sorted(Counter(one.kinds[0] for one in wrong.kept).items()):
                print(f"{kind:<55} {times:>7}")
            return int(short)
        reason = why_not()
        if reason is not None:
            print(f"not judged: {reason}")
            return CANNOT_RUN
        right = judge_wrong(wrong.kept, folder, options.show)
        quiet = judge_neutral(neutral.kept, folder, options.show)
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)
    return 0 if right and quiet else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
