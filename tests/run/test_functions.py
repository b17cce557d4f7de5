"""When two replicas mean the same function."""

import enum
import functools
import os
import subprocess
import sys

import numpy as np
import pytest

from simstrategy.run import function_key


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Callable:
    def __init__(self, number=0):
        self.number = number

    def __call__(self, x):
        return x

    def method(self, x):
        return x

    @classmethod
    def of_class(cls, x):
        return x

    @staticmethod
    def static(x):
        return x


def closing_over(value):
    def inner(strategy, x):
        return value

    return inner


def defaulting(value):
    def inner(strategy, x=1, y=value):
        return x, y

    return inner


def keyword(value):
    def inner(strategy, *, y=value):
        return y

    return inner


def same_code_twice():
    return [lambda strategy: strategy for _ in range(2)]


COMPARED = [
    (1, 2),
    (1, 1.0),
    (1.0, 2.0),
    (1j, 2j),
    ("a", "b"),
    (b"a", b"b"),
    (Colour.RED, Colour.BLUE),
    (None, 0),
    (True, 1),
]


@pytest.mark.parametrize("make", [closing_over, defaulting, keyword])
@pytest.mark.parametrize(("one", "other"), COMPARED, ids=repr)
def test_numbers_strings_enums_and_none_tell_functions_of_one_code_apart(make, one, other):
    assert function_key(make(one)) == function_key(make(one))
    assert function_key(make(one)) != function_key(make(other))
    assert function_key(make(one)).fingerprint() == function_key(make(one)).fingerprint()
    assert function_key(make(one)).fingerprint() != function_key(make(other)).fingerprint()


@pytest.mark.parametrize("make", [closing_over, defaulting, keyword])
def test_arrays_and_other_objects_are_not_compared(make):
    assert function_key(make(np.ones(2))) == function_key(make(np.zeros(3)))
    assert function_key(make([1])) == function_key(make([2]))


def test_functions_made_by_one_line_are_one_and_by_two_lines_are_two():
    one, other = same_code_twice()
    assert one is not other
    assert function_key(one) == function_key(other)
    first = lambda strategy: strategy  # noqa: E731 - the line is what matters
    second = lambda strategy: strategy  # noqa: E731
    assert function_key(first) != function_key(second)
    assert function_key(first).fingerprint() != function_key(second).fingerprint()


def test_the_same_bytecode_with_other_constants_is_another_function():
    one, other = (lambda s: s + 1), (lambda s: s + 2)
    assert function_key(one) != function_key(other)
    assert function_key(one).fingerprint() != function_key(other).fingerprint()


def test_a_partial_is_its_function_and_its_numbers():
    one, two = functools.partial(closing_over, 1), functools.partial(closing_over, 2)
    assert function_key(one) == function_key(functools.partial(closing_over, 1))
    assert function_key(one) != function_key(two)
    assert function_key(one) != function_key(closing_over)
    named = functools.partial(closing_over, value=1)
    assert function_key(named) == function_key(functools.partial(closing_over, value=1))
    assert function_key(named) != function_key(functools.partial(closing_over, value=2))
    assert function_key(functools.partial(one, 3)) == function_key(
        functools.partial(functools.partial(closing_over, 1), 3)
    )
    assert function_key(functools.partial(closing_over, np.ones(1))) == function_key(
        functools.partial(closing_over, [2])
    )


def test_bound_methods_of_different_objects_are_one_function():
    assert function_key(Callable(1).method) == function_key(Callable(2).method)
    assert function_key(Callable().method) == function_key(Callable.method)
    assert function_key(Callable().of_class) == function_key(Callable.of_class)
    assert function_key(Callable().method) != function_key(Callable().of_class)
    assert function_key(Callable.static) != function_key(Callable.method)


def test_callable_objects_are_told_by_their_type():
    key = function_key(Callable(1))
    assert key == function_key(Callable(2))
    assert key.name == "Callable"
    assert key.site is None
    assert key != function_key(functools.partial(Callable(1), 5))


def test_built_in_functions_are_told_by_their_name():
    assert function_key(len) == function_key(len)
    assert function_key(len) != function_key(max)
    assert function_key(np.add) != function_key(len)


def test_a_wrapped_function_is_the_one_inside():
    @functools.wraps(defaulting)
    def wrapper(*args):
        return defaulting(*args)

    assert function_key(wrapper) == function_key(defaulting)


def test_a_closure_variable_that_is_not_bound_yet_is_not_compared():
    def unbound():
        def inner():
            return late

        key = function_key(inner)
        late = 1
        return key, function_key(inner)

    before, after = unbound()
    assert before.values == ()
    assert after.values == (("late", "1"),)


def test_a_key_is_written_with_name_place_and_values():
    key = function_key(closing_over(5))
    line = closing_over.__code__.co_firstlineno + 1
    assert str(key) == f"inner (test_functions.py:{line}) with value=5"
    assert str(function_key(closing_over(Colour.RED))).endswith("with value=Colour.RED")
    assert str(function_key(len)) == "len"


FINGERPRINT = """
from simstrategy.run import function_key
def outer(value):
    def inner(x):
        def deep():
            return {"a", "b", "c", "d"}
        return x in {"alpha", "beta", "gamma", "delta"}, deep, value
    return inner
print(function_key(outer(3)).fingerprint())
"""


@pytest.mark.slow
def test_a_fingerprint_is_the_same_in_processes_with_different_hash_seeds(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(FINGERPRINT)
    printed = {
        subprocess.run(
            [sys.executable, str(file)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(printed) == 1
