"""Clauses W-1 and W-2: which backend does the work, and how ranks are numbered."""

import pytest

from simstrategy_conformance.c10d.rows import ranks_of
from simstrategy_conformance.c10d.subject import C10dSubject
from simstrategy_conformance.checking import clause
from simstrategy_conformance.covering import Row
from simstrategy_conformance.tally import noted


@clause("W-1")
def test_the_named_backend_does_the_work(subject: C10dSubject) -> None:
    ranks = max(one for one in ranks_of(subject) if one <= 2)
    answers = subject.answers("evidence", Row(ranks=ranks))
    for rank, answer in enumerate(answers):
        if answer.status == "refused":
            pytest.skip(f"{subject.name} offers no all_reduce or broadcast of float32: {answer.text}")
        if answer.status != "seen":
            raise AssertionError(f"rank {rank} of {ranks}: {answer.text}")
    noted.setdefault("test_the_named_backend_does_the_work", []).append(("done by", answers[0].text))


@clause("W-2")
def test_ranks_are_numbered_in_the_world_and_in_groups(subject: C10dSubject) -> None:
    tried = ranks_of(subject)
    words = ", ".join(map(str, tried)) + " ranks" if max(tried) > 1 else "one rank alone, which exchanges nothing"
    noted.setdefault("test_ranks_are_numbered_in_the_world_and_in_groups", []).append(("tried", f"worlds of {words}"))
    refused = ""
    for ranks in tried:
        answers = subject.answers("numbers", Row(ranks=ranks))
        is_refused = all(one.status == "seen" for one in answers)
        for rank, answer in enumerate(answers):
            if not is_refused and answer.status != "right":
                raise AssertionError(f"rank {rank} of {ranks}: {answer.text}")
        refused = refused or answers[0].text
    if refused:
        found = noted["test_ranks_are_numbered_in_the_world_and_in_groups"]
        found.append(("not offered", f"new_group ({refused})"))
