"""What a check of `program(mesh: jax.sharding.Mesh)` runs, compares, and does with programs that go wrong.

Clauses: J-57, J-58, J-60, J-61, J-62, J-63, J-67, J-68, J-83.
"""

import textwrap

import pytest
from shares import one_in

import simstrategy as ss
from simstrategy.check.programs import load_program
from simstrategy.errors import InvalidArgument, Unsupported

HEAD = """
from functools import partial
from typing import Annotated
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

ROWS = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
"""

TRAINING = """
def program(mesh: Mesh{parameters}):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=P(), check_vma=False)
    def step(state, rows):
        weights, speed = state
        gradient = {gradient}
        speed = 0.5 * speed - 0.1 * gradient
        return weights + speed, speed
    state, done = (jnp.zeros(3), jnp.zeros(3)), 0
    {restore}
    while done < 4:
        state, done = step(state, ROWS), done + 1
        {save}
    return state[0]
"""
MEAN = 'jax.lax.pmean(weights - jnp.mean(rows, axis=0), "data")'


def program_of(tmp_path, text, name="train.py"):
    file = tmp_path / name
    file.write_text(HEAD + textwrap.dedent(text))
    return load_program(file)


def training(tmp_path, parameters="", gradient=MEAN, restore="", save=""):
    text = TRAINING.format(parameters=parameters, gradient=gradient, restore=restore, save=save)
    return program_of(tmp_path, text)


def rows_of(report, law):
    return [row for row in report.rows if row.law == law]


@pytest.mark.slow
def test_a_cut_that_changes_the_result_is_found(tmp_path):
    cut = 'jax.lax.pmean(sum(weights - jnp.mean(one, axis=0) for one in jnp.split(rows, parts)) / {}, "data")'
    wrong = training(tmp_path, ", parts=1", cut.format(1))
    report = ss.check(wrong, replicas=[1, 2], vary={"parts": [1, 3]})
    found = [one for one in report.findings if one.law == "cut"]
    assert [one.replicas for one in found] == ["1", "2"]
    for one in found:
        assert one.kind == "wrong factor"
        assert "parts=3 against parts=1: " in one.cause
        assert "3 times the expected ones, as parts is" in one.cause
    assert not [one for one in report.findings if one.law == "replicas"]


@pytest.mark.slow
@pytest.mark.deep
def test_a_cut_on_one_device_has_no_kind_of_several_replicas(tmp_path):
    """Fewer rows in each call are no lost samples, and other numbers in the second half no other draws."""
    text = """
    def program(mesh: Mesh, parts=1):
        @jax.jit
        @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=P(), check_vma=False)
        def step(weights, rows):
            size = len(rows) // parts
            def add(number, total):
                part = jax.lax.dynamic_slice_in_dim(rows, number * size, size)
                return total + jax.grad(lambda weights: jnp.mean((part @ weights - 1.0) ** 2))(weights)
            total = jax.lax.fori_loop(0, parts, add, jnp.zeros(3))
            return weights - 0.1 * jax.lax.pmean(total{more}, "data")
        weights = jnp.zeros(3)
        for first in (0, 6):
            weights = step(weights, ROWS[first : first + 6])
        return weights
    """
    wrong = program_of(tmp_path, text.format(more=""))
    (found,) = ss.check(wrong, replicas=[1], vary={"parts": [1, 2]}).findings
    assert (found.law, found.kind, found.step) == ("cut", "wrong factor", 1)
    assert "as parts is. Divide by parts" in found.cause
    unnamed = program_of(tmp_path, text.format(more=" + (parts - 1) * jnp.arange(3.0)"), "unnamed.py")
    (found,) = ss.check(unnamed, replicas=[1], vary={"parts": [1, 2]}).findings
    assert (found.law, found.kind) == ("cut", None)
    assert "replica" not in found.cause
    right = program_of(tmp_path, text.format(more=" / parts"), "right.py")
    assert ss.check(right, replicas=[1], vary={"parts": [1, 2]}).agrees


@pytest.mark.slow
def test_the_orders_of_the_devices_are_tried(tmp_path):
    right = training(tmp_path)
    report = ss.check(right, replicas=[1, 3], laws=["order"])
    assert report.agrees
    assert [row.schedule for row in rows_of(report, "order")] == [
        "mesh of the devices in reverse",
        "mesh from the second device on",
    ]
    text = """
    def program(mesh: Mesh):
        rows = jax.device_put(ROWS, NamedSharding(mesh, P("data")))
        return [shard.data.sum() for shard in rows.addressable_shards if shard.device.id == 0]
    """
    report = ss.check(program_of(tmp_path, text, "first.py"), replicas=[2], same_on=["order"])
    assert report.verdict == "differ"


@pytest.mark.slow
def test_a_program_that_does_not_save_its_speed_breaks_the_law_of_resume(tmp_path):
    restore = "saved = checkpoint.restore()\n    if saved is not None: state, done = {}"
    save = "checkpoint.save(({}, done))"
    right = training(tmp_path, ", checkpoint", MEAN, restore.format("saved"), save.format("state"))
    report = ss.check(right, replicas=[1, 2], laws=["resume"])
    assert report.agrees, str(report)
    assert [row.replicas for row in rows_of(report, "resume")]
    wrong = training(
        tmp_path, ", checkpoint", MEAN, restore.format("(saved[0], jnp.zeros(3)), saved[1]"), save.format("state[0]")
    )
    report = ss.check(wrong, replicas=[2], laws=["resume"])
    assert [one.law for one in report.findings] == ["resume"]


@pytest.mark.slow
def test_copies_that_are_not_equal_are_found_on_one_number_of_devices(tmp_path):
    text = """
    def program(mesh: Mesh):
        made = [jax.device_put(np.float32([1.0, 2.0 + rank]), one) for rank, one in enumerate(mesh.devices.flat)]
        weights = jax.make_array_from_single_device_arrays((2,), NamedSharding(mesh, P()), made)
        return {"weights": weights, "right": jax.device_put(ROWS, NamedSharding(mesh, P()))}
    """
    report = ss.check(program_of(tmp_path, text), replicas=[2])
    assert [one.law for one in report.findings] == ["state"]
    text = report.findings[0].text
    assert "result['weights'] must be equal on all replicas, and is not: in the end element [1] is 2.0 on" in text
    assert "pmean" in text
    assert "right" not in text


@pytest.mark.slow
def test_axes_are_named_by_the_annotation_and_a_wrong_name_is_explained(tmp_path):
    text = """
    def program(mesh: Annotated[Mesh, "batch", "model"]):
        total = jax.shard_map(lambda x: jax.lax.psum(x.sum(), ("batch", "model")), mesh=mesh,
                              in_specs=P(mesh.axis_names), out_specs=P())
        return jax.jit(total)(ROWS), mesh.shape["model"]
    """
    report = ss.check(program_of(tmp_path, text), replicas=[1, 2])
    assert report.agrees, str(report)
    wrong = program_of(
        tmp_path, text.replace('Annotated[Mesh, "batch", "model"]', "Mesh").replace(OWN, '"batch"'), "b.py"
    )
    report = ss.check(wrong, replicas=[1, 2])
    assert report.verdict == "differ"
    assert "The mesh of this check has the axes 'data'. Name others in the annotation" in str(report)


OWN = "mesh.axis_names"

GOES_WRONG = {
    "more devices": (
        "return jax.jit(jnp.sum)(jax.device_put(ROWS, NamedSharding(Mesh(np.array(jax.devices()[:2]), 'd'), P('d'))))",
        "",
        ("agree", ""),
    ),
    "too many devices": ("return Mesh(np.array(jax.devices()[:2]).reshape(2), 'd').size", "", ("differ", "ValueError")),
    "raises on two": ("assert mesh.size == 1\n    return jnp.ones(2)", "", ("differ", "AssertionError")),
    "is cancelled on two": (
        "if mesh.size == 2: raise asyncio.CancelledError\n    return jnp.ones(2)",
        "import asyncio",
        ("differ", "CancelledError raised at train.py:"),
    ),
    "random": (
        "return jax.random.normal(jax.random.key(time.time_ns()), (3,))",
        "import time",
        ("undecided", "random"),
    ),
    "exits": ("sys.exit(3)", "import sys", ("differ", "SystemExit")),
    "ends": ("os._exit(3)", "import os", ("differ", "exit code 3")),
    "returns objects": ("return {'text': 'a', 'none': None, 'type': dict, 'list': [1, 2.5]}", "", ("agree", "")),
    "returns nothing": ("jnp.ones(3)", "", ("undecided", "returned nothing")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(2, GOES_WRONG))
def test_a_program_that_goes_wrong_has_a_verdict(tmp_path, name):
    body, imports, (verdict, shown) = GOES_WRONG[name]
    replicas = [2, 4] if name == "more devices" else [1, 2]
    report = ss.check(program_of(tmp_path, f"{imports}\n\ndef program(mesh: Mesh):\n    {body}\n"), replicas=replicas)
    assert report.verdict == verdict, str(report)
    assert shown in str(report)


@pytest.mark.slow
def test_a_program_that_does_not_end_is_stopped(tmp_path):
    text = "import time\n\ndef program(mesh: Mesh):\n    time.sleep(60 * (mesh.size - 1))\n    return jnp.ones(2)\n"
    report = ss.check(program_of(tmp_path, text), replicas=[1, 2], timeout_s=8.0)
    assert report.verdict == "differ"
    assert "time limit: The process of the program did not end in time" in str(report)


@pytest.mark.slow
def test_a_file_that_chooses_its_devices_itself_is_refused_with_what_to_do(tmp_path):
    text = "jax.config.update('jax_num_cpu_devices', 8)\n\ndef program(mesh: Mesh):\n    return jnp.ones(2)\n"
    with pytest.raises(InvalidArgument, match=r"train.py was loaded in a process with 1 host devices, and raised .*"):
        # This process has started JAX already, so the file is loaded where it has not.
        ss.check(in_a_file(tmp_path, text), replicas=[1, 2])


def in_a_file(tmp_path, text):
    """Returns the program of a file in which a line stands that is left out when it is loaded here."""
    program = program_of(tmp_path, text.partition("\n")[2])
    (tmp_path / "train.py").write_text(HEAD + text)
    return program


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ({"laws": ["coverage"]}, "the law of coverage needs one of simstrategy's"),
        ({"backends": ["sim", "torch"]}, "has no backends to choose"),
        ({"order": "ring"}, "has no order to choose"),
        ({"vary": {"parts": [1, 2]}}, "The program takes no argument 'parts'"),
        ({"require": ["uneven"]}, "Programs under jax cannot try 'uneven': require can name replicas, nudged"),
    ],
)
def test_settings_that_a_mesh_does_not_have_are_refused(tmp_path, settings, shown):
    with pytest.raises(InvalidArgument, match=shown):
        ss.check(training(tmp_path), replicas=[1, 2], **settings)


def test_a_program_that_no_other_process_can_load_or_of_another_type_is_refused(tmp_path):
    import jax

    def inside(mesh: jax.sharding.Mesh):
        return mesh.size

    with pytest.raises(
        InvalidArgument, match=r"cannot run in other processes. Define it as a function at the top level"
    ):
        ss.check(inside, replicas=[1])
    with pytest.raises(
        Unsupported, match=r"takes a .*\.Array, and programs of JAX are checked with a jax.sharding.Mesh"
    ):
        ss.check(program_of(tmp_path, "def program(x: jax.Array): ..."), replicas=[1])
    with pytest.raises(InvalidArgument, match=r"names the axes of its mesh by texts, each once.* got 3"):
        ss.check(program_of(tmp_path, "def program(mesh: Annotated[Mesh, 3]): ...", "three.py"), replicas=[1])


@pytest.mark.slow
def test_the_first_number_runs_twice_and_nudged_and_the_others_once(tmp_path):
    report = ss.check(training(tmp_path), replicas=[1, 2], laws=["state"])
    (reference,) = rows_of(report, "repeat")
    assert reference.replicas == "1"
    assert reference.one_ulp > 0
    assert [row.replicas for row in rows_of(report, "state")] == ["2"]
    assert report.agrees
    assert [one.word for one in report.not_tried] == []


@pytest.mark.slow
def test_values_that_are_not_finite_are_named_where_all_runs_have_them(tmp_path):
    text = """
    def program(mesh: Mesh):
        rows = jax.device_put(ROWS, NamedSharding(mesh, P("data")))
        ratios = jax.jit(lambda rows: jnp.abs(rows.mean(axis=0)) / jnp.float32([1, 1, 0]))(rows)
        return {"finite": jnp.ones(2), "text": "nan", "ratios": ratios, "variance": np.float32("nan")}
    """
    report = ss.check(program_of(tmp_path, text), replicas=[1, 2])
    assert report.agrees, str(report)
    found = [*report.not_finite()]
    assert len(found) == 2, str(report)
    for one in found:
        assert "result['ratios']" in one
        assert one.endswith(", float32[3], is inf at [2], 1 of 3 elements are not finite")


CANCELLED = """
FACTORS = np.random.default_rng(6).permutation(np.outer([0.1, 0.2, 0.3, 0.7, 0.6, 0.9], [1, -1]).ravel())
BOTH = np.stack([FACTORS, np.abs(FACTORS)], 1).astype(np.float32)

def program(mesh: Mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=P(), check_vma=False)
    def step(weights, both):
        gradient = jax.lax.psum(jnp.sum(both * (1 / 24), axis=0), "data")
        return weights - {rate} * jnp.sign(gradient)
    weights = step(step(jnp.zeros(2), BOTH), BOTH)
    return weights[0], weights[1]
"""


@pytest.mark.deep
def test_a_sign_of_what_rounding_leaves_of_a_sum_is_not_accused_and_another_rate_is(tmp_path):
    report = ss.check(program_of(tmp_path, CANCELLED.format(rate="0.01")), replicas=(1, 3))
    assert report.verdict == "undecided", str(report)
    assert "result[0]: " in str(report)
    assert "Rounding alone may change these results" in str(report)
    report = ss.check(program_of(tmp_path, CANCELLED.format(rate="0.01 * mesh.size"), "rated.py"), replicas=(1, 3))
    assert report.verdict == "differ", str(report)
