"""The campaign of generated programs of other libraries: the same programs each time, and a fault that is named."""

import argparse
import ast
import importlib
import sys
from pathlib import Path

import pytest

import ci.campaigns.upstream.__main__ as campaigns
from ci.campaigns.upstream.__main__ import LIBRARIES, Evidence, Known
from ci.campaigns.upstream.judging import AGREES, DIFFERS, NOT_JUDGED, RAISES, Judge, Verdict
from ci.campaigns.upstream.programs import Program, drawn, file_of
from simstrategy.check.outcome import Outcome

ROOT = Path(__file__).parents[2]
RIGHT = "full = torch.rand(4, 2, generator=drawn(1))\nreturn whole(distribute_tensor(full, MESH, [Shard(0)]) * 2)"
WRONG = "return torch.tensor(float(dist.get_world_size()))"
ALONE = "if dist.get_rank() == 1:\n    raise ValueError('on one rank')\ndist.all_reduce(torch.ones(2))"
NOTHING = "return []"


def library(name):
    return importlib.import_module(f"ci.campaigns.upstream.of_{name}").LIBRARY


@pytest.mark.parametrize("name", LIBRARIES)
def test_programs_are_python_and_the_same_each_time(name):
    programs = drawn(library(name), 1, 0, 60)
    assert programs == drawn(library(name), 1, 0, 60)
    assert programs[40:] == drawn(library(name), 1, 40, 20)
    assert len({program.title for program in programs}) > 40
    tree = ast.parse(file_of(library(name), programs))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {program.name for program in programs} <= functions


def test_another_seed_gives_other_programs():
    assert drawn(library("dtensor"), 1, 0, 5) != drawn(library("dtensor"), 2, 0, 5)


@pytest.mark.parametrize("library_name", LIBRARIES)
def test_every_known_entry_has_a_reason_or_a_finding(library_name):
    pages = "".join(page.read_text("utf-8") for page in (ROOT / "docs" / "upstream").glob("*.md"))
    for entry in Known().entries:
        assert entry["library"] in LIBRARIES
        assert entry.get("reason") or f"## {entry['name']}\n" in pages, entry["name"]


def test_a_run_that_is_missing_is_no_agreement(monkeypatch):
    judge = Judge(library("dtensor")._replace(replicas=(1, 2)), sys.executable)
    monkeypatch.setattr(judge, "_outcomes", lambda programs: [Outcome((), None, ())])
    programs = drawn(library("dtensor"), 1, 0, 3)
    assert [verdict.kind for verdict in judge.together(programs).values()] == [RAISES] * 3


class Made:
    """A judge whose programs differ in a plain run by their number; alone, the third agrees, and the others do not."""

    def __init__(self):
        self.library, self.calls = library("dtensor"), []

    def together(self, programs):
        kinds = {"p00000": AGREES, "p00003": RAISES}
        self.calls.append(f"{len(programs)} programs")
        return {one.name: Verdict(kinds.get(one.name, DIFFERS), f"text of {one.name}") for one in programs}

    def alone(self, program, seen):
        self.calls.append(program.name)
        return Verdict(AGREES if program.name == "p00002" else seen.kind, f"alone, {program.name}")


def test_what_is_kept_is_not_run_again_and_what_known_does_not_name_is_new(monkeypatch, tmp_path):
    judge, known = Made(), Known()
    known.entries = [{"library": "dtensor", "name": "a known one", "pattern": "text of p0000[34]"}]
    monkeypatch.setattr(campaigns, "Judge", lambda *given: judge)
    options = argparse.Namespace(programs=5, seed=1, batch=3, jobs=2, kept=tmp_path)
    for _ in range(2):
        evidence = Evidence()
        campaigns.campaign("dtensor", sys.executable, known, options, evidence)
        first, *lines = evidence.lines
        assert "5 programs, 2 agree" in first
        assert "      2 known: a known one" in lines
        assert [line for line in lines if line.startswith("FAILED, new: p00001")]
        assert not any("p00002" in line for line in lines)
    assert sorted(judge.calls) == ["2 programs", "3 programs", "p00001", "p00002", "p00003"]
    monkeypatch.setattr(campaigns, "_judging_code", lambda: "another one")
    campaigns.campaign("dtensor", sys.executable, known, options, Evidence())
    assert sorted(judge.calls[5:]) == ["p00001", "p00002", "p00003"]


@pytest.mark.slow
@pytest.mark.deep
def test_a_program_that_agrees_one_that_differs_and_one_that_raises_on_one_rank():
    of = library("dtensor")._replace(replicas=(1, 2))
    bodies = {"p00001": RIGHT, "p00002": WRONG, "p00003": ALONE, "p00004": RIGHT, "p00005": NOTHING}
    programs = [Program(name, name, name, body) for name, body in bodies.items()]
    judge = Judge(of, sys.executable)
    found = judge.together(programs)
    assert {name: verdict.kind for name, verdict in found.items()} == {
        "p00001": AGREES,
        "p00002": DIFFERS,
        "p00003": RAISES,
        "p00004": AGREES,
        "p00005": NOT_JUDGED,
    }
    assert "2.0 against 1.0" in found["p00002"].text
    checked = judge.alone(programs[1], found["p00002"])
    assert checked.kind == DIFFERS
    assert "observed['p00002'][0]: 2.0 against 1.0" in checked.text
    assert judge.alone(programs[0], found["p00001"]).kind == AGREES
