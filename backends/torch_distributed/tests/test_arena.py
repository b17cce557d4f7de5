"""The memory that ranks share, with several ranks in one process."""

import os

import pytest
import torch

from simstrategy_torch_distributed.arena import REGION, Arena


@pytest.fixture
def arenas():
    file = os.memfd_create("test")
    os.ftruncate(file, 3 * REGION)
    yield [Arena(file, rank) for rank in range(3)]
    os.close(file)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.bool, torch.int64, torch.complex64])
def test_other_ranks_read_what_one_has_put(arenas, dtype):
    tensors = [
        torch.arange(6).reshape(2, 3).to(dtype),
        torch.arange(4).to(dtype).reshape(2, 2).t(),
        torch.ones(0).to(dtype),
    ]
    start, first, second, empty = arenas[1].put(tensors, 3, (0, 2))
    for reader in (0, 2):
        assert torch.equal(arenas[reader].get(1, first, 6, dtype), tensors[0].reshape(-1))
        assert torch.equal(arenas[reader].get(1, second, 4, dtype), tensors[1].reshape(-1))
        assert arenas[reader].get(1, empty, 0, dtype).numel() == 0
        arenas[reader].release(1, start, reader)


def test_memory_is_used_again_only_when_every_reader_has_read(arenas):
    owner = arenas[0]
    first, *_ = owner.put([torch.ones(10)], 3, (1, 2))
    second, *_ = owner.put([torch.ones(10)], 3, (1,))
    assert second > first
    arenas[1].release(0, first, 1)
    assert owner.put([torch.ones(10)], 3, (1,))[0] > second
    arenas[2].release(0, first, 2)
    assert owner.put([torch.ones(10)], 3, (1,))[0] == first


def test_a_region_grows_and_what_was_read_before_stays(arenas):
    _, place = arenas[0].put([torch.arange(4.0)], 3, (1,))
    held = arenas[1].get(0, place, 4, torch.float32)
    large = torch.arange(1_000_000.0)
    _, other = arenas[0].put([large], 3, (1,))
    assert torch.equal(arenas[1].get(0, other, 1_000_000, torch.float32), large)
    assert held.tolist() == [0.0, 1.0, 2.0, 3.0]
