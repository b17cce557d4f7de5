"""What results of array functions have in memory with their arguments, where a program can write into arrays."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from simstrategy.device import NAMES
from simstrategy.device.functions import Shapes
from simstrategy_conformance.arrays import NUMBERS, require_bits, scribble
from simstrategy_conformance.calling import agrees, call, put
from simstrategy_conformance.calls import Case
from simstrategy_conformance.checking import clause
from simstrategy_conformance.every_call import arrays_in, every_call
from simstrategy_conformance.subject import Subject
from simstrategy_conformance.tally import count

MAY_SHARE = frozenset({"asarray", *(name for name in NAMES if name in vars(Shapes))})
"""Functions whose results may be the argument, or another form of it."""
EACH = 3
"""So many calls of each function, the first ones that have arrays with elements."""


def _calls(subject: Subject, test: str) -> Iterator[tuple[str, Case]]:
    """Yields some calls of each function whose results are new.  Skips the test where arrays cannot be written to."""
    backend = subject.open(2)
    if not scribble(backend.put(np.zeros(1, np.float32), backend.devices[1])):
        pytest.skip(f"no program can write into an array of {subject.name}")
    for name, cases in every_call(subject.having(*NUMBERS, "bool")).items():
        with_arrays = [one for one in cases if any(x.size for x in arrays_in(one.arguments, (np.ndarray,)))]
        for case in with_arrays[:EACH] if name not in MAY_SHARE else ():
            count(test)
            yield name, case


@clause("B-18")
def test_what_is_written_into_an_argument_later_changes_no_result(subject: Subject) -> None:
    types = subject.open(2).array_types

    def overwrite(values: list[Any]) -> None:
        for array in arrays_in(values, types):
            scribble(array)

    with np.errstate(all="ignore"):
        for name, case in _calls(subject, "test_what_is_written_into_an_argument_later_changes_no_result"):
            try:
                agrees(subject, name, case, then=overwrite)
            except AssertionError as error:
                error.add_note(f"of xp.{name}, after its arguments were written into")
                raise


@clause("B-18")
def test_what_is_written_into_a_result_changes_nothing_else(subject: Subject) -> None:
    backend = subject.open(2)
    types = backend.array_types
    with np.errstate(all="ignore"):
        for name, case in _calls(subject, "test_what_is_written_into_a_result_changes_nothing_else"):
            given, options = put(subject, list(case.arguments)), {k: put(subject, v) for k, v in case.options.items()}
            arguments = arrays_in([given, options], types)
            before = [backend.get(one) for one in arguments]
            for result in arrays_in(call(subject, name, *given, **options), types):
                scribble(result)
            for host, argument in zip(before, arguments, strict=True):
                require_bits(host, backend.get(argument), f"an argument of xp.{name}")
            try:
                agrees(subject, name, case)
            except AssertionError as error:
                error.add_note(f"of xp.{name}, after the result of an equal call was written into")
                raise
