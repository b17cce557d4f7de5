"""Records generated programs; computes each synchronisation point again from the file alone, and its virtual time.

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
from simstrategy.sim import ORDERS, Cost, timeline
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


def wrong_times(recording, before):
    """Yields what is wrong with the virtual times of a recording.  before: the bytes of its file."""
    for algorithm in ORDERS:
        cost = Cost(compute_s=1.0, row_s=0.25, alpha_s=0.5, beta_s_per_byte=0.125, slow={1: 3.0}, algorithm=algorithm)
        found = timeline(recording, cost)
        ends = {}
        for span in found.spans:
            if span.begin_s < ends.get(span.rank, 0.0) or span.end_s <= span.begin_s:
                yield f"{algorithm}: {span} overlaps what replica {span.rank} did before"
            ends[span.rank] = span.end_s
        waits = {(one.rank, one.point): one.end_s - one.begin_s for one in found.spans if one.does == "wait"}
        for number, one in found.points.items():
            takes = 0.0 if one.call is None else cost.seconds(one.call, one.devices, one.size, algorithm)
            if one.end_s != one.begin_s + takes or one.begin_s != max(one.arrived_s.values(), default=one.begin_s):
                yield f"{algorithm}: point {number} takes {one.end_s - one.begin_s} s, and its formula {takes} s"
            for rank, arrived in one.arrived_s.items():
                if number == one.together[0] and waits.get((rank, number), 0.0) != one.begin_s - arrived:
                    yield f"{algorithm}: replica {rank} waits {waits.get((rank, number))} s at point {number}"
        if timeline(recording, Cost()).spans:
            yield "without costs, time passes"
    if before != timeless(recording):
        yield "the recording is another one after its times were computed"


def timeless(recording):
    """Returns all that a recording has of values, errors and order, as text."""
    return repr([*recording.points, *recording.writes, *recording.parts, *recording.draws, *recording.results])


def wrong_in(program, folder):
    """Returns what is wrong with the recordings of a program, and what was computed again."""
    file = f"{folder}/recording.jsonl"
    schedule = Recorded(ShrinkableSchedule(program.draws)) if program.draws else InOrder()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = recorded(program, file, schedule)
        found = ss.trace.read(file)
        computed = recompute(found)
        wrong = [*computed.different, *wrong_times(found, timeless(ss.trace.read(file)))]
        if not program.draws and recorded(program, file, InOrder()) != first:
            wrong.append("a run after times were computed has another recording")
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
    print("  the times of all of them follow from their formulas, and no recording is changed by them" * (not wrong))
    for reason, count in sorted(left.items()):
        print(f"  {count:>6} not computed: {reason}")
    print("\n".join(wrong[:10]) or f"none differs; {time.monotonic() - began:.0f} s of wall time")
    return 1 if wrong or not equal else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
