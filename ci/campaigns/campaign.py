"""Many generated programs, each on both sides of a pair: the same values, dtypes, errors and traces, or it is told.

Programs are drawn in batches, each by a seed of its own, so that a campaign is the same in every process and with
any number of jobs. Programs that came before are not counted again.

    python3 ci/campaigns/campaign.py tensorflow|witness|xla|compiled|stacked … [--programs N] [--jobs 2] [--minutes M]
"""

import argparse
import hashlib
import os
import statistics
import sys
import time
import zlib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import count, islice
from multiprocessing import active_children, get_context
from typing import NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np
from hypothesis import given, seed
from known import known
from sides import PAIRS, Sides, rounded, spread, told

from simstrategy_conformance.checking import options
from simstrategy_conformance.coverage import CONSTRUCTS, collectives_of, constructs_of
from simstrategy_conformance.generate import programs
from simstrategy_conformance.observe import Observed
from simstrategy_conformance.profiles import PROFILES, Profile
from simstrategy_conformance.script import script_text
from simstrategy_conformance.subject import Subject

BATCH = 250
SHOWN = 3


class Tally(NamedTuple):
    """What came of a batch.  programs: digest, verdict and collectives of each. wrong: differences, with scripts."""

    programs: list[tuple[str, str, int]]
    words: dict[str, frozenset[str]]
    wrong: dict[str, str]


def drawn(subject, name, number, size, rules):
    """Returns the programs of a batch."""
    found = []

    def keep(program):
        found.append(program)

    settings = options(Subject(subject.name, profile=Profile("campaign", size, subject.profile.replicas_max)))
    settings(seed(zlib.crc32(f"{name}/{number}".encode()))(given(programs(subject, **rules))(keep)))()
    return list(dict.fromkeys(found))


def different(name, number):
    """Returns so many different programs of the default grammar; the name is their seed."""
    subject, found, batch = Subject("sim", profile=PROFILES["default"]), {}, 0
    while len(found) < number:
        found.update(dict.fromkeys(drawn(subject, name, batch, BATCH, {})))
        batch += 1
    return list(found)[:number]


def compared(pair, sides, program):
    """Returns the verdict on a program, and what differs, if that has no name."""
    with np.errstate(all="ignore"):
        left, right = sides.left(program), sides.right(program)
    if pair.compiled:
        left = Observed(spread(left.result, right.result), *left[1:])
    unlike = told(pair, left, right)
    if pair.rounds and unlike is not None and means(program):
        near = Observed(rounded(left.result, right.result), *left[1:])
        if told(pair, near, right) is None:
            return "the same result, but for the rounding of means", None
    if unlike is None:
        return ("the same result" if left.error is None else f"the same error, {left.error[0]}"), None
    name = known(program, left, right) if pair.right.startswith("tf.") else None
    return ("DIFFERENT", unlike) if name is None else (f"known: {name}", None)


def means(program):
    """Tells whether a program divides."""
    return "MEAN" in constructs_of(program) or any(one.aggregation == "MEAN" for one in program.variables)


_opened = {}


def batch(name, seed_number, number, size, most):
    """Runs one batch of a campaign, or so much of it as is asked for; called in a process of its own."""
    pair = PAIRS[name]
    if name not in _opened:
        _opened[name] = Sides(pair)
    sides = _opened[name]
    tally = Tally([], {}, {})
    for program in drawn(sides.subject, f"{name}/{seed_number}", number, size, pair.rules):
        if len(tally.programs) == most:
            break
        digest = hashlib.sha256(script_text(program, "sim", program.draws).encode()).hexdigest()
        verdict, unlike = compared(pair, sides, program)
        if not sides.counts():
            continue
        tally.programs.append((digest, verdict, collectives_of(program)))
        tally.words[digest] = frozenset(constructs_of(program))
        if unlike is not None:
            step = "compiled" if pair.compiled else "plain"
            tally.wrong[digest] = f"{unlike}\n\n{script_text(program, sides.subject.name, program.draws, step)}"
    return tally


def tallies(name, options_):
    """Yields the batches of a campaign in order, made by so many processes."""
    # Of a small campaign one batch is enough, though some programs come twice.
    most = options_.programs
    size = min(BATCH, 2 * most)
    if options_.jobs == 1:
        yield from (batch(name, options_.seed, number, size, most) for number in count())
        return
    with ProcessPoolExecutor(options_.jobs, mp_context=get_context("spawn")) as pool:
        numbers = count()
        waiting = [pool.submit(batch, name, options_.seed, one, size, most) for one in islice(numbers, options_.jobs)]
        try:
            while True:
                yield waiting.pop(0).result()
                waiting.append(pool.submit(batch, name, options_.seed, next(numbers), size, most))
        finally:
            # What runs now is beyond what was asked for.
            for process in active_children():
                process.terminate()
            pool.shutdown(cancel_futures=True)


def campaign(name, options_):
    """Runs one campaign and prints what came of it; returns the number of differences without a name."""
    pair, began = PAIRS[name], time.monotonic()
    seen, verdicts, words, met, wrong = set(), Counter(), Counter(), [], []
    for tally in tallies(name, options_):
        for digest, verdict, collectives in tally.programs:
            if digest in seen or len(seen) == options_.programs:
                continue
            seen.add(digest)
            verdicts[verdict] += 1
            words.update(tally.words[digest])
            met.append(collectives)
            wrong += [tally.wrong[digest]] if digest in tally.wrong else []
        print(f"{name}: {len(seen)} programs, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        if len(seen) == options_.programs or time.monotonic() - began > 60 * options_.minutes:
            break
    print(f"{name}: {pair.left} beside {pair.right}, {len(seen)} different programs, seed {options_.seed}")
    short = len(seen) < options_.programs
    if short:
        print(f"  TIME WAS UP: {options_.programs} programs were asked for")
    for verdict, times in verdicts.most_common():
        print(f"  {times:>6}  {verdict}")
    asked = [word for word in CONSTRUCTS if words[word]]
    print("  " + ", ".join(f"{word} {words[word] / len(seen):.0%}" for word in asked))
    print(
        f"  median of collectives: {statistics.median(met):g}; {time.monotonic() - began:.0f} s, jobs {options_.jobs}"
    )
    for one in sorted(wrong, key=len)[:SHOWN]:
        print(f"\n{one}\n")
    return len(wrong) + short


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pairs", nargs="+", choices=[*PAIRS])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--compiled", type=int, default=None, help="so many of the pair compiled, which takes longest")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=600.0, help="after which no more batches are begun")
    options_ = parser.parse_args(arguments)
    failed = 0
    for name in options_.pairs:
        if name == "compiled":
            options_.programs = options_.compiled or options_.programs
        failed += campaign(name, options_)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
