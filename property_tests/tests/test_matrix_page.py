"""The page of many reports and the badge of one: what they show, that they are well-formed, and escaped."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from kit_reports import KNOWN, OUTCOMES, REASON, document, failed, note
from typer.testing import CliRunner

from simstrategy.cli.app import app_for
from simstrategy.errors import InvalidArgument
from simstrategy_conformance.exceptions import Excepted
from simstrategy_conformance.matrix.badge import badge_text, summary
from simstrategy_conformance.matrix.columns import column_of
from simstrategy_conformance.matrix.made import badge_of_files, page_of_files
from simstrategy_conformance.matrix.page import page_text
from simstrategy_conformance.reports import Outcome

HOSTILE = "</pre></script><script>alert(1)</script>\"'&\x00\x07\ud800<img src=x onerror=alert(2)>"
VOID = {"meta", "wbr"}


class Read(HTMLParser):
    """A page: its elements, the rows of its tables as texts, and whether every element is closed."""

    def __init__(self, text):
        HTMLParser.__init__(self)
        self.open, self.names, self.attributes, self.rows = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes.append((tag, dict(attrs)))
        self.open += [] if tag in VOID else [tag]
        self.rows += [[]] if tag == "tr" else []
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag in ("summary", "small", "p") and {"td", "th"} & set(self.open):
            self.rows[-1][-1] += "\n"

    def handle_data(self, data):
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data


def conform(*arguments):
    """Calls the command in this process."""
    return CliRunner().invoke(app_for(["conform"]), ["conform", *arguments], env={"COLUMNS": "200"})


def page(*documents, **options):
    return page_text([column_of(one) for one in documents], **options)


def test_a_small_page_has_a_column_for_each_report_and_a_row_for_each_clause():
    other = document("other", outcomes=(*OUTCOMES, failed()), exceptions=())
    found = Read(page(document(), other))
    head, *rows = found.rows
    assert head[0] == "Clause"
    assert head[1].splitlines() == ["acme1 of 4B-9 excepted", "K-1 skipped", "R-2 not run"]
    assert head[2].splitlines() == ["other✗ 1 of 4R-2 failed", "B-9 excepted", "K-1 skipped"]
    shown = {row[0].split()[0]: [one.partition("\n")[0] for one in row[1:]] for row in rows}
    assert shown["Device"] == [""]
    assert shown["B-8"] == ["✓ passed", "✓ passed"]
    assert shown["B-9"] == ["! excepted", "! excepted"]
    assert shown["K-1"] == ["– skipped", "– skipped"]
    assert shown["R-2"] == ["○ not run", "✗ failed"]
    cells = {row[0].split()[0]: row[1:] for row in rows}
    assert "3 tests, 27 examples" in cells["B-8"][0]
    assert (
        "exception (never) of test_bound: The processor flushes <subnormals>. https://example.org/1" in cells["B-9"][0]
    )
    assert "simstrategy conform other --profile quick --seed 0 --clauses R-2" in cells["R-2"][1]
    assert "test_axis failed: assert 1 == 2" in cells["R-2"][1]
    assert "test_workers skipped: one process" in cells["K-1"][0]
    assert "not run: test_axis" in cells["R-2"][0]


def test_a_page_has_no_script_and_nothing_from_outside():
    text = page(document(), law={"B-8": "The sum of `x`."})
    found = Read(text)
    assert not {"script", "img", "link", "iframe", "form", "object", "base"} & set(found.names)
    assert "default-src 'none'" in text
    assert not [one for one in found.attributes if set(one[1]) & {"src", "srcset", "style"}]
    assert not re.search(r"\bon\w+=|url\(|@import", text)
    assert {one["href"] for tag, one in found.attributes if tag == "a"} == {"#B-8", "#run-1", "https://example.org/1"}


def test_every_text_of_a_report_is_escaped():
    hostile = document(
        HOSTILE,
        outcomes=(*OUTCOMES, failed(f"E   {HOSTILE}\nE   {HOSTILE}", name=f"test_axis[{HOSTILE}]")),
        notes=(note(HOSTILE), note(HOSTILE, HOSTILE)),
        wrong=(HOSTILE,),
        repeat=HOSTILE,
        versions={HOSTILE: HOSTILE},
    )
    hostile["clauses"][0] |= {"title": HOSTILE, "repeat": HOSTILE, "not_run": [HOSTILE]}
    hostile["exceptions"][0] |= {"reason": HOSTILE, "link": f"https://x.org/{HOSTILE}"}
    text = page(hostile, document(HOSTILE, law="0" * 12), law={"B-8": f"`{HOSTILE}` {HOSTILE}"})
    found = Read(text)
    assert not {"script", "img"} & set(found.names)
    assert not [one for one in found.attributes if any(name.startswith("on") for name in one[1])]
    assert "\x00" not in text
    text.encode("utf-8")
    badge = badge_text(column_of(hostile))
    Xml.fromstring(badge)
    assert "<script" not in badge


def test_an_address_that_is_none_of_the_web_is_no_link():
    one = document()
    one["exceptions"][0]["link"] = "javascript:alert(1)"
    found = Read(page(one))
    assert not [tag for tag, given in found.attributes if tag == "a" and given["href"].startswith("javascript")]


def test_what_is_alike_stands_once_and_what_differs_at_the_head():
    one, other = document("one"), document("other", profile="deep")
    other["versions"] |= {"torch": "2.13.0"}
    head, *_ = Read(page(one, other)).rows
    assert "profile quick" in head[1]
    assert "profile deep" in head[2]
    assert "torch 2.13.0" in head[2]
    assert "seed 0" not in head[2]


def test_reports_of_different_laws_are_marked():
    older = document("older", known={name: tests for name, tests in KNOWN.items() if name != "R-2"})
    text = page(document("one"), older)
    head, *rows = Read(text).rows
    assert "Different laws." in text
    assert "other law" in head[2]
    assert "other law" not in head[1]
    assert next(row for row in rows if row[0].startswith("R-2"))[2] == "not in its law"
    assert "Different laws." not in page(document("one"), document("two"))


def test_backends_of_torch_have_a_table_of_their_own():
    text = page(document("sim"), document("c10d:gloo"))
    assert Read(text).names.count("table") == 2
    assert Read(page(document("sim"))).names.count("table") == 1


def test_a_clause_of_which_some_tests_ran_is_in_part_and_does_not_count():
    column = column_of(document(outcomes=OUTCOMES[:2], exceptions=()))
    assert summary(column) == "0 of 4 clauses, B-9 excepted, K-1 R-2 not run, B-8 in part"
    assert "✓ passed, in part" in page_text([column])


def test_a_badge_states_how_many_clauses_passed_and_names_the_others():
    column = column_of(document())
    assert summary(column) == "1 of 4 clauses, B-9 excepted, K-1 skipped, R-2 not run"
    root = Xml.fromstring(badge_text(column))
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["simstrategy conformance", summary(column)]
    title = root.find("{http://www.w3.org/2000/svg}title").text
    assert title.startswith(f"acme: {summary(column)}; profile quick, seed 0, simstrategy-conformance ")


@pytest.mark.parametrize(
    ("outcomes", "wrong", "colour"),
    [
        ((), (), "#7a5200"),
        (OUTCOMES, (), "#7a5200"),
        ((*OUTCOMES, failed()), (), "#b3261e"),
        (OUTCOMES[1:3] + OUTCOMES[4:], ("B-9 is excepted and passes",), "#b3261e"),
    ],
)
def test_a_badge_is_red_only_where_a_backend_does_not_conform(outcomes, wrong, colour):
    text = badge_text(column_of(document(outcomes=outcomes, exceptions=(), wrong=wrong)))
    assert colour in text


def test_a_badge_is_green_where_every_clause_passed():
    known = {"B-8": KNOWN["B-8"]}
    found = column_of(document(outcomes=(OUTCOMES[1], OUTCOMES[4]), exceptions=(), known=known))
    assert summary(found) == "1 of 1 clauses"
    assert "#1b6e2e" in badge_text(found)


def test_a_badge_is_green_where_clusters_alone_were_skipped_and_states_that():
    known = {one: KNOWN[one] for one in ("B-8", "K-1")}
    found = column_of(document(outcomes=OUTCOMES[1:], exceptions=(), known=known))
    assert summary(found) == "1 of 2 clauses, K-1 skipped"
    assert "#1b6e2e" in badge_text(found)
    other = Outcome("test_axis", ("R-2",), "skipped", 1, 0.1, "no axis")
    known["R-2"] = KNOWN["R-2"]
    found = column_of(document(outcomes=(*OUTCOMES[1:], other), exceptions=(), known=known))
    assert summary(found) == "1 of 3 clauses, K-1 R-2 skipped"
    assert "#7a5200" in badge_text(found)


def test_a_long_failure_is_cut_and_the_lines_of_pytest_are_kept():
    text = "\n".join([*("def helper(): ..." for _ in range(100)), *(f"E   line {number}" for number in range(100))])
    column = column_of(document(outcomes=(failed(text),), exceptions=()))
    (reason,) = column.cells["R-2"].reasons
    assert reason.text.splitlines() == [f"line {number}" for number in range(12)]
    column = column_of(document(outcomes=(failed("x" * 9999),), exceptions=()))
    assert len(column.cells["R-2"].reasons[0].text) < 1100


def test_one_examination_is_one_column(tmp_path):
    files = [tmp_path / name for name in ("a.json", "b.json", "c.json")]
    for file, one in zip(files, (document(), document(), document(versions={"torch": "2.3"})), strict=True):
        file.write_text(json.dumps(one))
    with pytest.raises(InvalidArgument, match=r"a\.json and .*b\.json are reports of the same examination of acme"):
        page_of_files(files)
    assert page_of_files([files[0], files[2]]).count("<h3>") == 2
    with pytest.raises(InvalidArgument, match="of one report, and 2 are given"):
        badge_of_files(files[:2])
    assert "1 of 4 clauses" in badge_of_files(files[:1])


def test_the_command_writes_both_files_and_refuses_what_it_cannot_use(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.json").write_text(json.dumps(document()))
    Path("b.json").write_text(json.dumps(document("other")))
    done = conform("--matrix", "a.json", "b.json", "--html", "m.html")
    assert (done.exit_code, Path("m.html").read_text("utf-8").count("<h3>")) == (0, 2)
    assert conform("--matrix", "a.json", "--badge", "m.svg").exit_code == 0
    assert "1 of 4 clauses" in Path("m.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--matrix", "none.json", "--html", "m.html"], "none.json cannot be read: No such file"),
        (["--matrix", "a.json"], "--matrix writes nothing without --html FILE or --badge FILE"),
        (["--matrix", "a.json", "--html", "none/m.html"], "there is no folder 'none'"),
        (["--matrix", "a.json", "--html", "m.html", "--json", "r.json"], "--json examines a backend"),
        (["--matrix", "a.json", "--html", "m.html", "--clauses", "B-8"], "--clauses examines a backend"),
        (["--matrix", "a.json", "--html", "m.html", "--profile", "deep"], "--profile examines a backend"),
        (["--matrix", "a.json", "--badge", "m.svg", "--law", "a.json"], "--law is of the page: add --html"),
        (["--matrix", "a.json", "b.json", "--html", "m.html", "--badge", "m.svg"], "A badge is that of one report"),
        (["--matrix", "a.json", "--html", "m.html", "--law", "a.json"], "a.json has no clause"),
        (["sim", "--html", "m.html"], "--html is of reports: add --matrix"),
        (["sim", "--badge", "m.svg"], "--badge is of reports: add --matrix"),
        (["sim", "--on", "ray", "--jobs", "2"], "--jobs is of this machine"),
        (["sim", "--on", "ray", "--limit-s", "2"], "--limit-s is of this machine"),
        (["sim", "template"], "2 names: one backend is examined at a time"),
    ],
)
def test_what_the_command_cannot_use_ends_with_2_and_writes_nothing(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        Path(f"{name}.json").write_text(json.dumps(document(name)))
    done = conform(*arguments)
    assert done.exit_code == 2
    assert words in " ".join(re.sub(r"[│╭╰─╮╯]", " ", done.output).split())
    assert {one.name for one in tmp_path.iterdir()} == {"a.json", "b.json"}


def test_an_exception_stands_at_the_clauses_of_its_tests_and_at_no_other():
    shared = Outcome("test_both", ("B-9", "R-2"), "excepted", 1, 0.1, "")
    other = Excepted("R-2", "missing", "Not yet.", "", "")
    outcomes = (*OUTCOMES, shared)
    cells = column_of(document(outcomes=outcomes, exceptions=(REASON, other))).cells
    assert [one.text for one in cells["B-9"].reasons] == ["The processor flushes <subnormals>.", "Not yet."]
    assert [one.text for one in cells["R-2"].reasons if one.what != "not run"] == ["Not yet."]
    assert cells["B-8"].reasons == ()
