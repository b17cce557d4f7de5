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
