"""How a test with covering rows is written: clauses, the levels of each field, and a function that fails.

    @covering_test("B-8", levels=lambda subject: {"ranks": ranks_of(subject), "axes": (0, 1, 2)})
    def test_a_sum_of_every_form(subject: Subject, row: Row) -> None: ...

All rows are tried, the smallest first, but for a profile that bounds them, and one that fails is made simpler; then
Hypothesis draws rows of other lengths. What the rows that were tried cover is counted.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import strategies as st

from simstrategy_conformance.arrays import Group
from simstrategy_conformance.checking import Test, clause, of_subject, search
from simstrategy_conformance.covering import RANKS, Lengths, Levels, Row, arrays_of, count_covered, is_possible, rows_of
from simstrategy_conformance.subject import Subject
from simstrategy_conformance.tally import Covered, count, covered

__all__ = ["BOTH", "PLACES", "SHORT", "Costly", "covering_test", "error_of", "ranks_of"]

BOTH: Final = (False, True)
PLACES: Final = ("first", "middle", "last")
SHORT: Final = ("ranks", "op", "dtype", "axes", "lengths")
"""The fields of which a short call tries every triple, unless the profile is quick."""
_ALONE: Final = "Alone, on a backend that is opened anew, this row passes: look for what is kept of earlier calls."
_SHOWN: Final = 32
"""So many numbers of all ranks are shown with a row that fails."""


class Costly(AssertionError):
    """A failure whose row is not made simpler.

    It takes long to repeat, such as a call that never ends, or it is one of several rows together.
    """


def ranks_of(subject: Subject) -> tuple[int, ...]:
    """Returns the numbers of ranks to try that the subject can open."""
    return tuple(ranks for ranks in RANKS if subject.can_open(ranks))


def covering_test(
    *identifiers: str,
    levels: Callable[[Any], Levels],
    triples: Sequence[str] = (),
    arrays: Callable[[Row], Sequence[Any]] = arrays_of,
    ending: Callable[[Any, str], None] | None = None,
) -> Callable[[Test], Test]:
    """Makes a test of a function that takes a subject and a row.

    arrays: what the ranks give, of which few numbers are shown with a row that fails. ending: is called with the
    subject and the test's name when all rows have passed; it may skip the test.
    """

    def decorate(function: Test) -> Test:
        name = function.__name__

        def test(subject: Subject) -> None:
            __tracebackhide__ = True
            found = levels(subject)
            in_triples = tuple(triples) if subject.profile.triples else ()
            rows = _evenly(rows_of(found, in_triples), subject.profile.rows_max)
            for row in rows:
                error = error_of(function, subject, row)
                if isinstance(error, Costly):
                    error.add_note(f"A row that fails: {row}")
                    raise error
                if error is not None:
                    raise _of_smallest(function, subject, row, error, found, arrays)
            count(name, len(rows))
            of_triples = {field: found[field] for field in in_triples}
            covered[name] = Covered(
                len(rows), tuple(found), count_covered(found, rows, 2), in_triples, count_covered(of_triples, rows, 3)
            )
            search(subject, name, function, {"row": _random_rows(found)}, share=0.5)
            if ending is not None:
                ending(subject, name)

        return clause(*identifiers)(of_subject(function, test))

    return decorate


def _evenly(rows: Sequence[Row], most: int | None) -> Sequence[Row]:
    """Returns at most so many rows, the first and the last among them."""
    if most is None or len(rows) <= most:
        return rows
    return [rows[number * (len(rows) - 1) // (most - 1)] for number in range(most)]


def error_of(function: Test, subject: Any, row: Row) -> BaseException | None:
    """Returns what a function raises of a row; None where it passes."""
    __tracebackhide__ = True
    try:
        with np.errstate(all="ignore"):
            function(subject, row)
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - whatever it is, the subject has failed
        return error
    return None


def _of_smallest(
    function: Test, subject: Subject, row: Row, error: BaseException, levels: Levels, arrays: Callable[[Row], Any]
) -> BaseException:
    """Returns the error of a row that is as simple as can be: in each field the first level that fails."""
    for name, given in levels.items():
        for level in given[: given.index(getattr(row, name))]:
            simpler = row._replace(**{name: level})
            if is_possible(simpler._asdict()) and (found := error_of(function, subject, simpler)) is not None:
                row, error = simpler, found
                break
    group = Group(tuple(arrays(row)))
    small = group.ranks > 0 and sum(array.size for array in group.arrays) <= _SHOWN
    error.add_note(f"A row that fails, made simpler: {row}" + (f"\n{group}" if small else ""))
    if _passes_alone(function, subject, row):
        error.add_note(_ALONE)
    return error


def _passes_alone(function: Test, subject: Any, row: Row) -> bool:
    """Returns whether a row passes on a backend, or among ranks, that nothing else was tried with."""
    try:
        subject.reopen(row.ranks)
        return error_of(function, subject, row) is None
    except (Exception, pytest.skip.Exception):  # noqa: BLE001 - of a backend that fails, and cannot be opened again
        return False


def _random_rows(levels: Levels) -> st.SearchStrategy[Row]:
    fields: dict[str, Any] = {name: st.sampled_from(found) for name, found in levels.items()}
    least = min(1, *(one.size for one in levels["lengths"]))  # empty arrays only where the levels have them
    fields["lengths"] = st.integers(least, 300).map(Lengths) | fields["lengths"]
    return (
        st.fixed_dictionaries(fields)
        .filter(lambda row: is_possible({**Row()._asdict(), **row}))
        .map(lambda row: Row(**row))
    )
