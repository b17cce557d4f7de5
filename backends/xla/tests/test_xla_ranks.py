"""Replicas on devices of their own, and all on one device, come to the same.  Clauses: P-1, P-7, B-8."""

import numpy as np
import pytest
from compiled_faults import program as compiled_steps

import simstrategy as ss
from simstrategy import tree
from simstrategy.errors import BackendUnavailable, InvalidArgument

RANKS = 4


def outcome(strategy, compile_it):
    """Returns what a step with variables and collectives comes to, over three batches, the last one uneven."""
    with strategy.scope():
        weights = ss.Variable(np.ones((2, 3), np.float32), aggregation=ss.VariableAggregation.SUM)
        steps = ss.Variable(np.float32(0), aggregation=ss.VariableAggregation.MEAN)

    def step(x):
        context = ss.get_replica_context()
        xp = context.xp
        y = xp.matmul(x, weights.value())
        weights.assign_sub(xp.matmul(xp.permute_dims(x, (1, 0)), y) / 64)
        steps.assign_add(xp.astype(context.replica_id_in_sync_group + xp.zeros(()), "float32"))
        total = context.all_reduce("SUM", [y[:1], xp.sum(y), xp.zeros((0, 2))])
        return context.all_gather(y, 0), total, context.all_reduce("MEAN", xp.max(y))

    run = strategy.compile(step) if compile_it else step
    rows = np.arange(46, dtype=np.float32).reshape(23, 2) / 8
    seen = []
    for batch in strategy.experimental_distribute_dataset([rows[:8], rows[8:16], rows[16:]]):
        for leaf in tree.flatten(strategy.run(run, args=(batch,)))[0]:
            seen += [np.asarray(one) for one in strategy.experimental_local_results(leaf)]
    return [*seen, weights.numpy(), steps.numpy()]


@pytest.mark.parametrize("compile_it", [False, True], ids=["lanes", "compiled"])
def test_replicas_on_one_device_come_to_what_the_simulator_comes_to(compile_it):
    found = outcome(ss.Strategy.mirrored(ss.backend("xla", devices=["cpu:0"] * RANKS)), compile_it)
    wanted = outcome(ss.Strategy.mirrored("sim", replicas=RANKS), False)
    assert [(one.dtype, one.shape) for one in found] == [(one.dtype, one.shape) for one in wanted]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_results_of_replicas_on_one_device_are_arrays_of_their_own():
    backend = ss.backend("xla", devices=["cpu:1"] * RANKS)
    arrays = tuple(backend.put(np.float32([rank]), device) for rank, device in enumerate(backend.devices))
    totals = backend.all_reduce(arrays, "SUM")
    spec = backend.spec(arrays[2])
    for found in (
        totals,
        backend.broadcast(arrays[2], spec=spec, root=2),
        backend.all_gather(arrays, axis=0, sizes=(1,) * RANKS),
    ):
        assert all(one is not other for number, one in enumerate(found) for other in found[:number])
        assert {str(one.device) for one in found} == {"cpu:1"}
    assert [float(one[0]) for one in totals] == [6.0] * RANKS


def test_a_compiled_step_takes_what_it_returned_before_without_putting_it_together_again():
    """Variables written outside between steps, and arrays given twice, are seen all the same."""
    strategy = ss.Strategy.mirrored("xla", replicas=RANKS)
    with strategy.scope():
        total = ss.Variable(np.float32(1), aggregation=ss.VariableAggregation.SUM)
        other = ss.Variable(np.float32([1, 2]), aggregation=ss.VariableAggregation.MEAN)

    def step(x):
        total.assign_add(ss.get_replica_context().xp.sum(x))
        other.assign(x + other.value())
        return other.value()

    run = strategy.compile(step)
    x = strategy.run(lambda: ss.get_replica_context().xp.ones((2,)))
    strategy.run(run, args=(x,))
    assert (float(total.value()), other.numpy().tolist()) == (9.0, [2.0, 3.0])
    total.assign(100.0)
    seen = strategy.run(run, args=(x,))
    assert (float(total.value()), other.numpy().tolist()) == (108.0, [3.0, 4.0])
    strategy.run(run, args=(seen,))
    assert (float(total.value()), other.numpy().tolist()) == (136.0, [6.0, 8.0])


SAID = {
    "one name": (
        {"devices": "cpu:0"},
        "Backend 'xla': devices is a list of texts (at least one) or None, got 'cpu:0'. Pass one of these.",
    ),
    "no name": (
        {"devices": []},
        "Backend 'xla': devices is a list of texts (at least one) or None, got []. Pass one of these.",
    ),
    "another number": (
        {"devices": ["cpu:0"] * 2, "replicas": 3},
        (
            "The backend 'xla' was asked for 3 replicas on 2 devices: cpu:0, cpu:0. Name one device for each replica, "
            "and the same one several times where they share it."
        ),
    ),
    "some shared": (
        {"devices": ["cpu:0", "cpu:1", "cpu:0"]},
        (
            "3 replicas are to be on 2 devices: cpu:0, cpu:1, cpu:0. Give one device for each replica, or the same one "
            "for all."
        ),
    ),
    "nobody": ({"replicas": 0}, "The backend 'xla' takes a number of replicas of at least 1, got 0."),
}


@pytest.mark.parametrize(("options", "text"), SAID.values(), ids=SAID)
def test_impossible_devices_are_told(options, text):
    with pytest.raises(InvalidArgument) as raised:
        ss.backend("xla", **options)
    assert str(raised.value) == text


def test_an_unknown_device_is_told_with_those_there_are(xla):
    with pytest.raises(InvalidArgument, match=r"^JAX has no device 'cpu:99' here\. Its devices are cpu:0, cpu:1, .*$"):
        ss.backend("xla", devices=["cpu:99"])


def test_too_few_devices_and_none_at_all_are_told_with_what_to_do(xla):
    with pytest.raises(BackendUnavailable) as raised:
        ss.backend("xla", replicas=99)
    text = str(raised.value)
    assert text.startswith("The backend 'xla' was asked for 99 replicas, and JAX has started with ")
    assert text.endswith(
        'Host CPU devices are made before JAX\'s first use only: call ss.backend("xla", replicas=99) before any other '
        "use of JAX, or start Python with XLA_FLAGS=--xla_force_host_platform_device_count=99. To put all replicas on "
        'one device, name it for each: ss.backend("xla", devices=["cpu:0"] * 99).'
    )
    with pytest.raises(BackendUnavailable) as raised:
        ss.backend("xla", platform="gpu")
    text = str(raised.value)
    assert text.startswith("JAX has no devices of platform 'gpu': ")
    assert text.endswith(". Install the jaxlib of that platform, or leave platform out.")


def test_a_program_examined_by_others_runs_on_one_device_too():
    compiled_steps(ss.Strategy.mirrored(ss.backend("xla", devices=["cpu:0"] * RANKS)))
