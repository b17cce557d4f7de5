"""The programs of docs/jax.md end as the guide shows.

Clauses: J-65, J-117.
"""

import re
from pathlib import Path

import pytest
from shares import DEEP, one_in

import simstrategy as ss
from simstrategy.check.programs import load_program

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "jax.md"
SCRIPT, FIRST, ALONE, AXES, KERAS, EXEMPT = range(6)
OF_SCRIPT, OF_FIRST = range(2)
"""The texts of the guide."""


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def checked(tmp_path, text, replicas=(1, 2), arguments=()):
    file = tmp_path / "train.py"
    file.write_text(text)
    return ss.check(load_program(file, arguments=arguments), replicas=replicas)


def require_shown(report, number):
    """Requires what a text of the guide shows in a report."""
    text = " ".join(str(report).split())
    parts = [" ".join(part.split()) for part in re.split("…", blocks("text")[number])]
    assert all(part in text for part in parts), str(report)


@pytest.mark.slow
def test_the_script_of_the_guide_is_reported_as_it_shows(tmp_path):
    report = checked(tmp_path, blocks("python")[SCRIPT], (1, 2, 3), ["--batch", "12"])
    require_shown(report, OF_SCRIPT)


@pytest.mark.slow
def test_the_first_program_of_the_guide_is_reported_as_it_shows(tmp_path):
    require_shown(checked(tmp_path, blocks("python")[FIRST]), OF_FIRST)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("out_specs=(P(), P()))", "out_specs=(P(), P()), check_vma=False)", marks=DEEP),
        ('jax.lax.pmean(gradient, "data")', 'gradient / jax.lax.axis_size("data")'),
    ],
)
def test_both_ways_to_correct_the_first_program_agree(tmp_path, old, new):
    text = blocks("python")[FIRST]
    assert text.count(old) == 1
    assert checked(tmp_path, text.replace(old, new)).agrees


def test_the_guide_shows_how_the_first_program_runs_alone(tmp_path):
    text = blocks("python")[ALONE]
    assert text.startswith('if __name__ == "__main__":')
    compile(blocks("python")[FIRST] + text, "train.py", "exec")


@pytest.mark.slow
@pytest.mark.parametrize("number", one_in(1, [AXES, KERAS, EXEMPT], deep=[KERAS]))
def test_the_other_programs_of_the_guide_agree(tmp_path, number):
    report = checked(tmp_path, blocks("python")[number])
    assert report.agrees, str(report)
    assert any(row.exempt for row in report.rows) == (number == EXEMPT)
