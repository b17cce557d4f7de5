"""Generated programs: their recordings are computed again from the file, and the recorded draws give the same file."""

import sys
from pathlib import Path

from hypothesis import given, seed

from simstrategy_conformance.checking import options
from simstrategy_conformance.generate import programs
from simstrategy_conformance.profiles import PROFILES
from simstrategy_conformance.subject import Subject

sys.path.insert(0, str(Path(__file__).parents[2] / "ci" / "campaigns"))

from recordings import wrong_in


def test_every_point_of_generated_programs_is_computed_again_from_the_file(tmp_path):
    subject = Subject("sim", profile=PROFILES["default"]._replace(examples=40))
    found = []

    def judged(program):
        wrong, computed = wrong_in(program, tmp_path)
        assert wrong == []
        found.append(computed.equal)

    options(subject)(seed(0)(given(programs(subject))(judged)))()
    assert len(found) >= 40
    assert sum(found) > 100
