"""An element of an array has one class, dtype and value on every backend.  Clauses: E-6, V-7, B-21."""

import importlib.util
import os

import numpy as np
import pytest

import simstrategy as ss

GIVEN = {
    "a": np.int32([3, 1, 2]),
    "f": np.float32([2.5, 1, 3]),
    "k": np.array([True, False, True]),
    "m": np.float32([[1, 2], [3, 4]]),
    "u": np.uint8([200, 3]),
    "h": np.float16([1.5, 2]),
    "c": np.complex64([1 + 2j]),
    "s": np.array(3.5, np.float32),
}
EVERYWHERE = """a[0]; a[-1]; k[0]; m[1, 0]; m[0][1]; m[..., 0]; s[...]; f[a[1]]; f[0:1][0]; f[0][None]; c[0]
[v for v in a]; tuple(f); list(zip(a, f)); sum(a); sum(f); sorted(a); max(a); min(f); (lambda x, *y: (x, y))(*a)
a[0] * 2; a[0] // 2; 7 % a[0]; a[0] ** 2; f[0] ** 0.5; -a[0]; abs(f[0]); ~k[0]; a[0] + a[1]; u[0] + u[0]; h[0] * 2.5
f[0] / f[1]; 1 - f[0]; f[0] * f; f[0] < f[1]; a[0] == 3; a[0] != a[1]; k[0] & k[1]; a[0] & 1; f[1] > 0 and f[0] < 9
xp.asarray(a[0]); xp.asarray([a[0], a[1]]); xp.asarray([a[0], 2.5]); xp.asarray([2.5, a[0]]); xp.asarray([a[0], 2])
xp.asarray([f[0], 2.5]); xp.asarray([f[0], a[0]]); xp.asarray([a[0], f[0]]); xp.asarray([[a[0], 1.5], [2, 3]])
xp.asarray([k[0], 2]); xp.asarray([k[0], True]); xp.asarray([u[0], 3]); xp.asarray([h[0], 2.5]); xp.asarray([c[0], 1])
xp.asarray([a[0], 1j]); xp.asarray([xp.sum(a), 2.5]); xp.asarray((a[0], 2.5), dtype="float32")
xp.add([a[0], 2.5], f[:2]); xp.add(a[0], 2.5); xp.stack([f[0], f[1]]); xp.where(k[0], a[0], 2.5)
xp.unstack(a); xp.unstack(m); xp.full((2,), a[0]); xp.sum(a[0]); xp.maximum(a[0], 0); xp.reshape(a[0], (1,))
xp.divide(a[0], 2); xp.astype(a[0], "float32"); ctx.all_reduce("SUM", f[0]); ctx.all_reduce("SUM", [a[0], f[0]])
ctx.all_reduce("SUM", f)[0]; xp.sum(f) / f[0]
float(f[0]); int(a[0]); bool(a[0]); complex(f[0]); list(range(a[0])); "abcd"[a[0]]; f[:a[1]]; a[a > 1]; 3 in a
f"{f[0]:.3f} {a[0]:4d}"; "{:.2f}".format(f[0]); 1 if a[0] == a[0] else 2; not a[0]; a[0] and 5; len(m[0]); a[0].ndim"""
OPERATORS = """a[0] * 1.5; 1.5 * a[0]; a[0] / 2; 2 / a[0]; a[0] / a[1]; a[0] + f[0]; f[0] - a[0]; a[0] * f; f * a[0]
[v * 1.5 for v in a]; sum(a) * 1.5; a[0] ** 2.0; a ** 2.0; 2.0 ** a; a ** f; f ** a; a // 2.0; 2.0 // a; a // f; a % f
f % a; a[0] // f[0]; 2.0 ** a[0]; k * 1.5; k[0] / 2; u[0] * 1.5; a[0] << 1; m[0].sum() / 2; f[0].reshape((1,))
k[0] * f[0]; f.dot(f); m.trace(); f @ f"""
"""Those that TensorFlow refuses, or computes in another dtype."""


def each(text):
    return [one.strip() for line in text.split("\n") for one in line.split(";")]


def backend_of(name):
    framework = "jax" if name == "xla" else name
    if name != "sim" and not (importlib.util.find_spec(framework) and importlib.util.find_spec(f"simstrategy_{name}")):
        pytest.skip(f"{framework} is not installed")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return ss.backend(name, replicas=1)


@pytest.fixture(scope="module")
def sim():
    return backend_of("sim")


@pytest.fixture(scope="module", params=["torch", "tensorflow", "xla"])
def other(request):
    return backend_of(request.param)


def found(backend, expression):
    """Returns what an expression gives in a replica: the class, dtype, shape and numbers of arrays."""
    code = compile(expression, "<expression>", "eval")

    def form(value):
        if isinstance(value, (list, tuple)):
            return type(value)(map(form, value))
        if isinstance(value, backend.array_types):
            shape, dtype, _ = backend.spec(value)
            return "device", tuple(shape), dtype, backend.get(value).tolist()
        return type(value), value

    def step():
        ctx = ss.get_replica_context()
        names = {name: ctx.xp.asarray(value) for name, value in GIVEN.items()}
        return form(eval(code, names | {"xp": ctx.xp, "ctx": ctx}))

    return ss.Strategy.mirrored(backend).run(step)


@pytest.mark.parametrize("expression", each(EVERYWHERE))
def test_an_element_is_the_same_on_every_backend(sim, other, expression):
    assert alike(found(sim, expression), found(other, expression))


@pytest.mark.parametrize("expression", each(OPERATORS))
def test_operators_compute_elements_in_one_dtype(sim, other, expression):
    if other.name == "tensorflow":
        pytest.skip("TensorFlow's operators do not promote")
    assert alike(found(sim, expression), found(other, expression))


def alike(one, two):
    """Returns whether two results are equal, their numbers up to rounding."""
    if isinstance(one, (list, tuple)) and isinstance(two, (list, tuple)):
        return type(one) is type(two) and len(one) == len(two) and all(map(alike, one, two))
    return one == pytest.approx(two, rel=1e-6) if isinstance(one, (float, complex)) else one == two
