"""State of `jax.pmap` that began equal on all devices: what must stay equal, and what a device may keep for itself.

Clauses: J-60, J-82.
"""

import textwrap

import jax
import jax.numpy as jnp
import pytest

import simstrategy as ss
from simstrategy.check.programs import load_program
from simstrategy_xla.mesh_check.partaking import added_up

HEAD = """
import functools
import jax, jax.numpy as jnp, numpy as np
import simstrategy as ss
from jax.sharding import Mesh

ROWS = np.random.default_rng(0).normal(size=(24, 6)).astype(np.float32)
TARGETS = np.sin(ROWS[:, :1]).astype(np.float32)
pmap = functools.partial(jax.pmap, axis_name="batch")

def replicated(tree):
    return jax.tree.map(lambda one: jnp.stack([one] * jax.local_device_count()), tree)

def parts(array):
    return array.reshape(jax.local_device_count(), -1, *array.shape[1:])

def loss_of(params, rows, targets):
    hidden = jnp.tanh(rows @ params["first"] + params["bias"])
    return jnp.mean((hidden @ params["last"] - targets) ** 2)
"""

NETWORK = """
def program(mesh: Mesh):
    @pmap
    def step(params, rows, targets):
        gradients = jax.grad(loss_of)(params, rows, targets)
        {reduce}
        return jax.tree.map(lambda one, gradient: one - 0.1 * gradient, params, gradients)

    @pmap
    def other_step(weights, rows):  # its argument has the name of the other one's, and its devices stay equal
        return weights - 0.1 * jax.lax.pmean(jax.grad(lambda one: jnp.mean(jnp.tanh(rows @ one)))(weights), "batch")

    @pmap
    def narrow_step(weights, rows):
        gradient = jax.grad(lambda one: jnp.mean((rows @ one) ** 2))(weights)
        {reduce_narrow}
        return weights - gradient

    keys = jax.random.split(jax.random.key(0))
    params = replicated({{
        "first": jax.random.normal(keys[0], (6, 8)), "bias": jnp.zeros(8), "last": jax.random.normal(keys[1], (8, 1)),
    }})
    other, narrow = replicated((jnp.ones(6), jnp.ones(6, jnp.bfloat16)))
    for _ in range(5):
        params = step(params, parts(ROWS), parts(TARGETS))
        other, narrow = other_step(other, parts(ROWS)), narrow_step(narrow, parts(ROWS).astype(jnp.bfloat16))
    return {{"params": params, "other": other, "narrow": narrow, "steps": 5}}
"""

STATISTICS = """
def program(mesh: Mesh):
    @pmap
    def step(weights, mean, largest, key, rows):
        key, own = jax.random.split(key)
        gradient = jax.grad(lambda one: jnp.mean((jnp.tanh(rows @ one) - 1) ** 2))(weights)
        mean = 0.9 * mean + 0.1 * rows.mean(0)
        largest = jax.lax.fori_loop(0, 2, lambda turn, one: jnp.maximum(one, rows[turn].max()), largest)
        return weights - 0.1 * jax.lax.pmean(gradient, "batch"), mean, largest, key, jax.random.normal(own, (2,))

    weights, mean, largest = replicated((jnp.zeros(6), jnp.zeros(6), jnp.zeros(())))
    keys = jax.random.split(jax.random.PRNGKey(0), jax.local_device_count())
    for _ in range(4):
        weights, mean, largest, keys, noise = step(weights, mean, largest, keys, parts(ROWS))
    weights = weights{used}
    return {{"weights": weights[0], "keys": keys, "noise": noise, "mean": {mean}, "largest": {largest}}}
"""


def checked(tmp_path, text, **settings):
    file = tmp_path / "train.py"
    file.write_text(HEAD + textwrap.dedent(text))
    return ss.check(load_program(file), replicas=[1, 2], **settings)


@pytest.mark.slow
@pytest.mark.deep
def test_parameters_that_no_collective_keeps_equal_are_found_where_a_record_rounds_otherwise(tmp_path):
    report = checked(tmp_path, NETWORK.format(reduce="", reduce_narrow=""))
    assert [one.law for one in report.findings] == ["replicas", "state"], str(report)
    text = report.findings[1].text
    for path in ("['params']['first']", "['params']['bias']", "['params']['last']", "['narrow']"):
        assert f"result{path} must be equal on all replicas, and is not" in text, text
    assert "result['other']" not in str(report)


@pytest.mark.slow
@pytest.mark.deep
def test_parameters_that_a_collective_keeps_equal_agree(tmp_path):
    means = [f'{name} = jax.lax.pmean({name}, "batch")' for name in ("gradients", "gradient")]
    report = checked(tmp_path, NETWORK.format(reduce=means[0], reduce_narrow=means[1]))
    assert report.agrees, str(report)
    assert "Not compared" not in str(report)


@pytest.mark.slow
@pytest.mark.deep
def test_statistics_that_a_device_keeps_for_itself_are_not_judged_and_agree_where_they_are_exempt(tmp_path):
    kept = STATISTICS.format(used="", mean="mean", largest="largest")
    report = checked(tmp_path, kept)
    assert report.verdict == "undecided", str(report)
    assert report.findings == ()
    for name in ("mean", "largest"):
        assert f"result['{name}']: it began equal on all replicas and does not end so" in str(report)
    report = checked(tmp_path, kept, exempt={"mean": "local", "largest": "local"})
    assert report.agrees, str(report)
    for name in ("keys", "noise"):
        assert f"Not compared: result['{name}']: each replica has a value of its own" in str(report)


@pytest.mark.slow
@pytest.mark.deep
def test_a_statistic_with_which_another_function_computes_must_be_equal(tmp_path):
    used = " + 0 * pmap(jnp.tanh)(mean)"
    report = checked(tmp_path, STATISTICS.format(used=used, mean="mean", largest="0"))
    assert "state" in [one.law for one in report.findings], str(report)
    assert "result['mean'] must be equal on all replicas" in str(report)


def twice(rows):
    return lambda kept: (kept[0] + 1, kept[1] + rows[0])


@pytest.mark.parametrize(
    ("function", "added"),
    [
        (lambda one, rows: 0.9 * one + rows.sum(), True),
        (lambda one, rows: one / 2 - jnp.where(rows[0] > 0, rows[0], 0.0), True),
        (lambda one, rows: jnp.where(rows[0] > 0, one, one + rows[0]), True),
        (lambda one, rows: jax.lax.fori_loop(0, 3, lambda turn, kept: kept + rows[turn], one), True),
        (lambda one, rows: jax.lax.while_loop(lambda kept: kept[0] < 3, twice(rows), (0, one))[1], True),
        (lambda one, rows: jax.jit(jax.checkpoint(lambda kept: kept + rows[0]))(one), True),
        (lambda one, rows: jax.lax.cond(rows[0] > 0, lambda kept: kept + 1, lambda kept: 2 * kept, one), True),
        (lambda one, rows: one + rows[0] * one, False),
        (lambda one, rows: one + jnp.tanh(one), False),
        (lambda one, rows: jax.lax.fori_loop(0, 3, lambda turn, kept: kept * rows[turn], one), False),
        (lambda one, rows: jax.lax.while_loop(lambda kept: kept < 3, lambda kept: kept + rows[0], one), False),
        (lambda one, rows: jax.lax.cond(one > 0, lambda kept: kept + 1, lambda kept: kept, one), False),
        (lambda one, rows: rows[jnp.int32(one)] + one, False),
    ],
)  # fmt: skip
def test_what_is_only_added_up_is_told_from_what_is_computed_with(function, added):
    jaxpr = jax.make_jaxpr(function)(jnp.ones(()), jnp.ones(3)).jaxpr
    assert added_up(jaxpr)[0] == (frozenset({0}) if added else None)


def test_what_a_collective_returns_depends_on_no_device_alone():
    def step(speed, gradient):
        speed = 0.9 * speed + gradient
        return speed, jax.lax.psum(speed, "batch") ** 2

    jaxpr = jax.make_jaxpr(step, axis_env=[("batch", 2)])(jnp.ones(3), jnp.ones(3)).jaxpr
    assert added_up(jaxpr) == (frozenset({0}), frozenset({0}))


COPIES = """
def program(mesh: Mesh):
    @pmap
    def step(kept, rows, targets):
        params, average, turn = kept
        gradients = jax.grad(loss_of)(params, rows, targets)
        gradients = jax.tree.map(lambda one: jax.lax.psum(one, "batch"), gradients)
        late = jnp.where(turn % 2 == 1, 0.1, 0.0)  # an update in every second step
        params = jax.tree.map(lambda one, gradient: one - late * gradient, params, gradients)
        average = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, average, params)
        return params, average, turn + 1

    keys = jax.random.split(jax.random.key(0))
    params = replicated({"bias": jnp.zeros(8), "first": jax.random.normal(keys[0], (6, 8)), "last": jnp.zeros((8, 1))})
    kept = params, params, replicated(0)
    for _ in range(4):
        kept = step(kept, parts(ROWS), parts(TARGETS))
    return jax.tree.map(lambda one: np.asarray(one[0]), kept[0])
"""


@pytest.mark.deep
@pytest.mark.slow
def test_copies_of_state_that_begin_equal_are_no_examples_of_the_batch(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(HEAD + COPIES))
    (found,) = ss.check(load_program(str(path), "program"), replicas=[1, 2]).findings
    assert "summed where averaged was meant" in found.cause, found.cause
    assert "example" not in found.cause.partition("The kind is")[0]
    assert "duplicated samples" not in found.cause
