"""Reports as files: what the kit writes is as its schema describes, and what is no report is refused with a reason."""

import json
from pathlib import Path

import pytest
from kit_reports import KNOWN, OUTCOMES, REASON, document, failed

import simstrategy_conformance
from simstrategy.errors import InvalidArgument
from simstrategy_conformance.examined import command_of, law_of, versions_of
from simstrategy_conformance.index import by_clause
from simstrategy_conformance.matrix.files import read_report
from simstrategy_conformance.matrix.law import read_law
from simstrategy_conformance.matrix.schema import unlike
from simstrategy_conformance.reports import Outcome, Report, table_lines
from simstrategy_conformance.titles import HEADINGS, TITLES

ROOT = Path(simstrategy_conformance.__file__).parent
SCHEMA = json.loads((ROOT / "report.schema.json").read_text("utf-8"))
PAGES = [ROOT.parents[1] / "docs" / name for name in ("semantics.md", "c10d.md")]


def read(tmp_path, found):
    file = tmp_path / "r.json"
    file.write_text(found if isinstance(found, str) else json.dumps(found), "utf-8")
    return read_report(file)


def test_a_report_is_as_its_schema_describes_it_and_is_read_as_it_was_written(tmp_path):
    written = document(outcomes=(*OUTCOMES, failed()), notes=())
    assert unlike(written, SCHEMA) is None
    assert read(tmp_path, written) == written


def test_a_report_has_every_clause_of_the_kit_and_what_did_not_run():
    found = {one["clause"]: one for one in document()["clauses"]}
    verdicts = {name: one["verdict"] for name, one in found.items()}
    assert verdicts == {"B-8": "passed", "B-9": "excepted", "K-1": "skipped", "R-2": "not run"}
    assert found["R-2"]["not_run"] == ["test_axis"]
    assert found["K-1"]["tests"][0]["reason"] == "one process"
    (only,) = [one for one in document(outcomes=OUTCOMES[1:2])["clauses"] if one["clause"] == "B-8"]
    assert (only["verdict"], only["not_run"]) == ("passed", ["test_wrap"])


@pytest.mark.parametrize(
    ("tests", "words"),
    [
        (("sum", "wrap", "bound", "workers", "axis"), "conforms."),
        (("sum", "wrap", "axis"), "conforms in 2 of 4 clauses; the others were not examined."),
        (("sum", "axis"), "conforms in 1 of 4 clauses; 1 was examined in part, the others were not examined."),
    ],
)
def test_a_clause_counts_as_examined_where_all_its_tests_ran(tests, words):
    of = {test: clause for clause, known in KNOWN.items() for test in known}
    outcomes = tuple(Outcome(f"test_{one}", (of[f"test_{one}"],), "passed", 1, 0.0, "") for one in tests)
    report = Report("acme", "quick", 0, outcomes, (), (), {}, known=KNOWN)
    assert table_lines(report)[-1] == f"acme {words}"


def test_the_last_line_names_exceptions_and_those_of_other_clauses_are_not_listed():
    every = [one for one in KNOWN if one != "R-2"]
    whole = Report("acme", "quick", 0, OUTCOMES, (REASON,), (), {}, known={one: KNOWN[one] for one in every})
    alone = Report("acme", "quick", 0, OUTCOMES[1:], (REASON,), (), {}, known=KNOWN)
    assert table_lines(whole)[-1] == "acme conforms, with exceptions in B-9."
    assert any(line.startswith("excepted: B-9") for line in table_lines(whole))
    assert not any("B-9" in line for line in table_lines(alone))


def test_a_report_with_failures_names_the_exceptions_that_were_not_applied():
    others = "conformance.toml: B-8 for acne alone. This is acme, profile quick."
    report = Report("acme", "quick", 0, OUTCOMES, (REASON,), (), {}, known=KNOWN, left_out=others)
    broken = report._replace(outcomes=(*OUTCOMES, failed()))
    assert table_lines(broken)[-2] == f"exceptions not applied: {others}"
    assert not any("not applied" in line for line in table_lines(report))


def test_the_command_of_a_cell_is_one_of_a_shell():
    assert command_of("a b:c", "deep", -1, exceptions="x y.toml", clause="B-8") == (
        "simstrategy conform 'a b:c' --profile deep --seed -1 --exceptions 'x y.toml' --clauses B-8"
    )


def test_a_law_changes_with_a_clause_and_with_a_test_and_not_with_their_order():
    law = law_of(KNOWN)
    assert law == law_of({name: tests[::-1] for name, tests in reversed(KNOWN.items())})
    assert len({law, law_of({**KNOWN, "B-9": ("test_other",)}), law_of({**KNOWN, "B-10": ("test_bound",)})}) == 3


def test_versions_name_what_a_backend_is_made_of():
    assert {"python", "simstrategy", "numpy"} <= set(versions_of("nobody_has_this"))
    assert "numpy" in versions_of("numpy.linalg:norm")
    assert "simstrategy-template" in versions_of("template")


@pytest.mark.parametrize("backend", ["sim", "c10d:gloo"])
def test_every_clause_that_the_kit_examines_has_a_title_and_a_text(backend):
    law = {name for page in PAGES for name in read_law(page)}
    clauses = set(by_clause(backend))
    assert clauses <= set(TITLES)
    assert clauses <= law
    assert {name[0] for name in clauses} <= set(HEADINGS)
    assert max(map(len, TITLES.values())) <= 48


def test_there_is_no_title_without_a_clause():
    assert set(TITLES) == {*by_clause("sim"), *by_clause("c10d:gloo")}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ("{", "is no JSON"),
        ("\x00", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[]", "no report of the conformance kit"),
        ({"format": "simstrategy-check", "version": 2}, "no report of the conformance kit"),
        (document(version=1), "version 1, and this kit reads version 2. Write one"),
        (document(version=3), "version 3, and this kit reads version 2. Install the kit that wrote it"),
        (document(version=True), "a report of version True"),
        (document(version="2"), "a report of version '2'"),
        ({key: value for key, value in document().items() if key != "law"}, "the document has no law"),
        (document(seed="0"), "seed is no integer: '0'"),
        (document(seed=True), "seed is no integer: True"),
        (document(more=1), "'more' is not in the format"),
        (document(profile="huge"), "profile is 'huge', none of quick, default, deep"),
        (document(law="x"), "law is 'x', which does not match"),
        (document(clauses=[{}]), r"clauses\[0\] has no clause"),
        (document(versions={"python": 3}), "versions.python is no string: 3"),
    ],
)
def test_what_is_no_report_is_refused_with_the_file_and_a_reason(tmp_path, found, words):
    with pytest.raises(InvalidArgument, match=rf"r\.json .*{words}"):
        read(tmp_path, found)


def test_a_file_that_is_not_there_and_one_of_bytes_are_refused(tmp_path):
    with pytest.raises(InvalidArgument, match=r"none\.json cannot be read: No such file"):
        read_report(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidArgument, match="is no JSON"):
        read_report(tmp_path / "bytes.json")
    with pytest.raises(InvalidArgument, match="cannot be read"):
        read_report(tmp_path)


def test_a_page_without_clauses_is_no_law(tmp_path):
    (tmp_path / "page.md").write_text("**B-8**without a space\n")
    with pytest.raises(InvalidArgument, match="has no clause"):
        read_law(tmp_path / "page.md")
    with pytest.raises(InvalidArgument, match="cannot be read"):
        read_law(tmp_path / "none.md")
