"""Many generated programs of other libraries under the law of replicas: what differs is known by name, or is new.

    python3 -m ci.campaigns.upstream [LIBRARY …] [--programs 3000] [--seed 1] [--batch 40] [--jobs 2] [--kept DIR]

The libraries are torchmetrics, dtensor, training (of PyTorch), jax and keras. They run in an environment that sees this
one and has the packages of PACKAGES besides. Each program runs on each number of replicas, many in one run; of those
that differ, one for each subject and entry of known.toml is checked alone by `simstrategy check`. Where that differs,
it counts for the others as well; where it agrees, for itself. What known.toml does not name is new, and the exit code
is 1. --kept: verdicts of the same programs stay there, and are not made again; those of single checks for as long as
the code that judges is the same.
"""

import argparse
import importlib
import json
import re
import sys
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from hashlib import sha256
from pathlib import Path

from ci.campaigns.upstream.judging import AGREES, NOT_JUDGED, ROOT, Judge, Verdict
from ci.campaigns.upstream.programs import drawn, file_of

sys.path.insert(0, str(ROOT / "ci"))

from evidence import Evidence, output
from overlay import install, python_over

HERE = Path(__file__).resolve().parent
LIBRARIES = ("torchmetrics", "dtensor", "training", "jax", "keras")
PACKAGES = ("torchmetrics==1.9.0",)
FIXED = ("torch", "numpy", "jax", "jaxlib", "tensorflow", "keras")
"""Packages of this environment that none of PACKAGES may replace."""
_ROUNDING = "Rounding alone may change these results"
"""What a check states of a program in which a fault would look no different from rounding."""


class Known:
    """The entries of known.toml: of one library a name, a pattern for title and verdict, and what it is."""

    def __init__(self):
        self.entries = tomllib.loads((HERE / "known.toml").read_text(encoding="utf-8"))["known"]

    def name_of(self, library, text):
        """Returns the name of the first entry that fits; None for a verdict that is new."""
        fitting = (one for one in self.entries if one["library"] == library and re.search(one["pattern"], text, re.S))
        return next((one["name"] for one in fitting), None)


def verdicts(judge, name, options):
    """Yields programs with their verdicts, batch after batch; those that are kept are not run again."""
    for first in range(0, options.programs, options.batch):
        programs = drawn(judge.library, options.seed, first, min(options.batch, options.programs - first))
        key = _digest(file_of(judge.library, programs))
        file = options.kept / f"{name}-{options.seed}-{first}-{len(programs)}-{key}.json"
        found = kept(file, partial(judge.together, programs))
        yield from ((program, Verdict(*found[program.name])) for program in programs)


def kept(file, make):
    """Returns what a file keeps, as JSON; makes it first where there is none.  A run that ends leaves no half of it."""
    if not file.exists():
        fresh = file.with_suffix(".new")
        fresh.write_text(json.dumps(make()), encoding="utf-8")
        fresh.replace(file)
    return json.loads(file.read_text(encoding="utf-8"))


@cache
def _judging_code():
    """Returns a digest of the code that judges: a single check is made again where it has changed."""
    files = [*ROOT.glob("simstrategy/**/*.py"), *ROOT.glob("backends/*/simstrategy_*/**/*.py")]
    return _digest(*(file.read_text(encoding="utf-8") for file in sorted(files)))


def _digest(*texts):
    return sha256("\0".join(texts).encode()).hexdigest()[:12]


def alone(judge, name, pairs, options):
    """Returns what `simstrategy check` finds in programs with verdicts, by name; what is kept is not run again."""

    def one(pair):
        key = _digest(file_of(judge.library, [pair[0]]), _judging_code())
        file = options.kept / f"{name}-{options.seed}-{pair[0].name}-{key}.json"
        return pair[0].name, Verdict(*kept(file, partial(judge.alone, *pair)))

    with ThreadPoolExecutor(options.jobs) as pool:
        return dict(pool.map(one, pairs))


def campaign(name, python, known, options, evidence):
    """Runs the programs of one library, and prints how many agree and what differs."""
    library = importlib.import_module(f"ci.campaigns.upstream.of_{name}").LIBRARY
    judge, counts, checked, new = Judge(library, python), Counter(), {}, []
    pairs = [*verdicts(judge, name, options)]
    differing = [(program, seen) for program, seen in pairs if seen.kind != AGREES]
    counts[AGREES] = len(pairs) - len(differing)
    entries = {program.name: known.name_of(name, f"{program.title}: {seen.text}") for program, seen in differing}
    first = {entries[pair[0].name] or pair[0].name: pair for pair in reversed(differing)}
    single = alone(judge, name, first.values(), options)
    for program, seen in differing:
        entry = entries[program.name]
        key = entry or program.subject
        found = checked.get(key) or single.get(program.name)
        found = found or alone(judge, name, [(program, seen)], options)[program.name]
        if found.kind == AGREES:  # of this program alone: another one of its subject may differ
            counts[AGREES] += 1
            continue
        if entry is None and found.kind == NOT_JUDGED and _ROUNDING in found.text:  # of this program alone, too
            counts["not judged: rounding alone may decide"] += 1
            continue
        if key not in checked and entry is None:
            new.append(f"FAILED, new: {program.name}, {program.title}: {found.text[:600]}")
        checked[key] = found
        counts[f"known: {entry}" if entry else f"new: {found.kind}: {program.subject}"] += 1
    versions = _versions(python, library.packages)
    evidence.add(f"{name} ({versions}): {sum(counts.values())} programs, {counts[AGREES]} agree")
    for text, count in sorted(counts.items()):
        if text != AGREES:
            evidence.add(f"  {count:5} {text}")
    for text in new:
        evidence.add(text)


def _versions(python, packages):
    """Returns the versions of packages in the environment of a Python."""
    program = f"import sys; sys.path.insert(0, 'ci'); from evidence import versions; print(versions(*{packages!r}))"
    return output([python, "-c", program])[1].strip()


def main(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="LIBRARY", help=f"of {', '.join(LIBRARIES)}")
    parser.add_argument("--programs", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=40, help="programs in one run")
    parser.add_argument("--jobs", type=int, default=2, help="programs that are checked alone at a time")
    parser.add_argument("--kept", type=Path, default=ROOT / "build" / "upstream_verdicts")
    options = parser.parse_args(words)
    unknown = [name for name in options.names if name not in LIBRARIES]
    if unknown:
        parser.error(f"no such library: {', '.join(unknown)}; there are {', '.join(LIBRARIES)}")
    options.kept.mkdir(parents=True, exist_ok=True)
    python, evidence = python_over(ROOT / "build" / "upstream"), Evidence()
    problem = install(python, PACKAGES, FIXED)
    if problem is not None:
        print(f"The packages do not install: {problem}", file=sys.stderr)
        return 2
    for name in options.names or LIBRARIES:
        campaign(name, python, Known(), options, evidence)
    return evidence.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
