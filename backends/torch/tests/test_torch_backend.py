"""PyTorch in one process: collectives equal to the simulator's to the bit, true to the contract, never aliased."""

import threading
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch

import simstrategy as ss
from simstrategy.device import Backend, Strict
from simstrategy.errors import InvalidArgument, InvalidType, Unsupported
from simstrategy_torch import arrays as shared

COUNT = 5
DTYPES = sorted(ss.backend("torch").capabilities.dtypes - {"bfloat16"})


@pytest.fixture(scope="module")
def backend() -> Backend:
    return Strict(ss.backend("torch", replicas=COUNT))


@pytest.fixture(scope="module")
def sim() -> Backend:
    return Strict(ss.backend("sim", replicas=COUNT))


def put_all(backend: Backend, values: list[Any]) -> tuple[Any, ...]:
    return tuple(backend.put(value, device) for value, device in zip(values, backend.devices, strict=True))


def random_arrays(seed: int, dtype: str) -> list[Any]:
    generator = np.random.default_rng(seed)
    scale = 10.0 if np.dtype(dtype).kind in "iu" else 10.0 ** generator.integers(-3, 4)
    arrays = [(generator.normal(size=(37, 3)) * scale) for _ in range(COUNT)]
    return [
        array.astype(np.int64).astype(dtype) if np.dtype(dtype).kind in "iu" else array.astype(dtype)
        for array in arrays
    ]


def assert_same_bits(expected: Any, got: Any) -> None:
    assert (got.dtype, got.shape, got.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())


def assert_apart(tensors: Any) -> None:
    for one, other in combinations(tensors, 2):
        assert one.untyped_storage().data_ptr() != other.untyped_storage().data_ptr()


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "bool"])
@pytest.mark.parametrize("op", ["SUM", "MIN", "MAX"])
def test_all_reduce_and_reduce_equal_the_simulator_to_the_bit(
    sim: Backend, backend: Backend, op: Any, dtype: str
) -> None:
    if dtype.startswith("complex") and op != "SUM":
        with pytest.raises(Unsupported, match="orders none"):
            backend.all_reduce(put_all(backend, random_arrays(0, dtype)), op)
        return
    for seed in range(3):
        values = random_arrays(seed, dtype)
        expected = sim.get(sim.all_reduce(put_all(sim, values), op)[0])
        given = put_all(backend, values)
        results = backend.all_reduce(given, op)
        assert_apart((*given, *results, backend.reduce(given, op, root=3)))
        for result in (*results, backend.reduce(given, op, root=3)):
            assert_same_bits(expected, backend.get(result))


@pytest.mark.parametrize("dtype", DTYPES)
def test_broadcast_and_uneven_gather_equal_the_simulator(sim: Backend, backend: Backend, dtype: str) -> None:
    for axis, sizes in ((0, (2, 0, 1, 3, 1)), (1, (0, 0, 2, 0, 0)), (1, (0, 0, 0, 0, 0))):
        shapes = [(2, 3)] * COUNT
        shapes = [(*shape[:axis], size, *shape[axis + 1 :]) for shape, size in zip(shapes, sizes, strict=True)]
        values = [np.full(shape, rank + 1).astype(dtype) for rank, shape in enumerate(shapes)]
        expected = sim.get(sim.all_gather(put_all(sim, values), axis=axis, sizes=sizes)[0])
        given = put_all(backend, values)
        results = backend.all_gather(given, axis=axis, sizes=sizes)
        assert_apart([one for one in (*given, *results) if one.numel()])
        for result in results:
            assert_same_bits(expected, backend.get(result))
    sent = put_all(backend, values)[2]
    results = backend.broadcast(sent, spec=backend.spec(sent), root=2)
    for result in results:
        assert_same_bits(values[2], backend.get(result))


def test_results_do_not_change_when_arguments_or_each_other_do(backend: Backend) -> None:
    given = put_all(backend, [np.ones(2, np.float32)] * COUNT)
    first, *others = backend.all_reduce(given, "SUM")
    sent = backend.broadcast(given[0], spec=backend.spec(given[0]), root=0)
    given[0].fill_(9)
    first.fill_(8)
    assert [one.tolist() for one in others] == [[5, 5]] * (COUNT - 1)
    assert [one.tolist() for one in sent] == [[1, 1]] * COUNT


def test_a_group_of_one_gets_copies_too() -> None:
    backend = Strict(ss.backend("torch"))
    given = backend.put(np.ones(2), backend.devices[0])
    results = [backend.all_reduce((given,), "SUM")[0], backend.reduce((given,), "MAX", root=0)]
    results += backend.all_gather((given,), axis=0, sizes=(2,))
    assert_apart((given, *results))


def test_a_nan_wins_minimum_and_maximum(backend: Backend) -> None:
    values = [np.float32([rank, np.nan if rank == 3 else 1]) for rank in range(COUNT)]
    assert np.isnan(backend.get(backend.all_reduce(put_all(backend, values), "MIN")[0])).tolist() == [False, True]


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


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6, dtype=">f4").reshape(2, 3),
        np.arange(6.0)[::-2],
        np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
        np.array(3, np.complex64),
        np.zeros((0, 2), np.bool_),
    ],
)
def test_host_data_is_copied_in_and_out(backend: Backend, value: Any) -> None:
    value.flags.writeable = False
    array = backend.put(value, backend.devices[1])
    host = backend.get(array)
    np.testing.assert_array_equal(host, value)
    assert host.dtype == value.dtype.newbyteorder("=")
    host[...] = 1
    np.testing.assert_array_equal(backend.get(array), value)


def test_bfloat16_goes_in_and_out(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    value = np.array([1.5, -2], ml_dtypes.bfloat16)
    array = backend.put(value, backend.devices[0])
    assert array.dtype is torch.bfloat16
    assert_same_bits(value, backend.get(array))
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


def test_impossible_data_and_numbers_of_replicas_are_refused(backend: Backend) -> None:
    with pytest.raises(InvalidArgument, match="no dtype 'uint64'"):
        backend.put(np.zeros(2, np.uint64), backend.devices[0])
    with pytest.raises(InvalidArgument, match="no dtype 'uint16'"):
        backend.put(torch.zeros(2, dtype=torch.uint16), backend.devices[0])
    with pytest.raises(InvalidType, match="got a list"):
        backend._inner.put([1.0], backend.devices[0])
    for replicas in (0, -1, True, "2"):
        with pytest.raises(InvalidArgument, match="at least 1"):
            ss.backend("torch", replicas=replicas)


def test_a_cell_copies_and_what_was_read_stays(backend: Backend) -> None:
    initial = torch.zeros(2)
    cell = backend.cell(initial)
    initial.fill_(1)
    before = cell.read()
    cell.write(torch.full((2,), 5.0, requires_grad=True))
    before.add_(1)
    assert (before.tolist(), cell.read().tolist()) == ([1, 1], [5, 5])
    assert not cell.read().requires_grad


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
