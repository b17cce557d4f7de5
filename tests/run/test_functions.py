"""When two replicas mean the same function."""

import dataclasses
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

    def reading(self, x):
        return x * self.number

    def indirect(self, x):
        return self.reading(x)

    def by_property(self, x):
        return x * self.twice

    @property
    def twice(self):
        return 2 * self.number

    @classmethod
    def of_class(cls, x):
        return x

    @staticmethod
    def static(x):
        return x


class Other:
    def __call__(self, x):
        return x


class Reader:
    def __init__(self, number):
        self.number = number

    def __call__(self, x):
        return x * self.number


@dataclasses.dataclass(slots=True)
class Config:
    scale: int
    label: str


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
    (np.float32(1), np.float32(2)),
    (np.float32(1), np.float64(1)),
    (np.int64(1), 1),
    ([1], [2]),
    ((1, 2), (1, 3)),
    ((1, 2), [1, 2]),
    ({"a": (1, [2])}, {"a": (1, [3])}),
    ({"a": 1}, {"b": 1}),
    ({1, 2}, {1, 3}),
    (None, [1]),
    (len, max),
    (int, float),
    (np.add, np.multiply),
    (functools, enum),
]


@pytest.mark.parametrize("make", [closing_over, defaulting, keyword])
@pytest.mark.parametrize(("one", "other"), COMPARED, ids=repr)
def test_plain_values_and_containers_of_them_distinguish_functions_of_one_code(make, one, other):
    assert function_key(make(one)) == function_key(make(one))
    assert function_key(make(one)) != function_key(make(other))
    assert function_key(make(one)).fingerprint() == function_key(make(one)).fingerprint()
    assert function_key(make(one)).fingerprint() != function_key(make(other)).fingerprint()


@pytest.mark.parametrize("make", [closing_over, defaulting, keyword])
def test_arrays_and_other_objects_are_no_certain_difference(make):
    assert function_key(make(np.ones(2))) == function_key(make(np.zeros(3)))
    assert function_key(make(object())) == function_key(make(object()))
    assert function_key(make(iter([1]))) == function_key(make(iter([2])))


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
        functools.partial(closing_over, np.zeros(2))
    )
    assert function_key(functools.partial(closing_over, np.ones(1))) != function_key(
        functools.partial(closing_over, [2])
    )


def test_bound_methods_are_one_function_where_their_objects_differ_in_nothing_that_they_read():
    assert function_key(Callable(1).method) == function_key(Callable(2).method)
    assert function_key(Callable(1).reading) == function_key(Callable(1).reading)
    assert function_key(Callable(1).reading) != function_key(Callable(2).reading)
    assert function_key(Callable(1).indirect) != function_key(Callable(2).indirect)
    assert function_key(Callable(1).by_property) != function_key(Callable(2).by_property)
    assert function_key(Callable().method) != function_key(Callable.method)
    assert function_key(Callable().of_class) == function_key(Callable.of_class)
    assert function_key(Callable().method) != function_key(Callable().of_class)
    assert function_key(Callable.static) != function_key(Callable.method)


def test_callable_objects_are_distinguished_by_their_type_and_what_their_call_reads():
    key = function_key(Callable(1))
    assert key == function_key(Callable(2))
    assert key != function_key(Other())
    assert function_key(Reader(1)) == function_key(Reader(1))
    assert function_key(Reader(1)) != function_key(Reader(2))
    assert function_key(Reader(np.ones(1))) == function_key(Reader(np.zeros(1)))
    assert key.name == "Callable"
    assert key.site is None
    assert key != function_key(functools.partial(Callable(1), 5))


def test_built_in_functions_are_told_by_their_name():
    assert function_key(len) == function_key(len)
    assert function_key(len) != function_key(max)
    assert function_key(np.add) != function_key(len)


def wrapped(inner, factor=1):
    @functools.wraps(inner)
    def wrapper(*args):
        return factor * inner(*args)

    return wrapper


def wrapped_otherwise(inner):
    @functools.wraps(inner)
    def wrapper(*args):
        return -inner(*args)

    return wrapper


def test_a_decorated_function_is_its_wrapper_and_the_function_inside_and_has_the_name_of_that():
    key = function_key(wrapped(defaulting))
    assert (key.name, key.site) == ("defaulting", function_key(defaulting).site)
    assert key == function_key(wrapped(defaulting))
    assert key.fingerprint() == function_key(wrapped(defaulting)).fingerprint()
    others = defaulting, wrapped(keyword), wrapped(defaulting, 2), wrapped_otherwise(defaulting)
    for other in map(function_key, others):
        assert key != other
        assert key.fingerprint() != other.fingerprint()
    found = key.difference(function_key(wrapped_otherwise(defaulting)))
    assert found.startswith("the function: ")


def test_functions_inside_functions_are_compared():
    def using(helper):
        return lambda strategy, x: helper(x)

    one, other = closing_over(1), closing_over(2)
    assert function_key(using(one)) == function_key(using(closing_over(1)))
    assert function_key(using(one)) != function_key(using(other))
    assert function_key(using(one)).fingerprint() == function_key(using(closing_over(1))).fingerprint()
    assert function_key(using(one)).fingerprint() != function_key(using(other)).fingerprint()
    assert function_key(using([one, 1])) != function_key(using([other, 1]))
    assert function_key(using(functools.partial(one, x=1))) != function_key(using(functools.partial(other, x=1)))
    assert function_key(using(functools.lru_cache(one))) != function_key(using(functools.lru_cache(other)))
    assert function_key(using(Callable(1).reading)) != function_key(using(Callable(2).reading))
    assert str(function_key(using(one))).endswith("with helper.value=1")


def test_attributes_of_a_function_count_where_its_code_names_them():
    def marked(**marks):
        def inner(strategy):
            return inner.scale

        inner.__dict__.update(marks)
        return inner

    assert function_key(marked(scale=1, autograph_mark=1)) == function_key(marked(scale=1))
    assert function_key(marked(scale=1)) != function_key(marked(scale=2))
    assert "mark" not in str(function_key(marked(scale=1, autograph_mark=1)))


def test_functions_that_hold_themselves_or_each_other_are_compared():
    def recursive(value):
        def inner(x):
            return inner(x - value)

        return inner

    assert function_key(recursive(1)) == function_key(recursive(1))
    assert function_key(recursive(1)) != function_key(recursive(2))
    assert function_key(recursive(1)).fingerprint() == function_key(recursive(1)).fingerprint()
    assert str(function_key(recursive(1))).endswith("with value=1")


def test_one_code_with_other_globals_is_another_function():
    def made(value):
        names = {"value": value}
        exec(CODE, names)
        return names["function"]

    assert function_key(made(1)) == function_key(made(1))
    assert function_key(made(1)) != function_key(made(2))


CODE = compile("def function(strategy): return value", "module.py", "exec")


def test_objects_of_one_class_are_compared_by_the_attributes_that_the_code_names():
    def reading(config):
        return lambda strategy: config.scale

    def ignoring(config):
        return lambda strategy: config

    assert function_key(reading(Config(1, "a"))) == function_key(reading(Config(1, "b")))
    assert function_key(reading(Config(1, "a"))) != function_key(reading(Config(2, "a")))
    assert function_key(ignoring(Config(1, "a"))) == function_key(ignoring(Config(2, "a")))
    difference = function_key(reading(Config(1, "a"))).difference(function_key(reading(Config(2, "a"))))
    assert difference == "config.scale: 1 and 2"


def test_a_closure_variable_that_is_not_bound_yet_is_not_compared():
    def unbound():
        def inner():
            return late

        before = function_key(inner).values
        late = 1
        return before, function_key(inner).values

    before, after = unbound()
    assert before == ()
    assert after == (("late", "1"),)


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
            timeout=300,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(printed) == 1
