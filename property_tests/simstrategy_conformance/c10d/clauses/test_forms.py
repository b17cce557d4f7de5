"""Clauses W-14 to W-17: every call asynchronously, in groups of some ranks, on views; and what is left open.

The name of the call stands in a row's place of the op.
"""

from simstrategy_conformance.c10d.rows import ALL, LATER, TENSORS, Examine, each_call_test, forms, ranks_of
from simstrategy_conformance.c10d.subject import C10dSubject
from simstrategy_conformance.checking import clause
from simstrategy_conformance.covered import BOTH
from simstrategy_conformance.covering import Lengths, Row
from simstrategy_conformance.tally import noted

LONG = (Lengths(7), Lengths(64), Lengths(1001))
"""A view of one element is contiguous."""
TURNED = tuple(one for one in TENSORS if one not in ("scatter", "send_recv", "isend_irecv", "batch_isend_irecv"))
"""Calls that a backend which refuses such arguments refuses on every rank: each has one."""
QUESTIONS = (
    "asynchronous_calls", "averages_of_integers", "maxima_with_nan", "other_tensors_of_reduce", "overflows",
    "sums_of_bools",
)  # fmt: skip


@each_call_test("W-14", levels=lambda subject: forms(subject, LATER, late=(True,), again=BOTH))
def test_asynchronous_calls(examine: Examine, row: Row) -> None:
    examine(row.op, row)


@each_call_test("W-14", levels=lambda subject: forms(subject, LATER, late=(True,)))
def test_works_are_complete_when_they_were_waited_for(examine: Examine, row: Row) -> None:
    examine(f"{row.op} ends", row)


@each_call_test("W-15", levels=lambda subject: forms(subject, ALL, part=("but_first", "every_other")))
def test_groups_of_some_ranks(examine: Examine, row: Row) -> None:
    examine(row.op, row)


@each_call_test("W-16", levels=lambda subject: forms(subject, TENSORS, strided=(True,), axes=(1, 2, 3), lengths=LONG))
def test_views_that_are_not_contiguous(examine: Examine, row: Row) -> None:
    examine(row.op, row)


@each_call_test(
    "W-16", levels=lambda subject: forms(subject, TURNED, strided=("transposed",), axes=(2, 3), lengths=LONG)
)
def test_transposed_tensors(examine: Examine, row: Row) -> None:
    examine(row.op, row)


@clause("W-17")
def test_what_is_not_documented_ends(subject: C10dSubject) -> None:
    found = noted.setdefault("test_what_is_not_documented_ends", [])
    ranks = 2 if 2 in ranks_of(subject) else 1
    for question in QUESTIONS:
        texts = dict.fromkeys(one.text for one in subject.answers(question, Row(ranks=ranks)) if one.text)
        found.append(("differs", f"{question.replace('_', ' ')}, {ranks} ranks: {' / '.join(texts)}"))
    ended: dict[tuple[str, str], list[str]] = {}
    for call in TENSORS:
        answers = subject.answers(call, Row(ranks=ranks, lengths=Lengths(0)))
        status = "/".join(dict.fromkeys(one.status for one in answers))
        how = {"right": "carried out", "wrong": "other results"}.get(status, status)
        text = next((f" ({one.text})" for one in answers if one.text), "")
        ended.setdefault((how, text), []).append(call)
    for (how, text), calls in ended.items():
        found.append(("differs", f"empty tensors, {ranks} ranks: {how}: {', '.join(calls)}{text}"))
