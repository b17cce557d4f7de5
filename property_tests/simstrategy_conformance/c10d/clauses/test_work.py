"""Clause W-1 for every call: a backend that hands one of them on is found.  Not of calls that have failed before."""

import pytest

from simstrategy_conformance.c10d.rows import ALL, ranks_of
from simstrategy_conformance.c10d.subject import C10dSubject
from simstrategy_conformance.c10d.world import Lost
from simstrategy_conformance.checking import clause
from simstrategy_conformance.covering import Row
from simstrategy_conformance.tally import noted


@clause("W-1")
def test_the_named_backend_does_the_work_of_every_call(subject: C10dSubject) -> None:
    ranks = max(one for one in ranks_of(subject) if one <= 2)
    faults: list[str] = []
    unseen: list[str] = []
    for call in ALL:
        try:
            answers = [] if subject.is_faulty(call) else subject.answers(f"{call} events", Row(ranks=ranks))
        except Lost:  # a fault of the call, which its own clause has
            answers = []
        except pytest.skip.Exception:
            if faults:
                break  # what was found is a fault, whatever cannot be tried
            raise
        if not answers:
            unseen.append(call)
        faults += [f"{call}: {text}" for text in dict.fromkeys(one.text for one in answers if one.status == "seen")]
    if unseen:
        text = f"all calls but those that fail: {', '.join(unseen)}"
        noted.setdefault("test_the_named_backend_does_the_work_of_every_call", []).append(("done by", text))
    if faults:
        raise AssertionError("\n".join(faults))
