"""Declared costs change no value, error or order: every program of tests/programs, on several numbers of replicas."""

import sys
import warnings
from pathlib import Path

import pytest

import simstrategy as ss
from simstrategy.check.outcome import program_folder, run_program

sys.path.insert(0, str(Path(__file__).parents[1] / "programs"))

from every_program import EVERY

COST = ss.sim.Cost(compute_s=0.01, row_s=0.001, alpha_s=1e-5, beta_s_per_byte=1e-9, slow={1: 4.0})
AGAIN_EVERY = 20


def recorded(program, replicas):
    recorder = ss.trace.Recorder(root=program_folder(program))
    strategy = ss.Strategy.mirrored(ss.backend("sim", replicas=replicas), trace=recorder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_program(program, strategy, recorder)
    recorder.close()
    return recorder.recording()


def facts(recording):
    """Returns digests of all values, the errors, and the order of a recording."""

    def digests(rows):
        return [[value.digest for value in row] for row in rows]

    points = [
        (one.number, one.kind, one.replicas, one.error, digests(one.inputs + one.outputs)) for one in recording.points
    ]
    writes = [(one.number, one.variable, digests([one.before, one.after])) for one in recording.writes]
    results = [(one.error, [(path, value.digest) for path, value in one.leaves]) for one in recording.results]
    return points, writes, results, recording.draws, recording.parts


@pytest.mark.slow
def test_recordings_of_five_hundred_programs_are_as_they_were_and_so_are_their_runs():
    count = 0
    for replicas in (2, 3, 4):
        for name, program in EVERY.items():
            recording = recorded(program, replicas)
            before = facts(recording)
            times = ss.sim.timeline(recording, COST)
            assert times.end_s >= 0
            assert facts(recording) == before, name
            if count % AGAIN_EVERY == 0:
                assert facts(recorded(program, replicas)) == before, name
            count += 1
    assert count >= 500
