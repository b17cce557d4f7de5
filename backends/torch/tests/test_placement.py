"""Tensors are where their replicas are: shown on PyTorch's device `meta`, which mixes with no other."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import simstrategy as ss
from simstrategy_torch.local import TorchBackend
from simstrategy_torch.placement import On, placement_named

BACKEND = TorchBackend(2, "meta")
HOST = np.float32([[1, 2], [3, 4]])

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "asarray": lambda xp, x: xp.asarray(HOST),
    "asarray of a list": lambda xp, x: xp.asarray([1, 2]),
    "asarray of bfloat16": lambda xp, x: xp.asarray([1.5], dtype="bfloat16"),
    "asarray with a dtype": lambda xp, x: xp.asarray(x, dtype="float64"),
    "zeros": lambda xp, x: xp.zeros((2,)),
    "ones": lambda xp, x: xp.ones(3, dtype="int32"),
    "full": lambda xp, x: xp.full((2,), 7.5),
    "arange": lambda xp, x: xp.arange(5),
    "eye": lambda xp, x: xp.eye(2),
    "zeros_like": lambda xp, x: xp.zeros_like(x),
    "full_like": lambda xp, x: xp.full_like(x, 3),
    "astype": lambda xp, x: xp.astype(x, "float64"),
    "a host array and a tensor": lambda xp, x: xp.add(HOST, x),
    "a tensor and a number": lambda xp, x: xp.multiply(x, 2.0),
    "a number and a tensor": lambda xp, x: xp.subtract(1, x),
    "numbers": lambda xp, x: xp.add(1, 2),
    "promoted": lambda xp, x: xp.add(x, np.float64([1, 2])),
    "bfloat16 and a number": lambda xp, x: xp.add(xp.astype(x, "bfloat16"), 1.5),
    "maximum": lambda xp, x: xp.maximum(x, HOST),
    "logical_and": lambda xp, x: xp.logical_and(x, np.array([True, False])),
    "where": lambda xp, x: xp.where(np.array([True, False]), x, HOST),
    "exp of the host's": lambda xp, x: xp.exp(HOST),
    "sum": lambda xp, x: xp.sum(x, axis=0),
    "mean of the host's": lambda xp, x: xp.mean(HOST),
    "argmax": lambda xp, x: xp.argmax(x, axis=1),
    "matmul": lambda xp, x: xp.matmul(x, HOST),
    "concat": lambda xp, x: xp.concat([x, HOST]),
    "stack": lambda xp, x: xp.stack([HOST, x]),
    "take": lambda xp, x: xp.take(x, [0, -1], axis=0),
    "take by the host's": lambda xp, x: xp.take(x, np.array([1]), axis=1),
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (3, 2, 2)),
    "reshape": lambda xp, x: xp.reshape(HOST, (4,)),
}


@pytest.mark.parametrize("name", CALLS)
def test_whatever_is_made_of_is_on_the_device(name: str) -> None:
    given = BACKEND.put(HOST, BACKEND.devices[1])
    assert str(CALLS[name](BACKEND.xp, given).device) == "meta"


def test_group_calls_cells_and_specs_are_on_the_device() -> None:
    arrays = tuple(BACKEND.put(HOST, device) for device in BACKEND.devices)
    made = [*BACKEND.all_reduce(arrays, "SUM"), BACKEND.reduce(arrays, "MAX", root=1), BACKEND.cell(arrays[0]).read()]
    made += [*BACKEND.broadcast(arrays[0], spec=BACKEND.spec(arrays[0]), root=0)]
    made += [*BACKEND.all_gather(arrays, axis=0, sizes=(2, 2))]
    assert [BACKEND.spec(one).placement for one in made] == ["meta"] * len(made)


def test_a_tensor_of_another_device_is_brought_here() -> None:
    assert str(BACKEND.put(torch.ones(2), BACKEND.devices[0]).device) == "meta"


def test_on_a_gpu_a_backward_pass_runs_in_the_lane_that_asks_for_it() -> None:
    enabled = torch._C._is_multithreading_enabled
    assert enabled()
    with On("meta"):
        assert not enabled()
    assert enabled()
    with On("cpu"):
        assert enabled()


def test_the_cpu_has_one_name() -> None:
    assert placement_named("cpu") == placement_named("cpu:0") == placement_named(torch.device("cpu")) == "cpu"
    assert ss.backend("torch", device="cpu", replicas=2).devices[1].placement == "cpu"
