"""The levels of rows for calls of `torch.distributed`, and how a test with such rows is written.

    @call_test("W-6", levels=moves)
    def test_broadcast(examine, row):
        examine("broadcast", row)

Empty tensors are not among the levels: what becomes of them is not documented.
"""

from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, Final, Protocol

import pytest

from simstrategy_conformance.arrays import NUMBERS
from simstrategy_conformance.c10d.subject import C10dSubject
from simstrategy_conformance.checking import Test, clause, of_subject
from simstrategy_conformance.covered import BOTH, PLACES, covering_test, error_of
from simstrategy_conformance.covering import LENGTHS, Lengths, Levels, Row, count_covered, rows_of
from simstrategy_conformance.tally import Covered, count, covered

__all__ = [
    "ALL",
    "EXACT",
    "FLOATS",
    "LATER",
    "MOVED",
    "OPS",
    "TENSORS",
    "Examine",
    "call_test",
    "each_call_test",
    "forms",
    "moves",
    "numbers",
    "ranks_of",
    "reductions",
    "short",
    "uneven",
]

OPS: Final = ("SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")
EXACT: Final = (*NUMBERS, "bfloat16", "bool")
"""Dtypes of reductions."""
FLOATS: Final = ("float32", "float64", "float16", "bfloat16")
MOVED: Final = (*EXACT, "float8_e4m3fn", "float8_e5m2")
"""Dtypes of what is moved unchanged."""
LATER: Final = (
    "all_reduce", "reduce", "broadcast", "all_gather", "all_gather_single", "reduce_scatter", "reduce_scatter_single",
    "all_to_all", "all_to_all_single", "gather", "scatter",
)  # fmt: skip
"""Calls that return a work with async_op=True."""
ALL: Final = (
    *LATER, "all_reduce_coalesced", "all_gather_coalesced", "send_recv", "isend_irecv", "batch_isend_irecv",
    "all_gather_object", "broadcast_object_list", "gather_object", "scatter_object_list", "barrier",
)  # fmt: skip
"""All calls."""
TENSORS: Final = ALL[:-5]
"""Those with tensors."""
_QUICK: Final = (1, 2, 3, 5)
_RANKS: Final = (1, 2, 3, 4, 5, 7, 8)
_FILLED: Final = tuple(one for one in LENGTHS if one.size)
_FEW: Final = (Lengths(1), Lengths(7), Lengths(1001))


class Examine(Protocol):
    """What a test gets to examine a call with: `C10dSubject.examine`, which counts for this test."""

    def __call__(self, call: str, row: Row, *, required: bool = False) -> None: ...


def ranks_of(subject: C10dSubject) -> tuple[int, ...]:
    """Returns the numbers of ranks to try for which this machine has what they need."""
    wanted = _RANKS if subject.profile.triples else _QUICK
    return tuple(ranks for ranks in wanted if subject.can_open(ranks))


def moves(subject: C10dSubject) -> Levels:
    """Returns the levels of a call that moves tensors unchanged."""
    return {
        "ranks": ranks_of(subject), "dtype": MOVED, "axes": (1, 0, 2, 3), "lengths": _FILLED, "root": PLACES,
        "again": BOTH,
    }  # fmt: skip


def uneven(subject: C10dSubject) -> Levels:
    """Returns the levels of a call whose tensors have other sizes in each member: of two or more."""
    return {**moves(subject), "ranks": _several(subject), "axes": (1, 2, 3), "uneven": (True,)}


def numbers(subject: C10dSubject) -> Levels:
    """Returns the levels of a call of tensors without axes."""
    return {"ranks": ranks_of(subject), "dtype": ("float32", "int64"), "axes": (0,), "lengths": _FEW, "again": BOTH}


def _several(subject: C10dSubject) -> tuple[int, ...]:
    return tuple(ranks for ranks in ranks_of(subject) if ranks > 1) or (1,)


def reductions(subject: C10dSubject, ops: Sequence[str] = OPS, dtypes: Sequence[str] = EXACT) -> Levels:
    """Returns the levels of a call that combines tensors.  What SUM makes of bools is not documented."""
    return {**moves(subject), "op": tuple(ops), "dtype": tuple(dtypes)}


def short(subject: C10dSubject) -> Levels:
    """Returns the levels of a call without tensors."""
    return {"ranks": ranks_of(subject), "lengths": _FEW, "root": PLACES, "again": BOTH}


def forms(subject: C10dSubject, calls: Sequence[str], **levels: tuple[Any, ...]) -> Levels:
    """Returns the levels of a test of several calls, whose names stand in place of an op."""
    plain: dict[str, tuple[Any, ...]] = {
        "ranks": _several(subject),
        "op": tuple(calls),
        "dtype": ("float32", "int64"),
        "axes": (1, 2),
        "lengths": _FEW,
        "root": PLACES,
    }
    return plain | levels


def call_test(
    *identifiers: str,
    levels: Callable[[C10dSubject], Levels],
    triples: Sequence[str] = (),
) -> Callable[[Test], Test]:
    """Makes a test of a function that takes what examines a call and a row, as `covered.covering_test` does."""
    covering = covering_test(*identifiers, levels=levels, triples=triples, arrays=lambda _: (), ending=_settle)
    return lambda function: covering(_examining(function))


def _examining(function: Test) -> Test:
    """Returns a function of a subject and a row, which gives what examines for the test of this name in its place."""

    @wraps(function)
    def test(subject: C10dSubject, row: Row) -> None:
        __tracebackhide__ = True
        function(partial(subject.examine, test=function.__name__), row)

    return test


def _settle(subject: C10dSubject, test: str) -> None:
    subject.note(test)
    subject.require_offer(test)


def each_call_test(*identifiers: str, levels: Callable[[C10dSubject], Levels]) -> Callable[[Test], Test]:
    """Makes a test of such a function and of rows of `forms`; its failure has a line for each call."""

    def decorate(function: Test) -> Test:
        name = function.__name__
        examining = _examining(function)

        def test(subject: C10dSubject) -> None:
            found = levels(subject)
            rows = rows_of(found)
            failed: dict[str, str] = {}
            for row in rows:
                try:
                    error = None if row.op in failed else error_of(examining, subject, row)
                except pytest.skip.Exception:
                    if failed:
                        break  # what was found is a failure, whatever cannot be tried
                    raise
                if error is not None:
                    failed[row.op] = f"{error}: {row}"
            count(name, len(rows))
            covered[name] = Covered(len(rows), tuple(found), count_covered(found, rows, 2), (), (0, 0))
            subject.note(name)
            if failed:
                raise AssertionError("\n".join(failed.values()))
            subject.require_offer(name)

        return clause(*identifiers)(of_subject(function, test))

    return decorate
