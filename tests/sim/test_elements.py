"""An element of the simulator's arrays is an array, in tasks as in compiled steps.  Clauses: E-6, B-21."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.errors import InvalidArgument

COUNT = 3
GIVEN = {
    "a": np.int32([3, 1, 2]),
    "f": np.float32([0.1, 1, 3]),
    "k": np.array([True, False, True]),
    "m": np.float32([[1, 2], [3, 4]]),
    "u": np.uint8([200, 3]),
    "h": np.float16([1.5, 2]),
    "s": np.array(3.5, np.float32),
}


@pytest.fixture
def stacked():
    return ss.Strategy.mirrored(ss.backend("sim", replicas=COUNT, stacked=True))


@pytest.fixture
def arrays():
    """Returns a device's arrays by name, and its array functions."""
    backend = ss.backend("sim", replicas=1)
    return {name: backend.put(value, backend.devices[0]) for name, value in GIVEN.items()} | {"xp": backend.xp}


def form(value):
    """Returns nests with the class, dtype, shape and numbers of each array."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(form, value))
    if isinstance(value, (np.ndarray, np.generic)):
        kind = "device" if hasattr(value, "placement") else type(value)
        return kind, value.dtype.name, value.shape, value.tolist()
    return value


ELEMENTS = """a[0]; a[-1]; f[1]; k[0]; m[1, 0]; m[0][1]; m[..., 0][1]; s[()]; s[...]; f[a[1]]; f[0][None]; f[0:1][0]
[v for v in a]; tuple(f); list(zip(a, f)); [v * 1.5 for v in a]; sum(a); sum(a) * 1.5; (lambda x, *y: (x, y))(*a)
a[0] * 1.5; 1.5 * a[0]; a[0] / 2; 2 / a[0]; a[0] / a[1]; a[0] + f[0]; f[0] - a[0]; a[0] * f; f * a[0]; -a[0]; abs(f[0])
a[0] // 2; 7 % a[0]; a[0] ** 2; 2 ** a[0]; f[0] ** 0.5; ~k[0]; k[0] + 1; k[0] * f[0]; a[0] & 1; a[0] << 1; k[0] | k[1]
a[0] == a[1]; a[0] != 3; 3 > a[0]; f[0] < f[1]; h[0] * 2.5; u[0] * 1.5; u[0] + u[0]; -u[0]; m[0].sum() / 2
f[0].reshape(1); xp.asarray([a[0], 2.5]); xp.asarray([a[0], 2]); xp.asarray([[a[0], f[0]], [2, 3]]); xp.add(a[0], 2.5)
xp.stack([a[0], a[1]]); xp.where(k[0], a[0], 2.5); xp.unstack(a); xp.unstack(m); xp.full((2,), a[0]); xp.sum(a[0])
a.argmax(); f.argmin(); m.argmax(); m.argmax(0); f.dot(f); m.trace(); f.take(0); np.float32([1, 2, 3]) * f[0]
a ** 2.0; 2.0 ** a; a ** f; f ** a; a // 2.0; 2.0 // a; a % f; f % a; k ** 2; k // 1; k % 2; a[0] // f[0]"""
ELEMENTS = [one.strip() for line in ELEMENTS.split("\n") for one in line.split(";")]


@pytest.mark.parametrize("expression", ELEMENTS)
def test_an_expression_of_elements_has_one_class_and_dtype_in_tasks_and_compiled(stacked, expression):
    code = compile(expression, "<expression>", "eval")
    args = [ss.PerReplica([value + rank if value.dtype.kind == "f" else value.copy() for rank in range(COUNT)])
            for value in GIVEN.values()]  # fmt: skip

    def step(*given):
        xp = ss.get_replica_context().xp
        return eval(code, dict(zip(GIVEN, map(xp.asarray, given), strict=True), xp=xp, np=np))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tasks, compiled = (form(locals_of(stacked, stacked.run(one, args))) for one in (step, stacked.compile(step)))
    assert tasks == compiled
    assert "float64" not in str(tasks)
    assert "numpy" not in str(tasks)


def locals_of(strategy, value):
    if isinstance(value, (list, tuple)):
        return type(value)(locals_of(strategy, one) for one in value)
    return tuple(value.values)


def test_an_element_has_memory_of_its_own_and_cannot_be_written_to(arrays):
    whole = arrays["f"].copy()
    element, row = whole[1], arrays["m"].copy()[0]
    whole[1] = 7
    assert float(element) == 1.0
    assert type(element) is type(whole)
    assert element.base is None or element.base.size == 1
    for lost in (lambda: element.__setitem__((), 2.0), lambda: element.__setitem__(..., 2.0)):
        with pytest.raises(InvalidArgument, match="read-only"):
            lost()
    row[0] = 5  # a row is a view, as before
    assert row.tolist() == [5.0, 2.0]
    a, b = whole[0], whole[2]
    whole[0], whole[2] = b, a
    assert whole.tolist() == np.float32([3, 7, 0.1]).tolist()


def test_an_element_is_updated_as_a_new_array(arrays):
    element = before = arrays["f"][1]
    element += 1
    assert (float(element), float(before), float(arrays["f"][1])) == (2.0, 1.0, 1.0)


def test_python_reads_an_element(arrays):
    a, f, k = (arrays[name] for name in "afk")
    assert (float(f[1]), int(a[0]), bool(k[1]), complex(f[1])) == (1.0, 3, False, 1 + 0j)
    assert [type(one) for one in (float(f[1]), int(a[0]), bool(k[0]), f[1].item())] == [float, int, bool, float]
    assert list(range(a[0])) == [0, 1, 2]
    assert "abcd"[a[0]] == "d"
    assert f[: a[1]].tolist() == f[:1].tolist()
    assert a[a > 1].tolist() == [3, 2]
    assert ("yes" if a[0] == a[-3] and not k[1] else "no") == "yes"
    assert [sorted(a), max(a), min(a), sum(a)] == [[1, 2, 3], 3, 1, 6]
    assert 3 in a
    assert a[0] in (1, 2, 3)


def test_an_element_is_formatted_and_printed_as_its_number(arrays):
    a, f, h = (arrays[name] for name in "afh")
    assert f"{f[0]:.3f} {f[0]:>8.2e} {a[0]:4d} {a[0]} {h[0]:g}" == "0.100 1.00e-01    3 3 1.5"
    assert "{:.2f}|{}".format(*f[::2]) == "0.10|3.0"
    assert (str(f[0]), repr(f[0])) == ("0.1", "SimArray(0.1, dtype=float32)")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int32", "bool"])
def test_arrays_are_printed_with_the_digits_of_their_dtype(dtype):
    backend = ss.backend("sim", replicas=1)
    for value in (1 / np.arange(1, 8), np.float32([[0.1, 1 / 3], [1e-8, 12345.678]]), np.array(1 / 3), np.zeros(0)):
        host = value.astype(dtype)
        array = backend.put(host, backend.devices[0])
        assert str(array) == str(host)
        assert repr(array).split() == repr(host).replace("array(", "SimArray(").split()


def test_an_element_is_no_key_as_no_array_is(arrays):
    for one in (arrays["a"][0], arrays["xp"].sum(arrays["a"])):
        with pytest.raises(TypeError, match="unhashable"):
            hash(one)


def test_an_element_is_copied_and_pickled_as_any_array(arrays):
    element = arrays["f"][0]
    for one in (copy.copy(element), copy.deepcopy(element), element.copy()):
        assert type(one) is type(element)
        assert float(one) == float(element)
    host = pickle.loads(pickle.dumps(element))
    assert type(host) is np.ndarray
    assert (host.dtype, host.shape) == (np.float32, ())


def test_functions_of_numpy_and_of_tests_take_elements(arrays):
    f, m = arrays["f"], arrays["m"]
    assert float(np.sqrt(f[2])) == float(np.sqrt(np.float32(3)))
    assert np.isnan(f[0]).item() is False
    assert [float(np.median(f)), int(np.argmax(f)), float(np.linalg.norm(m))] == [1.0, 2, pytest.approx(30**0.5)]
    assert np.array([f[0], f[1]]).dtype == np.float32
    assert f[0] == pytest.approx(0.1)
    assert f == pytest.approx(np.float32([0.1, 1, 3]))
    np.testing.assert_allclose([f[0], f[1]], [0.1, 1.0], rtol=1e-6)
    np.testing.assert_array_equal(f[1], 1.0)
    assert np.asarray(f)[1].__class__ is np.float32  # of the host, where elements are NumPy's


@pytest.mark.parametrize("base", [np.float32, np.float64, np.complex64, np.int32, np.uint8, np.float16])
def test_powers_and_remainders_have_the_bits_of_numpys_operators(base):
    backend = ss.backend("sim", replicas=1)
    host = (np.linspace(0.3, 9, 50) if np.dtype(base).kind in "fc" else np.arange(1, 11)).astype(base)
    array = backend.put(host, backend.devices[0])
    for number in (0, 1, 2, 3, 0.5, 2.0, -1.0, 1.7):
        for name in ("pow", "rpow", "floordiv", "mod"):
            if np.dtype(base).kind in "iu" and type(number) is float:
                continue
            if np.dtype(base).kind == "c" and name in ("floordiv", "mod"):
                continue
            with np.errstate(all="ignore"):
                ours, theirs = (getattr(one, f"__{name}__")(number) for one in (array, host))
            assert type(ours) is type(array)
            assert ours.dtype == theirs.dtype
            assert np.asarray(ours).tobytes() == theirs.tobytes()


def test_a_replicas_element_is_reduced_gathered_and_assigned(stacked):
    with stacked.scope():
        variable = ss.Variable(np.zeros(2, np.float32), aggregation=ss.VariableAggregation.SUM)

    def step(x):
        ctx = ss.get_replica_context()
        variable.assign_add([x[0], 2.5])
        return x[1], ctx.all_reduce("SUM", x[0])

    x = stacked.run(lambda: ss.get_replica_context().xp.asarray([1.0, 2.0]))
    element, total = stacked.run(step, (x,))
    assert [type(one).__name__ for one in element.values] == ["SimArray"] * COUNT
    assert stacked.reduce("SUM", element, axis=None).tolist() == 6.0
    assert [one.tolist() for one in total.values] == [3.0] * COUNT
    assert variable.numpy().tolist() == [3.0, 7.5]
