"""What PyTorch in one process has besides the contract, which the conformance kit examines: autograd, bfloat16."""

import threading
from typing import Any

import numpy as np
import pytest
import torch

import simstrategy as ss
from simstrategy.device import Backend, Strict
from simstrategy.errors import Unsupported
from simstrategy_torch import arrays as shared

COUNT = 5


@pytest.fixture(scope="module")
def backend() -> Backend:
    return Strict(ss.backend("torch", replicas=COUNT))


def test_group_calls_take_what_gradients_flow_through_and_expanded_views(backend: Backend) -> None:
    given = tuple(torch.ones(1, requires_grad=True).expand(3) for _ in range(COUNT))
    for results in (
        backend.all_reduce(given, "SUM"),
        backend.all_gather(given, axis=0, sizes=(3,) * COUNT),
        backend.broadcast(given[0], spec=backend.spec(given[0]), root=0),
    ):
        assert not any(result.requires_grad for result in results)
        results[0][0] = 7
        assert results[0].tolist()[:2] == [7, results[1].tolist()[0]]


def test_bfloat16_goes_in_and_out(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    value = np.array([1.5, -2], ml_dtypes.bfloat16)
    array = backend.put(value, backend.devices[0])
    assert array.dtype is torch.bfloat16
    assert backend.get(array).tobytes() == value.tobytes()
    monkeypatch.setitem(shared._HOST, torch.bfloat16, None)
    with pytest.raises(Unsupported, match="install ml_dtypes"):
        backend.get(array)


def test_parameters_are_arrays_and_what_is_put_is_a_copy(backend: Backend) -> None:
    parameter = torch.nn.Parameter(torch.ones(2))
    assert isinstance(parameter, backend.array_types)
    assert backend.spec(parameter) == ((2,), "float32", "cpu")
    assert backend.get(parameter).tolist() == [1, 1]
    copy = backend.put(parameter, backend.devices[1])
    assert copy.data_ptr() != parameter.data_ptr()


def test_a_cell_takes_no_gradient_along(backend: Backend) -> None:
    cell = backend.cell(torch.zeros(2))
    cell.write(torch.full((2,), 5.0, requires_grad=True))
    assert (cell.read().tolist(), cell.read().requires_grad) == ([5, 5], False)


@pytest.mark.slow  # torch.optim imports PyTorch's compiler
def test_an_optimizer_may_hold_a_cells_tensor(backend: Backend) -> None:
    cell = backend.cell(torch.ones(2))
    optimizer = torch.optim.SGD([cell.native.requires_grad_()], lr=0.5)
    before = cell.read()
    (before**2).sum().backward()
    optimizer.step()
    cell.write(cell.read() * 4)
    assert (before.tolist(), cell.read().tolist()) == ([1, 1], [0, 0])
    assert cell.native.is_leaf


def test_the_gradient_mode_and_autocast_of_the_caller_reach_another_thread(backend: Backend) -> None:
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        placement = backend.on(backend.devices[0])
    seen: list[Any] = []

    def lane() -> None:
        with placement:
            seen.append((torch.is_grad_enabled(), (torch.ones(2, 2) @ torch.ones(2, 2)).dtype))
        seen.append((torch.is_grad_enabled(), (torch.ones(2, 2) @ torch.ones(2, 2)).dtype))

    thread = threading.Thread(target=lane)
    thread.start()
    thread.join()
    assert seen == [(False, torch.bfloat16), (True, torch.float32)]
