"""Every public setting with awkward values: an error of ours with a message, or a value that works."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.errors import SimStrategyError
from simstrategy.launch import Launcher

HUGE = 10**20


class Odd:
    """Refuses to be compared, counted and turned into a bool."""

    def __init__(self, *_: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")

    def __len__(self) -> int:
        raise RuntimeError("no length")


AWKWARD: dict[str, Any] = {
    "3": 3,
    "-1": -1,
    "0": 0,
    "1.0": 1.0,
    "nan": float("nan"),
    "10**20": HUGE,
    "True": True,
    "empty text": "",
    "TF2": "TF2",
    "a null": "a\0b",
    "a surrogate": "\ud800",
    "bytes": b"sim",
    "empty list": [],
    "a list": [1],
    "a list of texts": ["x", "x"],
    "a nest": [[1, 2], [3]],
    "a dictionary": {"a": 1},
    "an array": np.ones((2, 2), np.float32),
    "an array of one": np.ones(1),
    "an empty array": np.ones(0),
    "an object": object(),
    "odd": Odd(),
    "a class": Odd,
    "a function": lambda *_: 1,
    "a strategy": ss.Strategy.mirrored("sim"),
    "None": None,
}
TWO = ss.Strategy.mirrored("sim", replicas=2)


def context() -> Any:
    found = ss.get_replica_context()
    assert found is not None
    return found


def in_replicas(call: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda value: TWO.run(lambda: call(context(), value))


def used(make: Callable[[Any], ss.Strategy]) -> Callable[[Any], Any]:
    """Makes a strategy and lets it work: what is accepted has to work."""

    def call(value: Any) -> Any:
        strategy = make(value)
        return strategy.reduce("SUM", strategy.run(lambda: np.float32(1)), axis=None)

    return call


def program(strategy: ss.Strategy) -> float:
    return float(strategy.reduce("SUM", strategy.run(lambda: np.float32(1)), axis=None))


def run_of(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: np.float32(1))


CALLS: dict[str, Callable[[Any], Any]] = {
    "backend": lambda value: ss.backend(value).close(),
    "backend, an unknown option": lambda value: ss.backend("sim", nosuch=value),
    "backend, replicas": lambda value: ss.backend("sim", replicas=value) if value is not HUGE else None,
    "backend, devices": lambda value: ss.backend("sim", devices=value),
    "backend, order": lambda value: ss.backend("sim", order=value),
    "a strategy's unknown setting": lambda value: ss.Strategy.mirrored("sim", nosuch=value),  # type: ignore[call-arg]
    "experimental_set_strategy": ss.experimental_set_strategy,
    "Cluster, workers": lambda value: ss.sim.Cluster(value, 1).run(program) if not isinstance(value, int) else None,
    "Cluster, replicas": lambda value: ss.sim.Cluster(1, value).run(program) if not isinstance(value, int) else None,
    "Cluster.run": ss.sim.Cluster(2, 1).run,
    "Cluster.outcomes": ss.sim.Cluster(2, 1).outcomes,
    "Cluster, wrap": lambda value: ss.sim.Cluster(1, 1, wrap=value) if not callable(value) else None,
    "Seeded": ss.schedules.Seeded,
    "Recorded": ss.schedules.Recorded,
    "Replayed": ss.schedules.Replayed,
    "Replayed, one draw": lambda value: ss.schedules.Replayed([value]),
    "Replayed, an option": lambda value: ss.schedules.Replayed([("task", 2, value)]),
    "Trace, root": lambda value: ss.trace.Trace(root=value),
    "Trace.read": ss.trace.Trace.read,
    "Trace.write": lambda value: ss.trace.Trace().write(value) if not isinstance(value, str) else None,
    "run": TWO.run,
    "run, args": lambda value: TWO.run(lambda *_: 1, args=value),
    "run, kwargs": lambda value: TWO.run(lambda **_: 1, kwargs=value),
    "reduce, op": lambda value: TWO.reduce(value, run_of(TWO), axis=None),
    "reduce, axis": lambda value: TWO.reduce("SUM", TWO.run(lambda: context().xp.ones((2, 2))), axis=value),
    "reduce, axis of a variable": lambda value: TWO.reduce("SUM", made(), axis=value),
    "gather, axis": lambda value: TWO.gather(TWO.run(lambda: context().xp.ones((2, 2))), axis=value),
    "gather, axis of what is not distributed": lambda value: TWO.gather(np.ones((2, 2)), axis=value),
    "local results": TWO.experimental_local_results,
    "values from a function": TWO.experimental_distribute_values_from_function,
    "save": TWO.save,
    "restore": lambda value: TWO.restore([made()], value),
    "restore, variables": lambda value: TWO.restore(value, {}),
    "all_reduce, op": in_replicas(lambda ctx, value: ctx.all_reduce(value, np.float32(1))),
    "all_gather, axis": in_replicas(lambda ctx, value: ctx.all_gather(np.ones((2, 2), np.float32), axis=value)),
    "all_gather, axis of one replica": lambda value: ss.Strategy.one_device("sim").run(
        lambda: context().all_gather(np.ones((2, 2), np.float32), axis=value)
    ),
    "all_gather, axis without a strategy": lambda value: context().all_gather(np.ones((2, 2), np.float32), axis=value),
    "all_reduce, op without a strategy": lambda value: context().all_reduce(value, np.float32(1)),
    "merge_call": in_replicas(lambda ctx, value: ctx.merge_call(value)),
    "merge_call, args": in_replicas(lambda ctx, value: ctx.merge_call(lambda *_: 1, args=value)),
    "merge_call, kwargs": in_replicas(lambda ctx, value: ctx.merge_call(lambda *_, **__: 1, kwargs=value)),
    "Variable": lambda value: made(value, trainable=True),
    "Variable, dtype": lambda value: made(1.0, dtype=value),
    "Variable, name": lambda value: made(1.0, name=value),
    "Variable, synchronization": lambda value: made(1.0, synchronization=value),
    "Variable, aggregation": lambda value: made(1.0, aggregation=value),
    "Variable, trainable": lambda value: made(1.0, trainable=value),
    "Variable.assign": lambda value: made().assign(value),
    "Launcher": lambda value: Launcher(value).close() if not isinstance(value, int) else None,
    "Launcher, preload": lambda value: Launcher(1, preload=value).close() if not isinstance(value, list) else None,
}
for _setting in (
    "semantics",
    "schedule",
    "checks",
    "trace",
    "executor",
    "seed",
    "wait_limit_s",
    "isolate",
    "replicas",
    "devices",
):
    CALLS[f"mirrored, {_setting}"] = used(
        lambda value, name=_setting: ss.Strategy.mirrored("sim", **{name: 1 if value is HUGE else value})
    )
for _setting in ("semantics", "schedule", "checks", "trace", "order", "backend", "isolate", "wait_limit_s"):
    CALLS[f"Cluster, {_setting}"] = lambda value, name=_setting: ss.sim.Cluster(2, 1, **{name: value}).run(program)
for _kind in ("mirrored", "one_device", "central_storage", "multi_worker"):
    CALLS[_kind] = used(getattr(ss.Strategy, _kind))


def made(value: Any = 1.0, **settings: Any) -> Any:
    with TWO.scope():
        return ss.Variable(value, **settings)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", CALLS)
def test_an_awkward_value_is_an_error_of_ours_or_works(name: str) -> None:
    raw = []
    for what, value in AWKWARD.items():
        try:
            CALLS[name](value)
        except SimStrategyError as error:
            if not str(error).rstrip().endswith("."):
                raw.append(f"{name}({what}) has no sentence: {error}")
        except Exception as error:  # noqa: BLE001 - the finding of this test
            raw.append(f"{name}({what}): {type(error).__name__}: {error}")
    ss.experimental_set_strategy(None)
    assert not raw, "\n".join(raw)


REFUSED: dict[str, Callable[[], Any]] = {
    "semantics by name": lambda: ss.Strategy.mirrored("sim", semantics="TF2"),  # type: ignore[arg-type]
    "schedule=3": lambda: ss.Strategy.mirrored("sim", schedule=3),  # type: ignore[arg-type]
    "the class of a schedule": lambda: ss.Strategy.mirrored("sim", schedule=ss.schedules.InOrder),  # type: ignore[arg-type]
    "trace=1": lambda: ss.Strategy.mirrored("sim", trace=1),  # type: ignore[arg-type]
    "checks=1.0": lambda: ss.Strategy.mirrored("sim", checks=1.0),  # type: ignore[arg-type]
    "checks=1": lambda: ss.Strategy.mirrored("sim", checks=1),  # type: ignore[arg-type]
    "an array of checks": lambda: ss.Strategy.mirrored("sim", checks=np.ones(2)),  # type: ignore[arg-type]
    "devices=3": lambda: ss.Strategy.mirrored("sim", devices=3),  # type: ignore[arg-type]
    "nosuch=1": lambda: ss.Strategy.mirrored("sim", nosuch=1),  # type: ignore[call-arg]
    "backend(3)": lambda: ss.backend(3),  # type: ignore[arg-type]
    "json:loads": lambda: ss.backend("json:loads"),
    "json:loads with replicas": lambda: ss.backend("json:loads", replicas=2),
    "os:getcwd": lambda: ss.backend("os:getcwd"),
    "math:pi": lambda: ss.backend("math:pi"),
    "..:x": lambda: ss.backend("..:x"),
    "order=[]": lambda: ss.backend("sim", order=[]),
    "Cluster.run(3)": lambda: ss.sim.Cluster(2, 1).run(3),  # type: ignore[arg-type]
    "Replayed(3)": lambda: ss.schedules.Replayed(3),  # type: ignore[arg-type]
    "an option that there is not": lambda: ss.schedules.Replayed([("task", 2, 2)]),
    "a trace that is not there": lambda: ss.trace.Trace.read("nosuch"),
    "a matrix as axis": lambda: TWO.run(lambda: context().all_gather(np.ones(2), axis=np.ones((2, 2)))),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_what_cannot_work_is_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(SimStrategyError) as raised:
        call()
    assert len(str(raised.value)) > 20


def test_every_setting_of_a_strategy_and_a_cluster_is_in_the_table() -> None:
    from simstrategy.strategy.opening import Settings

    assert {f"mirrored, {name}" for name in Settings.__annotations__} <= {*CALLS}
    for name in inspect.signature(ss.sim.Cluster).parameters:
        assert [one for one in CALLS if one.startswith("Cluster") and name.split("_")[0] in one], name


def test_numbers_of_numpy_are_taken_as_axes_and_draws() -> None:
    gathered = TWO.run(lambda: context().all_gather(np.ones((2, 2), np.float32), axis=np.int64(1)))
    assert TWO.experimental_local_results(gathered)[0].shape == (2, 4)
    assert ss.schedules.Replayed([("task", np.int64(2), np.int64(1))]).choose("task", 2) == 1  # type: ignore[list-item]
