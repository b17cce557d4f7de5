"""What differs, in the page of a check: findings put together, kinds with their meaning, and the columns."""

import html
import re

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.check import Finding, Report, Row
from simstrategy.check.causes.facts import KINDS
from simstrategy.check.formats import as_page, played
from simstrategy.check.formats.words import COLUMN_MEANINGS, KIND_MEANINGS, kinds_in
from simstrategy.check.row import COLUMNS

ONE = Finding(
    "replicas",
    "sim",
    "2 against 1",
    "InOrder()",
    "w differs",
    "lost part",
    1,
    "a.py:3",
    "w",
    cause="2 against 1. The kind is lost part: it is.",
)


def page_of(*findings):
    rows = [
        Row(
            one.backend,
            one.replicas,
            one.schedule,
            False,
            False,
            1.0,
            0.0,
            1,
            False,
            one.text,
            law=one.law,
            finding=one,
        )
        for one in findings
    ]
    return as_page(Report("a.py", rows))


def headings(page):
    return [html.unescape(one) for one in re.findall(r"<h3>(.*?)</h3>", page)]


def of(count, **changes):
    return ONE._replace(
        replicas=f"{count} against 1", cause=f"{count} against 1. The kind is lost part: it is.", **changes
    )


def test_findings_that_differ_in_the_number_of_replicas_alone_are_one_card():
    page = page_of(of(2), of(3), of(4))
    assert headings(page) == ["replicas: sim, 2, 3 and 4 replicas against 1"]
    assert "<p>The kind, line and variable of the cause are the same with 3 and 4 replicas.</p>" in page
    assert page.count("<strong>Cause:</strong>") == 1
    for count in (3, 4):
        assert (
            f"<summary>the cause, and the values that differ, with {count} replicas</summary><pre>{count} against"
            in page
        )


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "missing reduction"},
        {"kind": None},
        {"also": ("missing reduction",)},
        {"site": "a.py:4"},
        {"source": "a.py:2"},
        {"variable": "v"},
        {"schedule": "Seeded(1)"},
        {"backend": "torch"},
        {"law": "state"},
    ],
)
def test_findings_that_differ_in_more_are_cards_of_their_own(changes):
    assert len(headings(page_of(of(2), of(3, **changes)))) == 2


def test_a_card_has_its_schedule_where_the_rows_have_several():
    assert headings(page_of(of(2), of(3, schedule="Seeded(1)"))) == [
        "replicas: sim, replicas 2 against 1, InOrder()",
        "replicas: sim, replicas 3 against 1, Seeded(1)",
    ]


def test_causes_without_a_kind_are_one_card_where_their_lines_are_equal():
    page = page_of(*(of(count, kind=None) for count in (2, 3)))
    assert headings(page) == ["replicas: sim, 2 and 3 replicas against 1"]
    assert "<p>The line and variable of the cause are the same with 3 replicas.</p>" in page


def test_causes_without_a_kind_and_a_line_are_cards_of_their_own():
    page = page_of(*(of(count, kind=None, site=None) for count in (2, 3)))
    assert headings(page) == [f"replicas: sim, replicas {count} against 1" for count in (2, 3)]


def test_a_card_states_no_variable_and_no_line_that_its_findings_do_not_have():
    page = page_of(of(2, site=None, variable=None), of(3, site=None, variable=None))
    assert "<p>The kind of the cause is the same with 3 replicas.</p>" in page


def test_every_kind_and_every_column_has_a_meaning():
    assert set(KIND_MEANINGS) == set(KINDS)
    assert tuple(COLUMN_MEANINGS) == COLUMNS


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_that_a_cause_names_is_a_link_to_its_meaning_in_the_page(kind):
    assert kinds_in(f"It differs. The kind is {kind}, or missing reduction: the mean of means.") == [
        kind,
        "missing reduction",
    ]
    page = page_of(ONE._replace(kind=kind, cause=f"It differs. The kind is {kind}. A {kind} is no link."))
    ((place, text),) = re.findall(r'<a class="term" href="#([^"]+)"[^>]*>([^<]+)</a>', page)
    assert text == kind
    assert f'<dt id="{place}">{kind}</dt><dd>{html.escape(KIND_MEANINGS[kind])}</dd>' in page


def test_the_page_states_what_its_columns_and_what_their_cells_mean_and_no_other():
    page = page_of(ONE)
    words = re.findall(r'<dt id="[^"]+">([^<]+)</dt>', page)
    assert words == ["lost part", *COLUMNS, "DIFFERS"]
    assert re.findall(r'<td data-column="([^"]+)">', page) == [*COLUMNS]
    assert [name for _, name in re.findall(r'<th scope="col" title="([^"]+)">([^<]+)', page)] == [*COLUMNS]


def mean_of_means(strategy):
    with strategy.scope():
        kept = ss.Variable(np.float32(1), aggregation=ss.VariableAggregation.MEAN)

    def step(rows):
        ctx = ss.get_replica_context()
        mean = ctx.all_reduce("MEAN", ctx.xp.sum(rows * kept.read_value()) / max(rows.shape[0], 1))
        kept.assign_sub(np.float32(0.01) * mean)
        return mean

    rows = ss.data.Dataset.from_tensor_slices(np.arange(1, 11, dtype=np.float32)).batch(5)
    parts = strategy.experimental_distribute_dataset(rows)
    return [strategy.experimental_local_results(strategy.run(step, args=(part,)))[0] for part in parts]


def test_a_card_has_a_link_to_each_run_and_the_line_of_a_variable_whose_name_is_not_in_the_program():
    report = ss.check(mean_of_means, replicas=[1, 2, 3])
    page = as_page(report, played(report))
    assert len(headings(page)) == 1
    names = re.findall(r'<p><a href="#run=\d+&amp;at=\d+">See it below, in the run with (\d) replicas</a>', page)
    assert names == ["2", "3"]
    name = f"Variable_{0}"  # does not stand in this file
    place, code = re.search(
        f"&#x27;{name}&#x27; is the variable that is made at <a [^>]+>([^<]+)</a>, by <code>([^<]+)</code>", page
    ).groups()
    assert place.startswith("test_cards.py:")
    assert html.unescape(code).startswith("kept = ss.Variable(")
