"""What a program's runs change outside the program, which the next run begins with.

Clauses: J-114.
"""

import random
import threading
from functools import partial

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.check.kept_state import BYTES_MAX, what_is_changed

RNG = np.random.default_rng(0)
COUNTS = {"runs": [0]}
KEPT = {"rate": 0.1, "weights": np.ones(3)}
UNKNOWN = [threading.Lock(), 0]
LARGE = np.zeros(BYTES_MAX + 1, np.uint8)


class Raising:
    """Cannot be pickled, and says so with an error of its own."""

    def __init__(self):
        self.runs = 0

    def __reduce__(self):
        raise RecursionError("no")


RAISING = Raising()


def drawing(strategy):
    return RNG.normal(size=3)


def counting(strategy):
    COUNTS["runs"][0] += 1
    return np.float32(COUNTS["runs"][0])


def changing_what_is_not_known(strategy):
    RAISING.runs += 1
    UNKNOWN[1] += 1
    LARGE[0] += 1


def keeping(strategy):
    return KEPT["rate"] * KEPT["weights"]


def made():
    """Returns a program that counts in a list of the function around it, and one that has not assigned it yet."""
    found = [0]

    def program(strategy):
        found[0] += 1
        return late if found[0] > 100 else found[0]

    if not found:
        late = 0
    return program


@pytest.mark.parametrize(
    ("program", "names"),
    [
        (drawing, "the global 'RNG'"),
        (partial(counting), "the global 'COUNTS'"),
        (made(), "'found' of the function around it"),
        (lambda strategy: random.random(), "the global generator of random"),
        (lambda strategy: np.random.standard_normal(), "the global generator of numpy.random"),
    ],
)
def test_what_a_run_changes_is_named(program, names):
    text = what_is_changed(program, partial(program, None))
    assert text is not None
    assert text.startswith(f"Runs change {names}, and each run begins with what the one before has left.")
    report = ss.check(program, replicas=[1, 2])
    assert report.verdict == "undecided"
    assert text in str(report)


@pytest.mark.parametrize("program", [keeping, changing_what_is_not_known, partial(print, end="")])
def test_what_stays_and_what_is_not_known_is_not_named(program):
    assert what_is_changed(program, partial(program, "")) is None


def test_of_many_that_change_some_are_named():
    names = {f"N{number}": [0] for number in range(6)}
    exec("def program(strategy):\n    for one in (N0, N1, N2, N3, N4, N5):\n        one[0] += 1\n", names)
    text = what_is_changed(names["program"], partial(names["program"], None))
    assert text is not None
    assert "the global 'N0', the global 'N1', the global 'N2', the global 'N3', and 2 more, and each run" in text


def test_a_program_that_is_repeatable_has_no_such_sentence():
    assert "Runs change" not in str(ss.check(keeping, replicas=[1, 2]))
