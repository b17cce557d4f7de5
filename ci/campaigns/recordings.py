"""Records generated programs and computes each synchronisation point again from the file alone.

python3 ci/campaigns/recordings.py [--programs N] [--seed 0]
"""

import argparse
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

from campaign import different

import simstrategy as ss
from simstrategy.check.outcome import run_program
from simstrategy.check.recompute import recompute
from simstrategy.schedules import InOrder, Recorded, Replayed
from simstrategy_conformance.script import function_of
from simstrategy_conformance.subject import ShrinkableSchedule

WHOLE = 1 << 20


def recorded(program, file, schedule):
    """Runs a program and returns the bytes of its recording, in a file."""
    function, _ = function_of(program)
    recorder = ss.trace.Recorder(file, root="", whole_bytes=WHOLE)
    semantics = ss.Semantics.TF2 if program.profile == "TF2" else ss.Semantics.TF1_15
    if program.workers > 1:
        made = ss.sim.Cluster(program.workers, program.replicas, semantics=semantics, schedule=schedule, trace=recorder)
        made.outcomes(lambda strategy: run_program(function, strategy, recorder))
    else:
        made = ss.Strategy.mirrored(
            "sim", replicas=program.replicas, semantics=semantics, schedule=schedule, trace=recorder
        )
        run_program(function, made, recorder)
        made.close()
    recorder.close()
    return Path(file).read_bytes()


def wrong_in(program, folder):
    """Returns what is wrong with the recordings of a program, and what was computed again."""
    file = f"{folder}/recording.jsonl"
    schedule = Recorded(ShrinkableSchedule(program.draws)) if program.draws else InOrder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = recorded(program, file, schedule)
        found = ss.trace.read(file)
        computed = recompute(found)
        wrong = list(computed.different)
        if program.draws:
            again = recorded(program, file, Replayed(found.draws))
            if again != first:
                wrong.append("the run of the recorded draws has another recording")
    if not found.complete:
        wrong.append("the recording has no end")
    return wrong, computed


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    began = time.monotonic()
    equal, left, wrong = 0, Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        for program in different(f"recordings/{given.seed}", given.programs):
            problems, computed = wrong_in(program, folder)
            equal += computed.equal
            left.update(computed.left)
            wrong += [f"{program!r}: {one}" for one in problems]
    print(f"{given.programs} different programs, seed {given.seed}: {equal} synchronisation points equal to the bit")
    for reason, count in sorted(left.items()):
        print(f"  {count:>6} not computed: {reason}")
    print("\n".join(wrong[:10]) or f"none differs; {time.monotonic() - began:.0f} s of wall time")
    return 1 if wrong or not equal else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
