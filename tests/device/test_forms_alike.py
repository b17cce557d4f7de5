"""Calls of `xp` with too few or too many arguments, or a framework's own, are refused alike.  Clauses: B-22."""

import importlib.util
import inspect
import os

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.device import NAMES, ArrayNamespace
from simstrategy.errors import InvalidArgument, InvalidType

OTHERS = {
    "out": None,
    "where": True,
    "name": "n",
    "dtype": "float32",
    "initial": 0,
    "keep_dims": True,
    "casting": "no",
    "order": "C",
    "mode": "clip",
    "ddof": 1,
    "dim": 0,
    "subok": False,
    "precision": None,
    "x1": 1,
    "nosuch": 1,
}
"""Settings that some framework's functions of these names take."""
SPECIAL = {
    "shape": (2, 2),
    "axis": 0,
    "axes": (1, 0),
    "dtype": "float32",
    "stop": 2,
    "n_rows": 2,
    "num": 3,
    "repeats": 2,
}
SPECIAL |= {"repetitions": (1, 2), "shift": 1, "source": 0, "destination": 1, "fill_value": 1, "start": 0}


@pytest.fixture(scope="module")
def sim():
    return ss.backend("sim", replicas=1).xp


@pytest.fixture(scope="module", params=["torch", "tensorflow", "xla"])
def xp(request):
    framework = "jax" if request.param == "xla" else request.param
    if importlib.util.find_spec(framework) is None or importlib.util.find_spec(f"simstrategy_{request.param}") is None:
        pytest.skip(f"{framework} is not installed")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return ss.backend(request.param, replicas=1).xp


def parameters(name):
    return list(inspect.signature(getattr(ArrayNamespace, name)).parameters.values())[1:]


def arguments(xp, name):
    """Returns what a function needs, by place and by name."""
    array = xp.asarray(np.float32([[3, -2]] if name == "squeeze" else [[3, -2], [1, 4]]))
    given = {**SPECIAL, "arrays": [array, array], "indices": xp.asarray(np.int32([1, 0]))}
    needed = [one for one in parameters(name) if one.default is one.empty]
    named = {one.name: given.get(one.name, array) for one in needed if one.kind is one.KEYWORD_ONLY}
    return [given.get(one.name, array) for one in needed if one.kind is not one.KEYWORD_ONLY], named


def refused(xp, name, placed, named):
    """Returns the text of the error of a call."""
    with pytest.raises(InvalidType) as caught:
        getattr(xp, name)(*placed, **named)
    return str(caught.value)


def wrong(xp, name):
    """Yields calls with arguments that the function does not have, or without those that it needs."""
    declared = parameters(name)
    placed, named = arguments(xp, name)
    several = any(one.kind is one.VAR_POSITIONAL for one in declared)
    if not several:
        for count in range(len(placed)):
            yield placed[:count], named
        yield [*placed, *(0 for one in declared if one.kind is not one.KEYWORD_ONLY), 0], named
        for one, value in zip(declared, placed, strict=False):
            yield placed, {**named, one.name: value}  # by place and by name
        if placed and declared[len(placed) - 1].kind is inspect.Parameter.POSITIONAL_ONLY:
            yield placed[:-1], {**named, declared[len(placed) - 1].name: placed[-1]}
    for key in named:
        yield placed, {other: value for other, value in named.items() if other != key}
    for key, value in OTHERS.items():
        if key not in {one.name for one in declared if one.kind is not one.POSITIONAL_ONLY}:
            yield placed, {**named, key: value}


@pytest.mark.parametrize("name", NAMES)
def test_a_call_that_the_protocol_does_not_have_is_refused_alike(sim, xp, name):
    for ours, theirs in zip(wrong(sim, name), wrong(xp, name), strict=True):
        text = refused(sim, name, *ours)
        assert text.startswith(f"xp.{name}(")
        assert refused(xp, name, *theirs) == text


REFUSED = {
    "zeros": [((shape,), {}) for shape in (-1, 2.5, "a", None, (2, -3), 2**70)],
    "ones": [((shape,), {}) for shape in (-1, 2.5, "a", None)],
    "reshape": [((None,), {}), (((-2,),), {}), (((-3, 2),), {}), ((-2,), {}), (((2.5,),), {})],
    "take": [(([0, 1],), {"axis": None})],
    "permute_dims": [(((0, 0),), {}), ((None,), {})],
}
"""Arguments that some framework takes for others, or refuses in the name of another function, after an array."""


@pytest.mark.parametrize("name", list(REFUSED))
def test_values_that_a_function_does_not_have_are_refused_alike(sim, xp, name):
    for given, named in REFUSED[name]:
        found = []
        for one in (sim, xp):
            placed = given if name in ("zeros", "ones") else (one.asarray(np.float32([[3, -2], [1, 4]])), *given)
            with pytest.raises((InvalidType, InvalidArgument)) as caught:
                getattr(one, name)(*placed, **named)
            found.append((type(caught.value), str(caught.value)))
        assert found[0] == found[1]
        assert found[0][1].startswith(f"xp.{name}(")


def test_a_shape_with_an_empty_axis_or_of_numpy_numbers_is_reshaped(sim, xp):
    for one in (sim, xp):
        x = one.ones((2, 3))
        for shape in ((3, -1), [3, 2], (np.int64(6),), np.int64(-1), (-1, 3)):
            assert tuple(one.reshape(x, shape).shape) in {(3, 2), (6,), (2, 3)}
        assert tuple(one.reshape(one.ones((0, 3)), (3, 0)).shape) == (3, 0)
        assert tuple(one.reshape(one.ones((1,)), []).shape) == ()


def test_bool_takes_no_integer_however_large():
    with ss.Strategy.mirrored("sim", replicas=2).scope():
        flag = ss.Variable(True)
    for number in (3, 2**70, [2**200, 1]):
        with pytest.raises(InvalidType, match="no int becomes bool"):
            flag.assign(number)


def test_named_arguments_of_a_run_have_names():
    strategy = ss.Strategy.mirrored("sim", replicas=2)
    with pytest.raises(InvalidType, match=r"kwargs, got the keys \[1\]"):
        strategy.run(lambda **_: None, kwargs={1: 2})
