"""Every array function in a stacked step gives each replica the bits that its task gives.  Clauses: P-1."""

import numpy as np
import pytest
from vocabulary import ctx

import simstrategy as ss
from simstrategy.device import NAMES

RANKS = 5
UNARY = [
    *("positive", "negative", "abs", "sign", "square", "isfinite", "isinf", "isnan", "conj", "logical_not", "signbit"),
    *("reciprocal", "sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "floor", "ceil", "trunc", "round"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
]
BINARY = [
    *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "maximum", "minimum", "atan2", "copysign"),
    *("hypot", "logaddexp", "nextafter", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("logical_and", "logical_or", "logical_xor", "pow"),
]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]
REDUCTIONS = ["sum", "prod", "mean", "var", "std", "max", "min", "all", "any", "count_nonzero"]
CALLS = {
    **{name: [f"xp.{name}({x})" for x in ("f", "s", "d", "h", "v")] for name in UNARY},
    **{
        name: [
            f"xp.{name}({x})" for x in ("p, p", "p, v", "v, p", "p, 2.0", "s, p", "p, same", "same, s", "s, s", "h, h")
        ]
        for name in BINARY
    },
    **{name: [f"xp.{name}(i, {y})" for y in ("i", "j", "3")] for name in BITS},
    **{
        name: [
            f"xp.{name}({x})"
            for x in ("f", "f, axis=0", "f, axis=-1, keepdims=True", "t, axis=(0, 2)", "s", "h, axis=1")
        ]
        for name in REDUCTIONS
    },
    "bitwise_invert": ["xp.bitwise_invert(i)"],
    "bitwise_left_shift": ["xp.bitwise_left_shift(i, 2)"],
    "bitwise_right_shift": ["xp.bitwise_right_shift(i, j)"],
    "real": ["xp.real(c)"],
    "imag": ["xp.imag(c * c)"],
    "clip": ["xp.clip(f, -0.5, 0.5)", "xp.clip(f, min=v)", "xp.clip(v, s)"],
    "where": ["xp.where(f > 0, f, 0.0)", "xp.where(v > 0, f, same)", "xp.where(s > 0, 1, i)", "xp.where(f > s, f, v)"],
    "asarray": ["xp.asarray(f)", "xp.asarray([1, 2])", "xp.asarray(f, dtype='float16')", "xp.asarray([s, 1.0])"],
    "zeros": ["xp.zeros((2,)) + s"],
    "ones": ["xp.ones((2,)) * v[0]"],
    "full": ["xp.full((2, 3), s)", "xp.full((2,), 7)"],
    "zeros_like": ["xp.zeros_like(f)", "xp.zeros_like(f, dtype='int32') + i"],
    "ones_like": ["xp.ones_like(t)"],
    "full_like": ["xp.full_like(f, 3)", "xp.full_like(same, s)"],
    "arange": ["xp.arange(4) + v"],
    "linspace": ["xp.linspace(0, 1, 4) * v"],
    "eye": ["xp.eye(4) * v"],
    "meshgrid": ["xp.meshgrid(v, v)[0]", "xp.meshgrid(v, xp.arange(2.0), indexing='ij')[1]"],
    "tril": ["xp.tril(f)", "xp.tril(t, k=1)"],
    "triu": ["xp.triu(f, k=-1)"],
    "astype": ["xp.astype(f, 'int32')", "xp.astype(i, 'complex64')", "xp.astype(f > 0, 'float16')"],
    "permute_dims": ["xp.permute_dims(t, (2, 0, 1))", "xp.permute_dims(t, (-1, -2, 0))"],
    "matrix_transpose": ["xp.matrix_transpose(t)"],
    "moveaxis": ["xp.moveaxis(t, 0, -1)", "xp.moveaxis(t, (0, 1), (1, 2))"],
    "reshape": ["xp.reshape(f, (4, 3))", "xp.reshape(t, (-1,))", "xp.reshape(s, (1, 1))", "xp.reshape(f.T, (-1,))"],
    "expand_dims": ["xp.expand_dims(f, axis=0)", "xp.expand_dims(f, axis=-1)", "xp.expand_dims(s, axis=0)"],
    "squeeze": ["xp.squeeze(xp.expand_dims(f, axis=1), 1)", "xp.squeeze(xp.reshape(v, (1, 4, 1)), (0, -1))"],
    "broadcast_to": ["xp.broadcast_to(v, (3, 4))", "xp.broadcast_to(s, (2, 2))"],
    "broadcast_arrays": ["xp.broadcast_arrays(v, f)[0]", "xp.broadcast_arrays(same, s)[1]"],
    "concat": [
        "xp.concat([f, f])",
        "xp.concat([f, i], axis=1)",
        "xp.concat([v, same[0]], axis=-1)",
        "xp.concat([f, v], axis=None)",
    ],
    "stack": ["xp.stack([v, v])", "xp.stack([v, same[0]], axis=-1)", "xp.stack([s, s, 1.0])"],
    "unstack": ["xp.unstack(f)[2]", "xp.unstack(t, axis=-1)[0]"],
    "flip": ["xp.flip(t)", "xp.flip(t, axis=1)", "xp.flip(t, axis=(0, -1))"],
    "roll": ["xp.roll(f, 1)", "xp.roll(f, 1, axis=0)", "xp.roll(f, (1, 2), axis=(0, 1))"],
    "repeat": ["xp.repeat(v, 2)", "xp.repeat(f, 2)", "xp.repeat(f, 3, axis=-1)", "xp.repeat(f, [1, 0, 2], axis=0)"],
    "tile": ["xp.tile(v, (2, 2))"],
    "take": [
        "xp.take(f, [0, 2], axis=0)",
        "xp.take(f, j % 3, axis=0)",
        "xp.take(same, j % 3, axis=0)",
        "xp.take(t, i % 2, axis=-1)",
    ],
    "take_along_axis": ["xp.take_along_axis(f, j % 3, axis=0)", "xp.take_along_axis(f, i % 4)"],
    "cumulative_sum": [
        "xp.cumulative_sum(v)",
        "xp.cumulative_sum(f, axis=0)",
        "xp.cumulative_sum(f, axis=-1, include_initial=True)",
    ],
    "cumulative_prod": ["xp.cumulative_prod(v)", "xp.cumulative_prod(h, axis=1)"],
    "diff": ["xp.diff(f)", "xp.diff(t, axis=0, n=2)", "xp.diff(v, prepend=v[:1])"],
    "matmul": [
        *("xp.matmul(f, f.T)", "xp.matmul(f, v)", "xp.matmul(v, f.T)", "xp.matmul(v, v)", "xp.matmul(f.T, f)"),
        *(
            "xp.matmul(same, f.T)",
            "xp.matmul(f, same.T)",
            "xp.matmul(t, xp.matrix_transpose(t))",
            "xp.matmul(f, t[0].T)",
        ),
        *("xp.matmul(t, v)", "xp.matmul(same, v)", "xp.matmul(v, same.T)", "xp.matmul(i, i.T)", "xp.matmul(h, h.T)"),
        *("xp.matmul(c, c.T)", "xp.matmul(xp.reshape(f, (3, 1, 4)), f.T)", "xp.matmul(t, f.T)", "f @ v", "same[0] @ v"),
        *("xp.matmul(xp.reshape(big, (40, 50)), xp.reshape(big, (50, 40)))", "xp.matmul(f, i.T)"),
    ],
    "vecdot": ["xp.vecdot(f, f)", "xp.vecdot(f, v)", "xp.vecdot(c, c, axis=0)"],
    "tensordot": ["xp.tensordot(f, f)", "xp.tensordot(f, f.T, axes=1)"],
    "argmax": ["xp.argmax(f)", "xp.argmax(f, axis=0)", "xp.argmax(f, axis=-1, keepdims=True)"],
    "argmin": ["xp.argmin(v)", "xp.argmin(f, axis=1)"],
    "searchsorted": ["xp.searchsorted(xp.sort(v), v)", "xp.searchsorted(xp.asarray([0.0, 1.0]), f)"],
    "sort": ["xp.sort(f)", "xp.sort(f, axis=0, descending=True)"],
    "argsort": ["xp.argsort(f)", "xp.argsort(f, axis=0)"],
}
SPECIAL = {
    "lists of arrays": [
        *("xp.take(v, [xp.argmax(v), xp.argmin(v)], axis=0)", "xp.exp([s, s * 2])", "xp.add(v[:2], [s, s * 2])"),
        *("xp.where(v[:2] > 0, [s, s], v[:2])", "xp.reshape([s, s], (2, 1))", "xp.sum([v, v * 2], axis=0)"),
        *("xp.stack(f)", "xp.concat(f)", "xp.diff(v, prepend=[0.0])", "xp.diff(v, append=np.float32([1]))"),
        *("xp.diff(f, append=[[1.0]] * 3)", "v[:2] + [s, s]"),
    ],
    "axes of a number": ["s.sum(axis=0)", "s.sum(-1)", "s.max(0)", "s.sum(())"],
    "reverse order": [
        *(f"xp.{name}({x})" for name in ("exp", "log", "sin", "tanh") for x in ("w[::-1]", "xp.flip(w)", "t[:, ::-1]")),
        *("xp.atan2(w[::-1], 2.0)", "w[::-1] ** 3", "w[::-1] ** 0.3", "xp.sum(w[::-1])", "xp.mean(t[..., ::-1])"),
    ],
}
"""Calls that are rare: lists in the place of an array, arrays in that of a list, axes of a number, layouts."""
OPERATORS = {
    "arithmetic": [
        "f + v",
        "2 - f",
        "f * 0.5",
        "1 / p",
        "p // 0.3",
        "p % v",
        "-f",
        "abs(f)",
        "+f",
        "i // 3",
        "i - f",
        "f + i",
    ],
    "powers": ["p**2", "p**0.5", "p**v", "2**p", "p**s", "i**2"],
    "comparisons": ["f > 0", "f <= v", "f == f", "i != 2", "0 < s"],
    "bits": ["i & j", "~i", "(f > 0) | (v > 0)", "i << 1", "i >> 1", "i ^ 5"],
    "indices": [
        *(
            "f[0]",
            "f[-1, 2]",
            "f[:, 1:3]",
            "f[..., 0]",
            "f[None]",
            "t[1, ..., ::2]",
            "v[()]",
            "s[None]",
            "f[1:2, None, ::-1]",
        ),
        *("f[[0, 2]]", "f[np.array([0, 1]), np.array([2, 3])]", "t[[0, 1], :, [0, 1]]", "f[i[0, 0] % 3]", "f[j % 3]"),
        *("f[np.array([True, False, True])]", "[*f][1]", "len(f) * v"),
    ],
    "methods": [
        *(
            "f.sum()",
            "f.sum(0)",
            "i.sum()",
            "f.mean(axis=-1)",
            "f.max()",
            "t.min((0, 1))",
            "f.reshape(4, 3)",
            "f.T",
            "s.sum()",
        ),
        *(
            "f.reshape((2, 6), order='F')",
            "t.transpose(1, 0, 2)",
            "t.transpose()",
            "t.transpose(None)",
            "f.astype(np.int8)",
            "f.std()",
            "f.copy()",
        ),
        *(
            "f.argmax()",
            "f.argmax(1)",
            "f.ravel()",
            "f.cumsum()",
            "f.dot(v)",
            "f.clip(0, 1)",
            "f.round(1)",
            "(f > 0).any()",
        ),
        *("np.float32(2) * f", "np.ones(4, np.float32) + f", "f.size + f", "f.ndim * v"),
    ],
    "mixed": [
        "f * (f > 0)",
        "i * 0.5",
        "i + np.float64(1)",
        "h * s",
        "(f > 0) + 1",
        "c / 3",
        "xp.divide(i, 3)",
        "xp.exp(i)",
    ],
    "layouts": [
        *(
            "xp.sum(f.T)",
            "xp.sum(f.T, axis=0)",
            "xp.mean(t.T, axis=1)",
            "xp.exp(f.T)",
            "xp.tanh(t[:, ::2])",
            "xp.sum(big)",
        ),
        *("xp.sum(xp.reshape(big, (50, 40)), axis=0)", "xp.mean(big)", "xp.sum(xp.reshape(big, (-1, 1)), axis=0)"),
        *("xp.sum(big + same[0, 0])", "xp.sum(xp.exp(xp.reshape(big, (40, 50)).T), axis=1)", "xp.sum(t[:, 0], axis=0)"),
        *("xp.sum(e)", "xp.sum(e, axis=0)", "e + 1", "xp.concat([e, e])", "xp.mean(xp.astype(big, 'float16'))"),
    ],
}
TEXTS = CALLS | SPECIAL | OPERATORS


def arrays(rank):
    rng = np.random.default_rng(rank)
    normal = rng.normal(size=(3, 4)).astype(np.float32)
    return {
        "f": normal,
        "p": np.abs(normal) + np.float32(0.25),
        "d": rng.normal(size=(2, 3)),
        "h": (np.abs(rng.normal(size=(2, 5))) + 1).astype(np.float16),
        "v": np.abs(rng.normal(size=4)).astype(np.float32),
        "s": np.float32(abs(rng.normal())),
        "t": rng.normal(size=(2, 3, 4)).astype(np.float32),
        "i": rng.integers(1, 50, (3, 4), np.int32),
        "j": rng.integers(1, 5, (3, 4), np.int32),
        "c": (rng.normal(size=(2, 2)) + 1j * rng.normal(size=(2, 2))).astype(np.complex64),
        "big": rng.normal(size=2000).astype(np.float32),
        "w": np.abs(rng.normal(size=300)).astype(np.float32) + np.float32(0.01),
        "e": np.zeros((0, 2), np.float32),
        "same": np.random.default_rng(99).normal(size=(3, 4)).astype(np.float32) ** 2,
    }


@pytest.fixture(scope="module")
def strategy():
    return ss.Strategy.mirrored(ss.backend("sim", replicas=RANKS, stacked=True))


@pytest.fixture(scope="module")
def given(strategy):
    rows = [arrays(rank) for rank in range(RANKS)]
    named = {name: ss.PerReplica([np.asarray(row[name]) for row in rows]) for name in rows[0]}
    return strategy.run(lambda host: {name: ctx().xp.asarray(one) for name, one in host.items()}, args=(named,))


@pytest.mark.parametrize("texts", TEXTS.values(), ids=TEXTS)
def test_a_call_gives_the_bits_of_the_tasks(strategy, given, texts):
    def step(named):
        shared = ctx().all_reduce("SUM", named["same"])  # the same on all replicas, and computed once
        scope = {"xp": ctx().xp, "np": np, **named, "same": shared}
        return [eval(text, scope) for text in texts]

    with np.errstate(all="ignore"):
        tasks = strategy.run(step, args=(given,))
        stacked = strategy.run(strategy.compile(step), args=(given,))
    for text, one, other in zip(texts, stacked, tasks, strict=True):
        found = [np.asarray(part) for part in getattr(one, "values", [one] * RANKS)]
        wanted = [np.asarray(part) for part in getattr(other, "values", [other] * RANKS)]
        for part, like in zip(found, wanted, strict=True):
            assert (part.dtype, part.shape, part.tobytes()) == (like.dtype, like.shape, like.tobytes()), text


def test_the_table_has_every_function():
    assert {*CALLS} == {*NAMES}
