"""Equal requests in another order are distinguished: by name, by call path, by what a gradient is of."""

import warnings
from contextlib import closing
from typing import Any, Final

import numpy as np
import pytest
from program_catalogue import own, replica
from program_machines import Machines

import simstrategy as ss
from simstrategy.errors import CallSitesDiffer, InvalidType, ReplicasDisagree

BACKENDS: Final = ("sim", "tensorflow", "torch", "xla")
every_backend = pytest.mark.parametrize("backend", BACKENDS)


def sync(value: Any, **settings: Any) -> Any:
    return replica().all_reduce("SUM", value, **settings)


def crossing(**settings: Any) -> Any:
    if replica().replica_id_in_sync_group:
        second = sync(own(2), **settings)
        first = sync(own(2), **settings)
    else:
        first = sync(own(2), **settings)
        second = sync(own(2), **settings)
    return first, second


def looping() -> Any:
    return [sync(own(2)) for _ in range(3)]


def recursive(depth: int) -> Any:
    return recursive(depth - 1) if depth else sync(own())


# Clauses: M-4
@every_backend
def test_crossed_calls_of_a_helper_are_refused_under_strict_checks(backend: str, machines: Machines) -> None:
    with closing(ss.Strategy.mirrored(machines.open(backend, 2), checks="strict")) as strategy:
        strategy.run(looping)
        strategy.run(recursive, args=(20,))
        with pytest.raises(ReplicasDisagree) as raised:
            strategy.run(crossing)
    here, line = "test_crossed_requests.py", crossing.__code__.co_firstlineno
    helper = f"{here}:{sync.__code__.co_firstlineno + 1} called from {here}"
    assert f"from different lines, {helper}:{line + 5} and {helper}:{line + 2};" in str(raised.value)


# Clauses: M-4
@pytest.mark.parametrize("checks", ["strict", "paths"])
def test_lines_without_a_module_are_lines_of_the_path(checks: str) -> None:
    # As under `python -m cProfile -m`, and in what a program executes with names of its own.
    text = "def called(other, *values, **named):\n    return other(*values, **named)\n"
    nameless: dict[str, Any] = {}
    exec(compile(text, "/home/user/made.py", "exec"), nameless)
    called = nameless["called"]

    def step() -> Any:
        if replica().replica_id_in_sync_group:
            return called(sync, own(2))
        return called(sync, own(2))

    with closing(called(ss.Strategy.mirrored, "sim", replicas=2, checks=checks)) as strategy:
        assert called(strategy.run, looping)
        with pytest.warns(CallSitesDiffer) if checks == "paths" else pytest.raises(ReplicasDisagree) as found:
            called(strategy.run, step)
    said = str(found.value) if checks == "strict" else str(found[0].message)
    assert "called from made.py:2, test_crossed_requests.py:" in said


# Clauses: M-4
def test_crossed_calls_of_a_helper_are_a_warning_where_paths_are_compared() -> None:
    with closing(ss.Strategy.mirrored("sim", replicas=2, checks="paths")) as strategy:
        with pytest.warns(CallSitesDiffer) as caught:
            strategy.run(crossing)
        assert len(caught) == 2
        assert {(one.filename, one.lineno) for one in caught} == {(__file__, sync.__code__.co_firstlineno + 1)}
    with closing(ss.Strategy.mirrored("sim", replicas=2)) as strategy, warnings.catch_warnings():
        warnings.simplefilter("error")
        strategy.run(crossing)  # only checks="paths" and "strict" compare them


# Clauses: M-4
def test_a_check_compares_the_paths_of_calls() -> None:
    with pytest.warns(CallSitesDiffer, match="called from"):
        ss.check(lambda strategy: strategy.run(crossing), backends=["sim"])


# Clauses: M-4
def test_workers_compare_the_paths_of_calls() -> None:
    for main, error in ((crossing, ReplicasDisagree), (looping, type(None))):
        outcomes = ss.sim.Cluster(2, 1, checks="strict").outcomes(lambda strategy, main=main: strategy.run(main))
        assert [type(one.error) for one in outcomes] == [error] * 2
        assert len({str(one.error) for one in outcomes}) == 1


@pytest.mark.parametrize("depth", [3, 30])
def test_a_long_path_is_written_short(depth: int) -> None:
    def step() -> Any:
        return recursive(depth + replica().replica_id_in_sync_group)

    text = rf"\.py:\d+ × {depth + 1}, .* × {depth + 2}, "
    with (
        closing(ss.Strategy.mirrored("sim", replicas=2, checks="strict")) as strategy,
        pytest.raises(ReplicasDisagree, match=text) as raised,
    ):
        strategy.run(step)
    assert len(str(raised.value)) < 1000


# Clauses: M-9
@every_backend
def test_calls_of_one_line_are_distinguished_by_their_names(backend: str, machines: Machines) -> None:
    def named() -> Any:
        rank = replica().replica_id_in_sync_group
        return [sync(own(2), name=name) for name in (("loss", "metric") if rank == 0 else ("metric", "loss"))]

    def gathered() -> Any:
        return replica().all_gather({"a": own(2)}, 0, name=f"part {min(1, replica().replica_id_in_sync_group)}")

    trace = ss.trace.Trace()
    with closing(ss.Strategy.mirrored(machines.open(backend, 2), trace=trace)) as strategy:
        found = strategy.run(lambda: (sync(own(2), name="same"), replica().all_gather(own(1), 0, name="gather")))
        plain = strategy.run(lambda: (sync(own(2)), replica().all_gather(own(1), 0)))
        for one, other in zip(found, plain, strict=True):
            np.testing.assert_array_equal(
                *[np.asarray(strategy.experimental_local_results(x)[0]) for x in (one, other)]
            )
        assert [event.subject for event in trace.events() if event.kind != "run"] == [
            *["same"] * 2,
            *["gather"] * 2,
            *[None] * 4,
        ]
        with pytest.raises(ReplicasDisagree, match=r"0: all_reduce loss SUM .*\n  replica 1: all_reduce metric SUM"):
            strategy.run(named)
        with pytest.raises(ReplicasDisagree, match=r"1: all_gather part 1 leaf 0 of {'a': \*} axis=0"):
            strategy.run(gathered)
        for call in (lambda: sync(own(), name=3), lambda: replica().all_gather(own(1), 0, name=b"x")):
            with pytest.raises(InvalidType, match="takes a text as name, equal on all replicas, got"):
                strategy.run(call)


def gradients_torch(losses: Any, order: list[int]) -> Any:
    import torch

    source = replica().xp.asarray(np.float32([1, 2])).requires_grad_()
    made = [losses(source, i) for i in range(2)]
    return [torch.autograd.grad(made[i].sum(), source, retain_graph=True)[0] for i in order]


def gradients_tensorflow(losses: Any, order: list[int]) -> Any:
    import tensorflow as tf

    source = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(source)
        made = [losses(source, i) for i in range(2)]
    return [tape.gradient(made[i], source) for i in order]


def gradients_xla(losses: Any, order: list[int]) -> Any:
    import jax

    source = replica().xp.asarray(np.float32([1, 2]))
    made = [jax.vjp(lambda one, i=i: losses(one, i), source) for i in range(2)]
    return [made[i][1](0 * made[i][0] + 1) for i in order]


GRADIENTS: Final = {"torch": gradients_torch, "tensorflow": gradients_tensorflow, "xla": gradients_xla}


# Clauses
@pytest.mark.parametrize("backend", GRADIENTS)
@pytest.mark.parametrize("kind", ["all_reduce", "all_gather"])
def test_gradients_in_another_order_are_named(backend: str, kind: str, machines: Machines) -> None:
    def loss(source: Any, i: int) -> Any:
        if kind == "all_gather":
            return replica().all_gather((1.0 + i) * source, 0)
        return replica().all_reduce("SUM", (1.0 + i) * source)

    def step(crossed: bool) -> Any:
        order = [1, 0] if crossed and replica().replica_id_in_sync_group else [0, 1]
        return GRADIENTS[backend](loss, order)

    with closing(ss.Strategy.mirrored(machines.open(backend, 2))) as strategy:
        strategy.run(step, args=(False,))
        with pytest.raises(ReplicasDisagree) as raised:
            strategy.run(step, args=(True,))
    texts = str(raised.value).splitlines()[1:]
    assert "all_reduce gradient of collective 1 SUM" in texts[0]
    assert "all_reduce gradient of collective 2 SUM" in texts[1]
