"""The report as text, as problems and as an exception.

Clauses: J-115.
"""

import pytest

from simstrategy.check import Finding, Report, Row
from simstrategy.check.formats import as_page
from simstrategy.errors import Difference, NotJudged

REFERENCE = Row("sim", "2", "InOrder()", True, True, 0.0, 1.25e-7, 40, False, None, law="repeat")
EQUAL = REFERENCE._replace(law="backends", backend="torch", reference=False, trace_compared=True)
NEAR = EQUAL._replace(backend="xla", equal_bits=False, distance=2e-7)
FAR = EQUAL._replace(backend="acme", equal_bits=False, distance=0.5, problem="result: 1.0 against 2.0")


def test_a_row_says_how_near_it_is():
    assert REFERENCE.cells() == (
        "repeat",
        "sim",
        "2",
        "InOrder()",
        "reference; rounding moves it by 1.2e-07",
        "40 events",
    )
    assert EQUAL.cells()[4:] == ("equal to the bit", "40 events, equal")
    assert NEAR.cells()[4:] == ("agree: 2.0e-07 apart (allowed: 6.2e-07)", "40 events, equal")
    assert FAR.cells()[4:] == ("DIFFERS", "40 events")
    assert EQUAL._replace(trace_compared=False).cells()[5] == "40 events"
    assert REFERENCE._replace(events=1).cells()[5] == "1 event"


def test_a_report_without_problems_agrees_and_raises_nothing():
    report = Report("program.py", [REFERENCE, EQUAL, NEAR])
    assert report.agrees
    assert list(report.problems()) == []
    report.raise_for_difference()
    assert str(report).endswith("\nAll runs agree: 1 value; replicas 2; sim, torch, xla.")


def test_a_report_with_problems_raises_an_assertion_error_with_the_whole_text():
    report = Report("program.py", [REFERENCE, EQUAL, FAR, FAR._replace(schedule="Seeded(1)")])
    assert not report.agrees
    with pytest.raises(AssertionError) as raised:
        report.raise_for_difference()
    assert type(raised.value) is Difference
    lines = str(raised.value).splitlines()
    assert lines[0] == "check of program.py"
    assert lines[-4:] == [
        "First differences:",
        "acme, replicas 2, InOrder(): result: 1.0 against 2.0",
        "acme, replicas 2, Seeded(1): result: 1.0 against 2.0",
        "Not all runs agree.",
    ]
    kinds = [line.kind for line in report.lines()]
    assert kinds == ["title", "columns", "reference", "run", *["problem"] * 5, "verdict"]


UNJUDGED = EQUAL._replace(backend="far", equal_bits=False, distance=0.46, undecided="result: 2048.0 against 3000.0")


def test_a_run_that_could_not_be_judged_is_no_agreement_and_no_difference():
    assert UNJUDGED.cells()[4] == "NOT JUDGED: rounding may change the result too much"
    report = Report("program.py", [REFERENCE, EQUAL, UNJUDGED])
    assert (report.verdict, report.agrees) == ("undecided", False)
    assert list(report.problems()) == []
    with pytest.raises(NotJudged) as raised:
        report.raise_for_difference()
    lines = str(raised.value).splitlines()
    assert lines[-4:-2] == [
        "Could not be judged:",
        "far, replicas 2, InOrder(): result: 2048.0 against 3000.0",
    ]
    assert lines[-1] == "Not all runs could be judged."
    kinds = [line.kind for line in report.lines()]
    assert kinds == ["title", "columns", "reference", "run", *["undecided"] * 4, "verdict"]


def test_a_difference_decides_where_another_run_could_not_be_judged():
    report = Report("program.py", [REFERENCE, UNJUDGED, FAR])
    assert report.verdict == "differ"
    with pytest.raises(Difference) as raised:
        report.raise_for_difference()
    assert "Could not be judged:" in str(raised.value)
    assert str(raised.value).endswith("Not all runs agree.")


def test_columns_stand_under_each_other():
    lines = str(Report("program.py", [REFERENCE, EQUAL, NEAR])).splitlines()[1:5]
    starts = {line.index(word) for line, word in zip(lines, ("replicas", "2", "2", "2"), strict=True)}
    assert len(starts) == 1
    assert all(line == line.rstrip() for line in lines)


def test_a_table_that_is_too_wide_for_the_terminal_has_what_is_equal_in_all_rows_in_its_title():
    report = Report("program.py", [REFERENCE, EQUAL._replace(backend="sim", replicas="3")])
    wide, narrow = [[line.text for line in report.lines(characters=number)] for number in (200, 70)]
    assert wide == str(report).splitlines()
    assert wide[0] == "check of program.py"
    assert narrow[0] == "check of program.py: backend sim, schedule InOrder()"
    assert [line.split()[:2] for line in narrow[1:4]] == [["law", "replicas"], ["repeat", "2"], ["backends", "3"]]
    assert max(map(len, narrow[1:4])) <= 80
    assert narrow[4:] == wide[4:]
    mixed = Report("program.py", [REFERENCE, EQUAL])
    assert [*mixed.lines(characters=70)][1].text.split()[:3] == ["law", "backend", "replicas"]


def test_the_page_has_what_differs_with_its_cause_before_the_rows_and_what_the_laws_demand_after_them():
    finding = Finding("backends", "acme", "2", "InOrder()", "result: 1.0 against 2.0", cause="it is <doubled>")
    page = as_page(Report("program.py", [REFERENCE, EQUAL, FAR._replace(finding=finding)]))
    places = [
        page.index(text)
        for text in (
            "<h3>backends: acme, replicas 2</h3>",
            "<strong>Cause:</strong> it is &lt;doubled&gt;",
            "<h2>All rows</h2>",
            "<dt>backends</dt><dd>another backend gives what the reference gives</dd>",
        )
    ]
    assert places == sorted(places)
    assert "First differences:" not in page


RAISED = REFERENCE._replace(problem="raises ValueError: no\nIn replica 0: ValueError raised at train.py:3")


def problems(*rows):
    return [one.splitlines() for one in Report("program.py", rows).problems()]


def test_the_error_of_an_earlier_row_is_stated_once_with_what_another_row_has_besides():
    same = RAISED._replace(replicas="3")
    more = RAISED._replace(replicas="4", problem=f"{RAISED.problem}\n  replica 1 had not started this call")
    assert problems(RAISED, same, more)[1:] == [
        ["sim, replicas 3, InOrder(): raises the same as with replicas 2, InOrder(), on sim"],
        [
            "sim, replicas 4, InOrder(): raises the same as with replicas 2, InOrder(), on sim, and besides:",
            "  replica 1 had not started this call",
        ],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "raises ValueError: no",  # less than the earlier one
        "raises ValueError: no\nIn replica 0: ValueError raised at train.py:4",  # at another line
        "raises ValueError: not\nIn replica 0: ValueError raised at train.py:3",
    ],
)
def test_another_error_is_shown_whole(text):
    assert problems(RAISED, RAISED._replace(problem=text))[1] == f"sim, replicas 2, InOrder(): {text}".splitlines()


def test_differences_of_values_are_shown_whole():
    rows = [FAR, FAR._replace(replicas="3", problem=f"{FAR.problem}\n  result[1]: 1.0 against 2.0")]
    assert "\n".join(problems(*rows)[1]).startswith("acme, replicas 3, InOrder(): result: 1.0 against 2.0\n  result[1]")


def test_what_could_not_be_judged_in_several_rows_for_one_reason_is_stated_once():
    begins = "gives different values in two identical runs, so it cannot be checked, whatever else there may be in it"
    texts = {"1": f"{begins}: 1.0", "2": f"{begins}: 2.0", "3 against 1": "short: 1", "4 against 1": "short: 1"}
    texts |= {"4 against 2": "short: 1", "5": "short: 2"}
    report = Report("program.py", [UNJUDGED._replace(replicas=one, undecided=text) for one, text in texts.items()])
    assert list(report.undecided()) == [
        f"far, replicas 1, InOrder(): {begins}: 1.0",
        "far, replicas 2, InOrder(): as above: 2.0",
        "far, replicas 3 against 1, 4 against 1, 4 against 2, InOrder(): short: 1",
        "far, replicas 5, InOrder(): short: 2",
    ]
    pairs = [UNJUDGED._replace(replicas=f"{count} against 1") for count in (2, 3)]
    assert [*Report("program.py", pairs).undecided()] == [
        f"far, replicas 2, 3 against 1, InOrder(): {UNJUDGED.undecided}"
    ]


def test_an_exempt_value_is_listed_once_with_the_steps_after_which_it_was_compared():
    steps = [f"after step {number}['w']: noise" for number in (1, 2, 3)]
    others = ["after step 2['v']: noise", "after step 1['u']: noise", "after step 3['u']: noise", "result['x']: drawn"]
    report = Report("program", [REFERENCE._replace(exempt=(*steps, *others)), EQUAL._replace(exempt=tuple(steps))])
    assert [*report.remarks()] == [
        "Exempt: after steps 1 to 3['w']: noise",
        "Exempt: after step 2['v']: noise",
        "Exempt: after steps 1, 3['u']: noise",
        "Exempt: result['x']: drawn",
    ]
