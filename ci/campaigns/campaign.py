"""Many generated programs, each on both sides of a pair: the same values, dtypes, errors and traces, or it is told.

Programs are drawn in batches, each by a seed of its own, so that a campaign is the same in every process and with
any number of jobs. Programs that came before are not counted again.

    python3 ci/campaigns/campaign.py tensorflow|template|witness|xla|compiled|interpreted|stacked …
        [--programs N] [--jobs 2] [--minutes M] [--on ray[://HOST:PORT]]
"""

import argparse
import hashlib
import importlib
import json
import os
import statistics
import sys
import time
import zlib
from collections import Counter
from contextlib import contextmanager
from itertools import count
from pathlib import Path
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
from simstrategy_conformance.spread import Lost, results, spread_over
from simstrategy_conformance.subject import Subject

BATCH = 250
SHOWN = 3
LOST_MAX = 3
NOT_SENT = ("in_situ", "misuses", "torch_files", "__pycache__")
"""What the nodes of a cluster do not need."""


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


def made(asked):
    """Runs one batch.  asked: the arguments of `batch`."""
    return batch(*asked)


@contextmanager
def tallies(name, options_):
    """Gives the batches of a campaign in order, wherever they are made."""
    # Of a small campaign one batch is enough, though some programs come twice.
    most = options_.programs
    size = min(BATCH, 2 * most)
    asked = ((name, options_.seed, number, size, most) for number in count())
    # A module of its own name: processes elsewhere have another __main__.
    function = importlib.import_module("campaign").made
    with spread_over(options_.on, jobs=options_.jobs, folder=Path(__file__).parent, without=NOT_SENT) as spread:
        yield results(spread, function, asked)


class Found:
    """What came of a campaign so far.  most: how many programs are asked for."""

    def __init__(self, most):
        self.most = most
        self.seen, self.verdicts, self.words = set(), Counter(), Counter()
        self.met, self.wrong, self.lost = [], [], []

    def add(self, tally):
        """Takes a batch, or that it is lost."""
        if isinstance(tally, Lost):
            self.lost.append(f"batch {tally.argument[2]}: {tally.text}")
            return
        for digest, verdict, collectives in tally.programs:
            if digest in self.seen or len(self.seen) == self.most:
                continue
            self.seen.add(digest)
            self.verdicts[verdict] += 1
            self.words.update(tally.words[digest])
            self.met.append(collectives)
            self.wrong += [tally.wrong[digest]] if digest in tally.wrong else []

    @property
    def ends(self):
        return len(self.seen) == self.most or len(self.lost) > LOST_MAX

    def report(self, name, seed_number):
        """Returns all of it without times, as JSON."""
        told_of = {
            "pair": name,
            "seed": seed_number,
            "asked": self.most,
            "verdicts": dict(sorted(self.verdicts.items())),
        }
        told_of |= {"constructs": {word: self.words[word] for word in CONSTRUCTS}, "lost": self.lost}
        told_of |= {"wrong": sorted(self.wrong), "programs": sorted(self.seen)}
        return json.dumps(told_of, indent=1) + "\n"


def campaign(name, options_):
    """Runs one campaign and prints what came of it; returns the number of differences without a name."""
    pair, began, found = PAIRS[name], time.monotonic(), Found(options_.programs)
    with tallies(name, options_) as batches:
        for tally in batches:
            found.add(tally)
            seconds = time.monotonic() - began
            print(f"{name}: {len(found.seen)} programs, {seconds:.0f} s", file=sys.stderr, flush=True)
            if found.ends or seconds > 60 * options_.minutes:
                break
    count_ = len(found.seen)
    print(f"{name}: {pair.left} beside {pair.right}, {count_} different programs, seed {options_.seed}")
    short = count_ < options_.programs
    if short:
        print(f"  TIME WAS UP, OR BATCHES WERE LOST: {options_.programs} programs were asked for")
    for one in found.lost:
        print(f"  LOST: {one}")
    for verdict, times in found.verdicts.most_common():
        print(f"  {times:>6}  {verdict}")
    asked = [word for word in CONSTRUCTS if found.words[word]]
    print("  " + ", ".join(f"{word} {found.words[word] / count_:.0%}" for word in asked))
    where = f"jobs {options_.jobs}" if options_.on == "here" else f"on {options_.on}"
    median = f"{statistics.median(found.met):g}" if found.met else "none"
    print(f"  median of collectives: {median}; {time.monotonic() - began:.0f} s, {where}")
    for one in sorted(found.wrong, key=len)[:SHOWN]:
        print(f"\n{one}\n")
    if options_.report:
        Path(options_.report).write_text(found.report(name, options_.seed), encoding="utf-8")
    return len(found.wrong) + short + len(found.lost)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pairs", nargs="+", choices=[*PAIRS])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument(
        "--compiled", type=int, default=None, help="so many of compiled and interpreted, which take longest"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--on", default="here", help="here, or ray[://HOST:PORT] for a Ray cluster")
    parser.add_argument("--report", help="where to write what came of the last pair, without times, as JSON")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=600.0, help="after which no more batches are begun")
    options_ = parser.parse_args(arguments)
    failed = 0
    for name in options_.pairs:
        if name in ("compiled", "interpreted"):
            options_.programs = options_.compiled or options_.programs
        failed += campaign(name, options_)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
