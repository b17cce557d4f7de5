"""What a program returns that is no plain value: compared in part and listed, refused, or compared in full.

Clauses: J-36
"""

import collections
import functools
import math
import threading

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.errors import InvalidArgument


class Listed(list):
    """A list whose objects have attributes."""


class Text(str):
    """A text whose objects have attributes."""


def with_attribute(made, value):
    made.attribute = value
    return made


def linked(value):
    for _ in range(3000):
        value = [value]
    return value


class Unreadable:
    def __array__(self, dtype=None, copy=None):
        raise ValueError("no array here")


def returning(make, *, wrong):
    """Returns a program whose result depends on the number of replicas, or does not, inside of what `make` returns."""

    def program(strategy):
        count = strategy.num_replicas_in_sync
        results = strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", np.float32(12 / count)))
        total = round(float(strategy.experimental_local_results(results)[0]))
        return make(total + 3 * (count - 1) if wrong else total)

    return program


def verdict(make, *, wrong):
    return ss.check(returning(make, wrong=wrong), replicas=[1, 2])


IN_PART = {
    "a generator": lambda value: (one for one in [value]),
    "an iterator": lambda value: iter([value]),
    "a map": lambda value: map(float, [value]),
    "a view of memory": lambda value: memoryview(bytes([value])),
    "a closure": lambda value: lambda: value,
    "a default": lambda value: lambda x=value: x,
    "a method": lambda value: str(value).count,
    "a method of a list": lambda value: [value].append,
    "a partial function": lambda value: functools.partial(returning, [value].append),
    "a random generator": np.random.default_rng,
    "a lock": lambda value: threading.Lock(),
    "an object of this library": lambda value: ss.data.Dataset.from_tensor_slices([value]),
}


@pytest.mark.parametrize("make", IN_PART.values(), ids=IN_PART)
def test_what_is_compared_by_a_name_alone_is_no_agreement(make):
    report = verdict(make, wrong=True)
    assert report.verdict == "undecided", str(report)
    assert "nothing was compared: result: only its " in str(report)
    assert verdict(make, wrong=False).verdict == "undecided"


def test_what_stands_beside_it_is_compared_and_it_is_listed():
    report = verdict(lambda value: {"loss": 1.5, "rows": iter([value])}, wrong=True)
    assert report.verdict == "agree"
    assert "Not compared: result['rows']: only its text is compared" in str(report)
    assert "All runs agree: 1 value;" in str(report)
    assert verdict(lambda value: {"loss": value, "rows": iter([value])}, wrong=True).verdict == "differ"


def test_what_stands_apart_is_listed_for_backends_and_schedules_too():
    program = returning(lambda value: {"loss": 1.5, "rows": iter([value])}, wrong=False)
    report = ss.check(program, replicas=[2], schedules=[lambda: ss.schedules.Seeded(1)])
    assert report.agrees
    assert "Not compared: result['rows']: only its text is compared" in str(report)


def test_what_is_listed_can_be_exempt():
    program = returning(lambda value: {"loss": 1.5, "rows": iter([value])}, wrong=False)
    report = ss.check(program, replicas=[1, 2], exempt={"rows": "read by the caller"})
    assert report.agrees
    assert "Not compared" not in str(report)


@pytest.mark.parametrize("made", [Listed([1]), Text("a"), collections.UserString("a")], ids=["list", "text", "object"])
def test_attributes_of_derived_built_in_types_are_listed_and_those_of_objects_compared(made):
    report = verdict(lambda value: with_attribute(made, value), wrong=True)
    if isinstance(made, collections.UserString):
        assert report.verdict == "differ"
    else:
        assert f"Not compared: result: the attributes of this {type(made).__qualname__} are not compared" in str(report)


def test_the_value_of_a_derived_built_in_type_is_compared():
    assert verdict(lambda value: Listed([value]), wrong=True).verdict == "differ"
    report = verdict(lambda value: Listed([value]), wrong=False)
    assert report.agrees
    assert "Not compared" not in str(report)


def test_functions_that_hold_nothing_and_classes_are_compared_by_their_names():
    report = verdict(lambda value: [math.sqrt, len, verdict, str, np], wrong=False)
    assert report.agrees
    assert "Not compared" not in str(report)


@pytest.mark.parametrize(
    ("make", "text"),
    [(linked, "nested too deeply to be compared"), (lambda value: Unreadable(), "raised ValueError: no array here")],
)
def test_a_result_that_cannot_be_read_is_an_error_with_advice(make, text):
    with pytest.raises(InvalidArgument, match=rf"What the program returned .*{text}.* Return "):
        verdict(make, wrong=False)


RECORDS = np.array([(1, 2.5), (2, np.nan)], dtype=[("count", "i4"), ("loss", "f4")])


@pytest.mark.parametrize("place", ["after the run", "from the replicas"])
def test_records_are_compared_field_by_field(place):
    def changed(value):
        made = RECORDS.copy()
        made["loss"][0] = value
        return made

    def program(strategy):
        count = strategy.num_replicas_in_sync
        right = strategy.run(lambda: changed(12.0))
        return right if place == "from the replicas" else changed(12.0 + count)

    report = ss.check(program, replicas=[1, 2])
    assert report.verdict == ("agree" if place == "from the replicas" else "differ"), str(report)


@pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble])
def test_long_doubles_are_compared_as_numbers_whatever_their_unused_bytes_are(dtype):
    def program(strategy, add=0.0):
        unused = np.random.default_rng().integers(256, size=64, dtype=np.uint8)
        made = np.frombuffer(unused.tobytes(), dtype)[:1].copy()
        made[...] = 0.5 + add * (strategy.num_replicas_in_sync - 1)
        return made

    assert ss.check(program, replicas=[1, 2]).agrees
    assert ss.check(functools.partial(program, add=0.25), replicas=[1, 2]).verdict == "differ"


class Key:
    """A key that cannot be compared, and whose repr is an address."""


def test_keys_that_only_addresses_distinguish_keep_their_order_and_are_not_compared():
    def program(strategy):
        return {Key(): float(number) for number in range(50)}

    report = ss.check(program, replicas=[1, 2])
    assert report.verdict == "undecided"
    assert "Key object>]: each replica has a value of its own" in str(report)
