"""Compares thousands of calls of array functions on each backend with the simulator: values, dtypes, shapes, errors.

    python3 ci/array_calls/run.py [--backend torch] [--every 1]

What differs is listed in exceptions.toml with a reason. Strict both ways: a difference that is not listed fails the
run, and so does an entry that matches none. Floats may be 16 units in the last place apart.
"""

import argparse
import fnmatch
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
BACKENDS = ("torch", "tensorflow", "xla")


class Entry(NamedTuple):
    """An exception: patterns of calls that differ in one way on some backends, and why."""

    difference: str
    backends: tuple
    calls: tuple
    reason: str

    def covers(self, backend, call, difference):
        """Tells whether a difference is listed here."""
        return backend in self.backends and difference == self.difference and bool(self.matching(call))

    def matching(self, call):
        """Returns the patterns that match a call."""
        return [pattern for pattern in self.calls if fnmatch.fnmatchcase(call, pattern)]


def entries(file=HERE / "exceptions.toml"):
    """Returns the exceptions.  Raises SystemExit for one without a reason."""
    found = []
    for table in tomllib.loads(file.read_text(encoding="utf-8"))["exception"]:
        if not table["reason"].strip():
            raise SystemExit(f"{file.name}: {table['calls']} have no reason.")
        found.append(Entry(table["difference"], tuple(table["backends"]), tuple(table["calls"]), table["reason"]))
    return found


def differences(name, calls):
    """Returns the number of calls that a backend can make, and those that differ: (call, difference, ours, its)."""
    from outcomes import difference, outcome

    import simstrategy as ss

    simulator, backend = ss.backend("sim"), ss.backend(name)
    able = [call for call in calls if call.dtypes <= backend.capabilities.dtypes]
    found = []
    for call in able:
        one, other = outcome(simulator, call), outcome(backend, call)
        kind = difference(one, other)
        if kind:
            found.append((call.text, kind, one, other))
    return len(able), found


def judge(backend, found, listed, *, is_whole):
    """Returns lines about differences that are not listed, and of a whole table about entries that match none."""
    lines, used = [], set()
    for call, kind, one, other in found:
        covering = [entry for entry in listed if entry.covers(backend, call, kind)]
        used |= {(entry, pattern) for entry in covering for pattern in entry.matching(call)}
        if not covering:
            lines += [f"{kind}: xp.{call}", f"    sim: {one}", f"    {backend}: {other}"]
    if is_whole:
        wanted = {(entry, pattern) for entry in listed if backend in entry.backends for pattern in entry.calls}
        lines += [f"listed and not found: {entry.difference}: {pattern}" for entry, pattern in sorted(wanted - used)]
    return lines


def examine(backend, every):
    """Prints what was compared on a backend, and what contradicts the exceptions; returns the number of lines."""
    from table import calls

    made, found = differences(backend, calls()[::every])
    lines = judge(backend, found, entries(), is_whole=every == 1)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(kind for _, kind, *_ in found).items()))
    print(f"{backend}: {made} calls, {made - len(found)} as on the simulator; {kinds or 'no difference'}")
    print(f"    {len(found)} differences, {len(lines)} lines about what is not listed or not found")
    print(*lines, sep="\n" if lines else "", end="\n" if lines else "")
    return len(lines)


def main(words):
    parser = argparse.ArgumentParser(description="Compares calls of array functions with the simulator.")
    parser.add_argument("--backend", action="append", choices=BACKENDS, help="several times for several")
    parser.add_argument("--every", type=int, default=1, help="only every so many calls")
    given = parser.parse_args(words)
    backends = given.backend or BACKENDS
    if len(backends) == 1:
        return 1 if examine(backends[0], given.every) else 0
    codes = []
    for backend in backends:  # a process for each: their libraries share processors badly
        command = [sys.executable, __file__, "--backend", backend, "--every", str(given.every)]
        codes.append(subprocess.run(command, check=False).returncode)
    return max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
