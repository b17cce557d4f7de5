"""How the answers of ranks to calls of torch.distributed are judged: without processes, from answers as given."""

import pytest

from simstrategy_conformance.c10d.answers import Answer
from simstrategy_conformance.c10d.offers import Offers
from simstrategy_conformance.c10d.subject import C10dSubject
from simstrategy_conformance.covering import Row


class _World:
    """A world whose ranks answer what is given."""

    def __init__(self, *answers: Answer) -> None:
        self.joined = [Answer("right")] * len(answers)
        self.is_open = True
        self._answers = list(answers)

    def carry_out(self, call: str, row: Row) -> list[Answer]:
        return self._answers

    def close(self) -> None:
        self.is_open = False


def subject_of(monkeypatch: pytest.MonkeyPatch, world: _World) -> C10dSubject:
    monkeypatch.setattr("simstrategy_conformance.c10d.subject.World", lambda *_, **__: world)
    return C10dSubject("c10d:acme")


def test_a_refusal_of_the_root_alone_refuses_a_recv_without_a_source(monkeypatch: pytest.MonkeyPatch) -> None:
    world = _World(Answer("right"), Answer("refused", "NotImplementedError: no recv"), Answer("right"))
    subject = subject_of(monkeypatch, world)
    subject.examine("recv_any", Row(ranks=3, root="middle"), test="of this test")
    assert not world.is_open, "what the others have sent is on its way"
    with pytest.raises(pytest.skip.Exception, match="offers nothing of this: NotImplementedError: no recv"):
        subject.require_offer("of this test")
    other = subject_of(monkeypatch, _World(Answer("right"), Answer("refused", "RuntimeError: no"), Answer("right")))
    with pytest.raises(AssertionError, match="rank 1 of 3 refuses, and rank 0 not"):
        other.examine("recv_any", Row(ranks=3, root="first"), test="of this test")


@pytest.mark.parametrize("alone", [Row(ranks=1), Row(ranks=2, part="but_first"), Row(ranks=2, part="every_other")])
def test_a_refusal_of_one_rank_alone_is_no_fault_and_is_listed(alone: Row) -> None:
    offers = Offers()
    offers.count("fault", "all_reduce", alone, "RuntimeError: one rank")
    offers.count("fault", "all_reduce", Row(ranks=4, part=alone.part), "")
    offers.count("fault", "all_reduce", alone, "RuntimeError: one rank")
    assert offers.refusal("fault") == ""
    (line,) = offers.lines("fault")
    assert "in a group of one rank: float32 (RuntimeError: one rank)" in line
    offers.count("none", "reduce", alone, "RuntimeError: one rank")
    offers.count("none", "reduce", Row(ranks=4, part=alone.part), "RuntimeError: no reduce")
    assert [line.partition("(")[2] for line in offers.lines("none")] == ["RuntimeError: no reduce)"]


def test_what_was_tried_with_one_rank_alone_is_not_said_to_be_offered_to_several() -> None:
    offers = Offers()
    offers.count("dtypes", "all_reduce", Row(ranks=4), "")
    offers.count("dtypes", "all_reduce", Row(ranks=4, dtype="int8"), "")
    for dtype in ("uint16", "uint32"):
        offers.count("dtypes", "all_reduce", Row(ranks=1, dtype=dtype, op="MAX"), f"RuntimeError: no {dtype}")
        offers.count("dtypes", "all_reduce", Row(ranks=4, dtype=dtype), "")
    offers.count("dtypes", "all_reduce", Row(ranks=4, op="MAX"), "")
    assert offers.lines("dtypes") == [
        "all_reduce MAX tried in a group of one rank alone: uint16, uint32 (RuntimeError: no uint16)"
    ]


def test_what_one_rank_refuses_as_several_do_is_listed_once() -> None:
    offers = Offers()
    offers.count("dtypes", "all_reduce", Row(ranks=4), "")
    offers.count("dtypes", "all_reduce", Row(ranks=1, op="MAX"), "")
    offers.count("dtypes", "all_reduce", Row(ranks=4, op="MAX"), "")
    for ranks in (1, 4):
        offers.count("dtypes", "all_reduce", Row(ranks=ranks, op="MAX", dtype="int8"), "RuntimeError: no int8")
    offers.count("dtypes", "all_reduce", Row(ranks=4, dtype="int8"), "")
    assert offers.lines("dtypes") == ["all_reduce MAX: int8 (RuntimeError: no int8)"]


def test_of_a_call_that_is_refused_in_one_form_the_form_is_named() -> None:
    offers = Offers()
    for dtype in ("float32", "int8"):
        offers.count("uneven", "all_gather", Row(ranks=3, dtype=dtype, uneven=True), "RuntimeError: no")
        offers.count("groups", "barrier", Row(ranks=3, dtype=dtype, part="every_other"), "RuntimeError: no")
    assert offers.lines("uneven") == ["all_gather uneven (RuntimeError: no)"]
    assert offers.lines("groups") == ["barrier group every_other (RuntimeError: no)"]
    offers.count("late", "all_reduce", Row(ranks=3, dtype="int8", late=True), "RuntimeError: no")
    offers.count("late", "all_reduce", Row(ranks=3, late=True), "")
    assert offers.lines("late") == ["all_reduce late: int8 (RuntimeError: no)"]
    for op in ("SUM", "AVG"):
        offers.count("ops", "reduce", Row(ranks=3, op=op), "" if op == "SUM" else "RuntimeError: no AVG")
        offers.count("ops", "reduce", Row(ranks=3, op=op, dtype="int8"), "RuntimeError: no")
    offers.count("ops", "reduce", Row(ranks=3, dtype="int16", op="MAX"), "RuntimeError: no int16")
    offers.count("ops", "reduce", Row(ranks=3, op="MAX"), "")
    offers.count("ops", "reduce", Row(ranks=3, dtype="int16"), "")
    assert offers.lines("ops") == [
        "reduce AVG (RuntimeError: no AVG)",
        "reduce AVG (RuntimeError: no)",
        "reduce: int8 (RuntimeError: no)",
        "reduce MAX: int16 (RuntimeError: no int16)",
    ]
