"""How a property of the kit is written: a clause, what to draw, and a function that fails.

    @property_test("B-8", case=lambda subject: groups(subject))
    def test_a_sum_is_over_all_ranks(subject: Subject, case: Group) -> None: ...

The function stays an ordinary test that pytest collects, and that anything else may call with a subject. The draws
depend on the subject's profile and seed and on the test's name, and on nothing else: no database, no clock.
"""

import functools
import inspect
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import FlakyFailure
from hypothesis.strategies import SearchStrategy

from simstrategy_conformance.local_constants import no_local_constants
from simstrategy_conformance.subject import Subject
from simstrategy_conformance.tally import count

__all__ = [
    "clause",
    "clauses_of",
    "of_subject",
    "options",
    "property_test",
    "run_search",
    "search",
    "seed_of",
]

Draws = SearchStrategy[Any] | Callable[[Subject], SearchStrategy[Any]]
Test = Callable[..., None]


def clause(*identifiers: str) -> Callable[[Test], Test]:
    """Names the clauses of docs/semantics.md that a test stands for."""
    return pytest.mark.clause(*identifiers)


def clauses_of(test: Test) -> tuple[str, ...]:
    """Returns the clauses that a test names."""
    return tuple(one for mark in vars(test).get("pytestmark", ()) if mark.name == "clause" for one in mark.args)


def seed_of(subject: Subject, name: str) -> int:
    """Returns the seed of a test, the same in every process."""
    return zlib.crc32(f"{subject.seed}/{name}".encode())


def options(subject: Subject, share: float = 1.0) -> settings:
    """Returns Hypothesis's settings for a share of the profile's examples."""
    return settings(
        max_examples=max(2, round(subject.profile.examples * share)),
        deadline=None,
        database=None,
        derandomize=False,
        report_multiple_bugs=False,
        print_blob=False,
        phases=(Phase.generate, *((Phase.shrink,) if subject.profile.shrink else ())),
        suppress_health_check=list(HealthCheck),
    )


def run_search(search: Callable[[], None]) -> None:
    """Runs a search, the same in every process; raises the first failure where a repetition of it passed."""
    __tracebackhide__ = True
    try:
        with no_local_constants():
            search()
    except FlakyFailure as flaky:
        first = next(iter(flaky.exceptions))
        first.add_note("The same example passed when repeated: state is kept between calls, or a result is random.")
        raise first from None


def search(
    subject: Subject, name: str, function: Test, draws: Mapping[str, Draws], *, share: float, of: str = ""
) -> None:
    """Looks for draws by which a function fails.  name: what the seed is made of; of: the test that it is a part of."""
    __tracebackhide__ = True

    def one(**drawn: Any) -> None:
        __tracebackhide__ = True
        count(of or name)
        function(subject, **drawn)

    one.__name__ = one.__qualname__ = of or name
    subject.open(1)  # what a framework does when it is first used is no part of an example
    found = {key: drawn if isinstance(drawn, SearchStrategy) else drawn(subject) for key, drawn in draws.items()}
    # What Hypothesis gives by name has to be in the signature that it sees.
    parameters = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY) for key in found]
    vars(one)["__signature__"] = inspect.Signature(parameters)
    # Overflow and NaN are what some examples are about.
    with np.errstate(all="ignore"):
        run_search(options(subject, share)(seed(seed_of(subject, name))(given(**found)(one))))


def of_subject(function: Test, test: Callable[[Any], None]) -> Test:
    """Makes a test that pytest collects under the name of a function, and gives the subject alone."""
    wrapped = functools.wraps(function)(test)
    vars(wrapped)["__signature__"] = inspect.Signature(
        [inspect.Parameter("subject", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Subject)]
    )
    # Pytest looks behind a wrapper for what to give.
    del wrapped.__wrapped__
    return wrapped


def property_test(*identifiers: str, share: float = 1.0, **draws: Draws) -> Callable[[Test], Test]:
    """Makes a property of a function that takes a subject and draws by name; share: of the profile's examples."""

    def decorate(function: Test) -> Test:
        def test(subject: Subject) -> None:
            __tracebackhide__ = True
            search(subject, function.__name__, function, draws, share=share)

        return clause(*identifiers)(of_subject(function, test))

    return decorate
