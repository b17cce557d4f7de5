"""Plants bugs, one at a time, and lets the campaign find each: how soon, how often, and how small it gets.

Each bug is looked for by Hypothesis as a failing property, so what it prints is what a user would be shown: the
smallest program that still differs from the simulator's. Without a bug no program may differ.

    python3 ci/campaigns/hunt.py [--bugs N] [--programs N] [--jobs 2] [--examples N]
"""

import argparse
import sys
import time
import zlib
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context

from campaign import drawn
from hypothesis import given, seed
from sides import PAIRS, Sides, told

from simstrategy_conformance.checking import options
from simstrategy_conformance.coverage import replicas_and_numbers
from simstrategy_conformance.generate import programs
from simstrategy_conformance.profiles import Profile
from simstrategy_conformance.script import script_text
from simstrategy_conformance.subject import Subject

PAIR = PAIRS["tensorflow"]
RARE = 0.05
REPLICAS, NUMBERS = 3, 4
CONTROL = "no bug"


def shown(sides, program, bug):
    """Tells whether a program differs with a bug planted."""
    left = sides.left(program)
    with bug.planted() if bug is not None else nullcontext():
        right = sides.right(program)
    return told(PAIR, left, right) is not None


def hunt(name, count, examples):
    """Looks for one bug; returns its row.  Called in a process of its own."""
    from bugs import BUGS

    bug, sides, began = BUGS.get(name), Sides(PAIR), time.monotonic()
    size = min(count, 100)
    sample = [one for batch in range(count // size) for one in drawn(sides.subject, "sample", batch, size, PAIR.rules)]
    sample = list(dict.fromkeys(sample))
    share = sum(shown(sides, program, bug) for program in sample) / len(sample)
    asked, first, smallest = [0], [], []

    def differs(program):
        asked[0] += 1
        if shown(sides, program, bug):
            first[:] = first or [asked[0]]
            smallest[:] = [program]
            raise AssertionError(name)

    settings = options(Subject("tensorflow", profile=Profile("hunt", examples, PAIR.replicas_max)))
    drawn_for = given(programs(sides.subject, **PAIR.rules))
    try:
        settings(seed(zlib.crc32(name.encode()))(drawn_for(differs)))()
    except AssertionError:
        replicas, numbers = replicas_and_numbers(smallest[0])
        script = script_text(smallest[0], "tensorflow", smallest[0].draws)
        return name, share, first[0], replicas, numbers, script, time.monotonic() - began, len(sample)
    return name, share, None, 0, 0, "", time.monotonic() - began, len(sample)


def row_of(found):
    name, share, first, replicas, numbers, script, seconds, _ = found
    if first is None:
        return f"{name:<50} {share:>6.1%} {'never':>6} {'':>8} {'':>7} {'':>5} {seconds:>6.0f}"
    lines = len(script.splitlines())
    return f"{name:<50} {share:>6.1%} {first:>6} {replicas:>8} {numbers:>7} {lines:>5} {seconds:>6.0f}"


def problems_of(found):
    """Returns what is not as it should be, in words."""
    name, share, first, replicas, numbers, *_ = found
    if name == CONTROL:
        return [] if first is None and share == 0 else ["programs differ without a bug"]
    if first is None:
        return [f"{name}: never found"]
    small = replicas <= REPLICAS and numbers <= NUMBERS
    return [] if small else [f"{name}: {replicas} replicas and {numbers} numbers are left"]


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--bugs", type=int, default=None, help="so many of them, the first ones after --skip")
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--programs", type=int, default=500, help="for the share of programs that show a bug")
    parser.add_argument("--examples", type=int, default=2000, help="until a bug counts as not found")
    parser.add_argument("--jobs", type=int, default=2)
    given_ = parser.parse_args(arguments)
    from bugs import BUGS

    names = [CONTROL, *[*BUGS][given_.skip :][: given_.bugs]]
    began, found = time.monotonic(), []
    print(f"{'bug':<50} {'shown':>6} {'found':>6} {'replicas':>8} {'numbers':>7} {'lines':>5} {'s':>6}")
    with ProcessPoolExecutor(given_.jobs, mp_context=get_context("spawn")) as pool:
        examples = [min(given_.examples, 100) if name == CONTROL else given_.examples for name in names]
        for row in pool.map(hunt, names, [given_.programs] * len(names), examples):
            found.append(row)
            print(row_of(row), flush=True)
    rare = sum(one[1] <= RARE for one in found if one[0] != CONTROL)
    print(
        f"\n{len(found) - 1} bugs, {rare} of them in at most one of {1 / RARE:.0f} programs, of {found[0][7]} programs;"
    )
    print(f"found: programs until the first that differs; {time.monotonic() - began:.0f} s of wall time\n")
    for name, _, first, *_, script, _, _ in found:
        if first is not None:
            print(f"{name}:\n{script}\n")
    problems = [text for one in found for text in problems_of(one)]
    print("\n".join(problems) or "every bug was found, and became small")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
