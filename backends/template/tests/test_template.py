"""The template passes the conformance kit, and the guide that goes through it shows its very lines."""

import re
from pathlib import Path

import numpy as np
import pytest
from shares import one_in

pytest.importorskip("simstrategy_conformance")

import simstrategy_template
from simstrategy.device import completed
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy_conformance.index import entries, failure_of
from simstrategy_conformance.profiles import Profile
from simstrategy_conformance.subject import Subject

ENTRIES = {entry.name: entry for entry in entries()}
PROFILE = Profile("template", examples=6, replicas_max=4)
SOURCE = Path(simstrategy_template.__file__)
GUIDE = Path(__file__).resolve().parents[3] / "docs" / "writing_a_backend.md"


@pytest.mark.parametrize("name", one_in(2, ENTRIES))
def test_the_template_passes(name):
    subject = Subject("template", open_backend=simstrategy_template.open_template, profile=PROFILE)
    failure = failure_of(ENTRIES[name], subject)
    subject.close()
    if failure is not None:
        raise failure


def test_the_guide_shows_the_whole_template_and_nothing_else():
    blocks = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    shown = [line for block in blocks for line in block.splitlines() if line]
    written = [line for line in SOURCE.read_text(encoding="utf-8").splitlines() if line]
    assert shown == written


@pytest.fixture(scope="module")
def short():
    (block,) = re.findall(r"^```py\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names = {"__name__": "my_backend"}
    exec(compile(block, "my_backend.py", "exec"), names)
    return block, names["MyBackend"]


def test_the_guides_short_backend_has_sixty_seven_lines_at_most(short):
    assert sum(bool(line.strip()) for line in short[0].splitlines()) <= 67


@pytest.mark.slow
def test_the_guides_short_backend_passes(short):
    subject = Subject("mine", open_backend=short[1], profile=PROFILE._replace(examples=2, rows_max=16))
    failed = {name: failure_of(entry, subject) for name, entry in ENTRIES.items()}
    subject.close()
    assert {name: error for name, error in failed.items() if error is not None} == {}


def test_the_template_is_small():
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 175


@pytest.mark.parametrize("replicas", [0, -1, True, 1.5])
def test_an_impossible_number_of_replicas_is_refused(replicas):
    with pytest.raises(InvalidArgument, match="at least 1"):
        simstrategy_template.open_template(replicas=replicas)


def test_a_misspelt_attribute_in_a_function_is_no_mistake_of_the_caller():
    xp = completed({"sqrt": lambda x: x.no_such_attribute, "astype": lambda x, dtype: x.astype(dtype)}, lambda x: None)
    with pytest.raises(AttributeError, match="no_such_attribute"):
        xp.sqrt(np.ones(2, "float32"))
    with pytest.raises(InvalidType, match="neither an array nor a number"):
        xp.sqrt("two")
