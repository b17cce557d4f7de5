"""The forms of a report: data, JUnit XML, Markdown, a page; each shows what hostile texts are, and stays valid."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

import simstrategy as ss
from simstrategy.check import Finding, Report, Row
from simstrategy.check.formats import as_json, as_junit, as_markdown, as_page, joined, report_of
from simstrategy.check.formats.markdown import BYTES_MAX
from simstrategy.check.remarks import Remark

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "testing_your_program.md"
HOSTILE = "a | b\n```\n<script>alert(1)</script> & ]]> \0 \x1b[2J \ud800 é ~~~ '\""
FORMS = (as_json, as_junit, as_markdown, as_page)


def row(problem=None, undecided=None, **fields):
    plain = Row("sim", "3 against 1", "InOrder()", False, True, 0.0, 0.0, 0, False, problem, law="replicas")
    return plain._replace(undecided=undecided, **fields)


def report(*rows, program="train.py", **settings):
    reference = row(replicas="1", law="repeat", reference=True, compared=0)
    return Report(program, [reference, *rows], **settings)


AGREES, DIFFERS = report(row()), report(row("w: 1.0 against 2.0\n  b: 1 against 2"))
UNDECIDED = report(row(undecided="w: too wide"))
NOTHING = report()
REMARK = Remark("uneven", "No step had parts of unequal sizes: …")


@pytest.mark.parametrize(
    ("one", "verdict", "failures", "errors"),
    [(AGREES, "agree", 0, 0), (DIFFERS, "differ", 1, 0), (UNDECIDED, "undecided", 0, 1), (NOTHING, "undecided", 0, 1)],
)
def test_every_form_has_the_verdict(one, verdict, failures, errors):
    data = json.loads(as_json(one))
    assert (data["verdict"], data["exit_code"]) == (verdict, {"agree": 0, "differ": 1, "undecided": 2}[verdict])
    suite = Xml.fromstring(as_junit(one)).find("testsuite")
    assert len([*suite.iter("failure")]) == int(suite.get("failures")) == failures
    assert len([*suite.iter("error")]) == int(suite.get("errors")) == errors
    assert len([*suite.iter("testcase")]) == int(suite.get("tests")) == len(one.rows) + 1
    last = str(one).splitlines()[-1]
    assert data["summary"] == last
    assert last in as_markdown(one)
    assert f'class="verdict {verdict}"' in as_page(one)
    assert last in as_page(one)


MANY = report(
    row(),
    row("w: 1.0 against 2.0", finding=Finding("replicas", "sim", "3 against 1", "InOrder()", "w: …", also=("a sum",))),
    row(undecided="w: too wide", why="too wide"),
    row(law="cut", compared=0, why="nothing to compare", not_compared=("the law of cut: give vary",)),
    row(exempt=("b: random",), not_finite="step 1: nan", distance=float("inf"), one_ulp=1e-7, events=3),
    not_tried=[REMARK],
    required=["uneven"],
    notes=["What a law found."],
)


@pytest.mark.parametrize("one", [AGREES, DIFFERS, UNDECIDED, NOTHING, MANY])
def test_a_report_comes_back_from_its_data(one):
    back = report_of(json.loads(as_json(one)))
    assert str(back) == str(one)
    assert as_json(back) == as_json(one)
    assert back.rows == tuple(
        row._replace(finding=found.finding) for row, found in zip(one.rows, back.rows, strict=True)
    )


def test_several_reports_are_one_with_the_worst_verdict_and_all_their_words():
    one = joined("train.py", {"a": MANY, "b": AGREES}, "Two are not compared.")
    assert one.verdict == MANY.verdict == "differ"
    assert [row.backend for row in one.rows] == ["a: sim"] * len(MANY.rows) + ["b: sim"] * len(AGREES.rows)
    assert [finding.backend for finding in one.findings] == ["a: sim"]
    text = str(one)
    assert "a: What a law found." in text
    assert "Two are not compared." in text
    assert one.not_tried == (Remark("uneven", f"a: {REMARK.text}"),)
    alone = report(row(), not_tried=[REMARK, Remark("backends", "One backend was run.")])
    assert [remark.word for remark in joined("train.py", {"a": alone, "b": AGREES}, "").not_tried] == ["uneven"]
    assert joined("train.py", {"a": UNDECIDED, "b": AGREES}, "").verdict == "undecided"
    assert joined("train.py", {"a": AGREES, "b": AGREES}, "").verdict == "agree"


def test_a_law_that_compared_nothing_is_skipped_and_does_not_agree_in_any_form():
    skipped = row(law="cut", compared=0, why="nothing to compare", not_compared=("the law of cut: give vary",))
    one = report(row(), skipped)
    assert one.verdict == "agree"
    assert [found["state"] for found in json.loads(as_json(one))["rows"]] == ["reference", "agrees", "skipped"]
    suite = Xml.fromstring(as_junit(one)).find("testsuite")
    (found,) = suite.iter("skipped")
    assert (found.get("message"), suite.get("skipped")) == ("the law of cut: give vary", "1")
    assert '<tr class="skipped">' in as_page(one)
    for form in (as_markdown, as_page):
        assert "not judged: nothing to compare" in form(one)
    assert report(skipped).verdict == "undecided"


def test_what_was_required_and_not_tried_is_an_error_in_every_form():
    one = report(row(), not_tried=[REMARK], required=["uneven"])
    assert json.loads(as_json(one))["not_tried"] == [{"word": "uneven", "text": REMARK.text, "required": True}]
    (error,) = Xml.fromstring(as_junit(one)).iter("error")
    assert "required, and not tried: No step had parts" in error.text
    assert "required, and not tried" in as_markdown(one)
    assert "required, and not tried" in as_page(one)


def test_the_failure_of_a_row_is_its_whole_text():
    (failure,) = Xml.fromstring(as_junit(DIFFERS)).iter("failure")
    assert failure.text == "w: 1.0 against 2.0\n  b: 1 against 2"
    assert failure.get("message") == "w: 1.0 against 2.0"


def test_rows_that_are_alike_have_names_of_their_own():
    names = [case.get("name") for case in Xml.fromstring(as_junit(report(row(), row()))).iter("testcase")]
    assert len(set(names)) == len(names) == 4


@pytest.mark.parametrize("form", FORMS)
def test_hostile_texts_are_shown_as_they_are_and_break_nothing(form):
    one = report(
        row(HOSTILE, law=HOSTILE, backend=HOSTILE),
        row(undecided=HOSTILE, schedule=HOSTILE, why=HOSTILE),
        row(not_compared=(HOSTILE,), exempt=(HOSTILE,), not_finite=HOSTILE),
        program=HOSTILE,
        not_tried=[Remark("uneven", HOSTILE)],
    )
    text = form(one)
    text.encode("utf-8")
    assert "\0" not in text
    assert "\x1b" not in text
    if form is as_json:
        assert json.loads(text)["findings"][0]["text"] == HOSTILE
    else:
        outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
        assert "<script" not in outside
        assert "alert(1)" in text


def test_a_table_of_markdown_has_as_many_cells_in_each_row():
    one = report(row(HOSTILE, law=HOSTILE), row(backend="x|y"))
    lines = [line for line in as_markdown(one).splitlines() if line.startswith("| ")]
    assert len(lines) == 5
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {7}


def test_a_fence_of_markdown_is_longer_than_any_in_the_text():
    text = as_markdown(report(row("before\n`````\nafter")))
    fences = [line for line in text.splitlines() if re.fullmatch(r"`+(text)?", line)]
    assert fences == ["``````text", "`````", "``````"]


@pytest.mark.parametrize("problem", ["x" * 3_000_000, "é\n" * 600_000, "`" * 2_000_000, "|" * 2_000_000])
def test_markdown_stays_below_its_limit(problem):
    text = as_markdown(report(*[row(problem)] * 3, *[row(law=problem[:5000])] * 700))
    assert len(text.encode("utf-8")) <= BYTES_MAX
    assert "and 204 more rows" in text
    assert "(cut here)" in text
    assert text.rstrip().endswith("```")


class Tags(HTMLParser):
    """Collects the tags and the addresses of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.addresses, self.open = set(), [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.addresses += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_page_is_well_formed_and_needs_no_network_and_no_script():
    page = as_page(report(row(HOSTILE), row(undecided="wide"), not_tried=[REMARK]))
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert tags.open == []
    assert tags.addresses == []
    assert {"html", "title", "table", "h1", "pre"} <= tags.tags
    assert not {"script", "link", "img", "iframe"} & tags.tags
    assert "http" not in page
    assert "@import" not in page
    assert "url(" not in page


def test_the_guide_lists_the_fields_of_the_data():
    finding = Finding("replicas", "sim", "3 against 1", "InOrder()", "w differs", kind="mean of means", step=2)
    one = report(row("w differs", finding=finding), not_tried=[REMARK])
    data = json.loads(as_json(one))
    assert (data["findings"][0]["kind"], data["findings"][0]["step"], data["findings"][0]["site"]) == (
        "mean of means",
        2,
        None,
    )
    found = set(data)
    for name in ("rows", "findings", "not_tried"):
        found |= {f"{name}[].{key}" for key in data[name][0]}
    table = GUIDE.read_text(encoding="utf-8").partition("Fields of `--json`")[2]
    listed = re.findall(r"`([a-z_\[\].]+)`", "".join(re.findall(r"^\|([^|]+)\|", table, re.MULTILINE)))
    assert sorted(found) == sorted(listed)
    assert data["version"] == 1


def test_numbers_that_json_lacks_are_texts():
    data = json.loads(as_json(report(row(distance=float("inf"), one_ulp=float("nan")))), parse_constant=pytest.fail)
    assert (data["rows"][1]["distance"], data["rows"][1]["one_ulp"]) == ("inf", "nan")


def test_the_forms_of_a_real_check_agree_with_it():
    def program(strategy):
        return strategy.reduce("SUM", strategy.run(lambda: strategy.xp.ones(())), axis=None)

    one = ss.check(program, replicas=[1, 2])
    data = json.loads(as_json(one))
    assert [finding["text"] for finding in data["findings"]] == [finding.text for finding in one.findings]
    assert data["text"] == str(one)
