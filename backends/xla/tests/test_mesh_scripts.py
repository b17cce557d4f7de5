"""Scripts of JAX that make their mesh themselves are judged as they are.

Clauses: J-117, J-118, J-119, J-120, J-121.
"""

import pytest

import simstrategy as ss
from simstrategy.check.programs import load_program
from simstrategy.errors import InvalidArgument

HEAD = """\
import argparse
import functools
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
DEVICES = jax.local_device_count()
ROWS = np.random.default_rng(0).normal(size=(96, 4)).astype(np.float32)
TARGETS = ROWS.sum(1)
"""

PMAP = """
@functools.partial(jax.pmap, axis_name="i")
def update(params, key, x, y):
    def loss_of(params):
        hidden = jnp.tanh(x @ params["first"])
        DROP
        return jnp.mean((hidden @ params["last"] - y) ** 2)
    loss, gradients = jax.value_and_grad(loss_of)(params)
    gradients = REDUCED
    return jax.tree.map(lambda one, gradient: one - 0.05 * gradient, params, gradients), loss

def parts(array):
    return array.reshape(DEVICES, -1, *array.shape[1:])

def train(params, batch):
    key = jax.random.key(0)
    for step in range(3):
        key, own = jax.random.split(key)
        x, y = [parts(one[batch * step : batch * (step + 1)]) for one in (ROWS, TARGETS)]
        params, loss = update(params, jax.random.split(own, DEVICES), x, y)
        print(float(loss.mean()))
    return params

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=12)
    first = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
    params = jax.tree.map(lambda one: jnp.stack([one] * DEVICES), {"first": first, "last": jnp.zeros(3)})
    train(params, parser.parse_args().batch)
"""
MEAN = 'jax.lax.pmean(gradients, "i")'
DROP = "hidden = jnp.where(jax.random.bernoulli(key, 0.8, hidden.shape), hidden / 0.8, 0)"

JIT = """
mesh = Mesh(np.array(jax.devices())SHAPE, ("data",))
step = jax.jit(lambda w, x, y: w - 0.1 * jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w), donate_argnums=0)
w = jax.device_put(jnp.zeros(4), NamedSharding(mesh, P()))
for place in range(0, 3 * BATCH, BATCH):
    x, y = jax.device_put((ROWS[place : place + BATCH], TARGETS[place : place + BATCH]), NamedSharding(mesh, P("data")))
    w = step(w, x, y)
"""


@pytest.fixture
def check(tmp_path):
    """Returns a function that checks a script."""
    file = tmp_path / "train.py"

    def checked(text, replicas=(1, 2), arguments=(), **parts):
        for name, value in parts.items():
            text = text.replace(name, value)
        file.write_text(HEAD + text)
        return ss.check(load_program(file, arguments=arguments), replicas=replicas)

    return checked


@pytest.mark.slow
def test_a_right_script_agrees_by_what_it_trains(check):
    report = check(PMAP, DROP="", REDUCED=MEAN)
    assert report.verdict == "agree", str(report)
    assert "Compared is what these names hold at the end: params of train." in str(report)
    assert [row.compared for row in report.rows if row.law == "replicas"] == [2]


@pytest.mark.slow
def test_a_wrong_script_is_found_at_its_line_with_arguments(check):
    report = check(PMAP, DROP="", REDUCED='jax.lax.psum(gradients, "i")', arguments=["--batch", "8"])
    (found,) = report.findings
    assert "summed where averaged was meant" in (found.kind, *found.also)
    assert found.site == "train.py:16"


@pytest.mark.slow
def test_draws_of_each_device_are_not_judged(check):
    report = check(PMAP, DROP=DROP, REDUCED=MEAN)
    assert report.verdict == "undecided", str(report)
    assert "each replica draws random numbers of its own, in a function that train.py:27 calls" in str(report)


@pytest.mark.slow
@pytest.mark.deep
def test_draws_of_each_device_hide_no_parameters_that_are_not_equal(check):
    report = check(PMAP, DROP=DROP, REDUCED="gradients")
    assert [one.law for one in report.findings] == ["state"], str(report)


@pytest.mark.slow
def test_a_batch_that_grows_is_not_judged(check):
    report = check(JIT, SHAPE="", BATCH="(4 * DEVICES)")
    assert report.verdict == "undecided", str(report)
    assert "NOT JUDGED: other global batches" in str(report)
    assert "x has 16 elements with 1 replica, and 32 with 2 replicas: the runs train on other batches" in str(report)


@pytest.mark.slow
def test_rows_that_are_left_out_are_another_batch_and_a_list_of_losses_is_none(check):
    report = check(
        JIT.replace("    w = step", "    losses = []\n    losses.append(w)\n    w = step"),
        (1, 3),
        SHAPE="",
        BATCH="16 // DEVICES * DEVICES",
    )
    assert report.verdict == "undecided", str(report)
    assert "has 64 elements with 1 replica, and 60 with 3 replicas" in str(report)
    listed = PMAP.replace("        print(float(loss.mean()))", "        losses = []\n        losses.append(loss)")
    report = check(listed, (2, 4), DROP="", REDUCED='jax.lax.psum(gradients, "i")')
    assert report.verdict == "differ", str(report)


@pytest.mark.slow
def test_sizes_and_meshes_that_numbers_of_devices_do_not_fit_are_not_judged(check):
    report = check(JIT, (1, 2, 3), SHAPE="", BATCH="8")
    assert report.verdict == "undecided"
    why = {row.replicas: row.why for row in report.rows}
    assert why["3"] == "its sizes are not divided by so many devices"
    assert why["2 against 1"] == ""
    report = check(JIT, SHAPE=".reshape(4)", BATCH="8")
    assert [row.why for row in report.rows[:2]] == ["its mesh has another number of devices"] * 2
    assert "Make it of as many as there are, len(jax.devices())" in str(report)


HOST = """
import pickle
@functools.partial(jax.pmap, axis_name="i")
def gradient_of(w, x, y):
    return jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
REFUSAL
w, metrics, losses = np.zeros(4, np.float32), {"loss": 0.0}, []
for place in range(0, 24, 8):
    x = ROWS[place : place + 8].reshape(DEVICES, -1, 4)
    loss, gradient = gradient_of(np.stack([w] * DEVICES), x, x.sum(-1))
    out = w - 0.1 * np.asarray(gradient).mean(0), loss[0]
    w, loss = out
    metrics = jax.tree.map(jnp.add, metrics, {"loss": loss})
    losses += [loss]
losses = jnp.stack(losses)
w = pickle.loads(pickle.dumps(w))[:2]
"""


@pytest.mark.slow
def test_state_of_numpy_is_compared_and_no_loss_of_one_device(check):
    report = check(HOST, REFUSAL="")
    assert report.verdict == "agree", str(report)
    assert "Compared is what these names hold at the end: w.\n" in str(report)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("refusal", "why"),
    [
        (
            "if 8 % DEVICES: raise ValueError('the batch must be divisible by 3')",
            "its sizes are not divided by so many",
        ),
        pytest.param("assert 8 % DEVICES == 0", "its sizes are not divided by so many", marks=pytest.mark.deep),
        pytest.param(
            "if DEVICES > 2:\n    raise RuntimeError('this needs 2 devices')",
            "the script refuses so many devices",
            marks=pytest.mark.deep,
        ),
    ],
)
def test_a_script_that_refuses_a_number_of_devices_is_not_judged_there(check, refusal, why):
    report = check(PMAP.replace("if __name__", f"{refusal}\nif __name__"), (1, 2, 3), DROP="", REDUCED=MEAN)
    rows = {row.replicas: row for row in report.rows}
    assert rows["3"].why.startswith(why), str(report)
    assert not report.findings
    assert rows["2 against 1"].compared == 2


@pytest.mark.slow
def test_a_name_of_an_axis_that_is_wrong_gets_no_advice_on_the_mesh_of_the_check(check):
    report = check(PMAP, DROP="", REDUCED='jax.lax.pmean(gradients, "j")')
    assert report.verdict == "differ"
    assert "The mesh of this check" not in str(report)


@pytest.mark.slow
def test_a_script_that_keeps_nothing_is_not_judged(check):
    report = check("mesh = Mesh(jax.devices(), 'd')\nw = jax.jit(jnp.sum)(jnp.ones(4))\n")
    assert report.verdict == "undecided", str(report)
    assert "no name of the script holds arrays of floats that are computed from its value before" in str(report)


def test_laws_that_need_the_mesh_of_the_check_are_refused(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(f"{HEAD}\njax.devices()")
    with pytest.raises(InvalidArgument, match="not judged by the law of order"):
        ss.check(load_program(file), replicas=[1, 2], laws=["order"])
    with pytest.raises(InvalidArgument, match="leave workers out, or move what it does into def program"):
        ss.check(load_program(file), replicas=[1, 2], workers=[2])


ADAM = """
import jax.tree_util
mesh = Mesh(np.array(jax.devices()), ("data",))

@jax.tree_util.register_pytree_node_class
class Model:
    def __init__(self, parts):
        self.parts = parts
    def tree_flatten_with_keys(self):
        return [(jax.tree_util.GetAttrKey("parts"), self.parts)], None
    def tree_flatten(self):
        return [self.parts], None
    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)

@jax.jit
def gradients_of(params, x, y):
    def loss_of(params):
        keys, queries = x[:, None] * params["scale"] + params["bias"], x @ params["query"]
        weights = jax.nn.softmax(queries[:, None] * keys.mean(-1) * jnp.arange(1.0, 5), axis=1)
        normal = x @ params["query"] + params["shift"]
        return jnp.mean(((normal - normal.mean()) / normal.std() + (weights * x).sum(1) - y) ** 2)
    return jax.value_and_grad(loss_of)(params)

def change(model, optimizer, x, y):
    loss, found = gradients_of(model.parts, x, y)
    optimizer["mu"] = jax.tree.map(lambda one, new: 0.9 * one + 0.1 * new, optimizer["mu"], found)
    optimizer["nu"] = jax.tree.map(lambda one, new: 0.99 * one + 0.01 * new**2, optimizer["nu"], found)
    model.parts = jax.tree.map(
        lambda one, m, v: one - RATE * m / (jnp.sqrt(v) + 1e-12), model.parts, optimizer["mu"], optimizer["nu"]
    )
    return loss

class Optimizer(dict):
    pass

jax.tree_util.register_pytree_with_keys(
    Optimizer,
    lambda one: ([(jax.tree_util.DictKey(key), one[key]) for key in ("mu", "nu")], None),
    lambda _, children: Optimizer(zip(("mu", "nu"), children)),
)
first = np.random.default_rng(1).normal(size=4).astype(np.float32)
model = Model({"query": jnp.asarray(first), "shift": jnp.zeros(1), "scale": jnp.ones(4), "bias": jnp.zeros(4)})
optimizer = Optimizer(mu=jax.tree.map(jnp.zeros_like, model.parts), nu=jax.tree.map(jnp.zeros_like, model.parts))
ROWS, TARGETS = jax.device_put((ROWS, TARGETS), NamedSharding(mesh, P("data")))
for _ in range(3):
    print(f"{float(change(model, optimizer, ROWS, TARGETS)):.4f}")
"""
"""What a loss does not depend on: a shift before what is normalised."""


@pytest.mark.slow
def test_what_rounding_alone_decides_is_named_and_the_others_are_judged(check):
    report = check(ADAM, RATE="0.01")
    assert report.verdict == "agree", str(report)
    left = "the gradients are what rounding leaves where terms cancel, so no two runs need have the same"
    for name in ("'model'][0]", "'optimizer of change']['mu']", "'optimizer of change']['nu']"):
        assert f"Not compared: result[{name}['shift']: {left}" in str(report)
    assert [row.compared for row in report.rows if row.law == "replicas"] == [9]
    report = check(ADAM, RATE="0.01 * DEVICES")
    assert report.verdict == "differ", str(report)
    assert "result['model'][0]['bias']" in str(report)


@pytest.mark.slow
def test_a_batch_that_is_put_on_the_devices_alone_is_nothing_to_compare(check):
    text = "\nx = jax.device_put(ROWS, NamedSharding(Mesh(np.array(jax.devices()), ('data',)), P('data')))\n"
    report = check(f"{text}x = jax.block_until_ready(x)\nprint(float((x * DEVICES).sum()))\n")
    assert report.verdict == "undecided", str(report)
    assert "nothing was compared" in str(report)
