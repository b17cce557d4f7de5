"""What PyTorch does on GPUs alone, and the backend has mended: found on one, and examined where there is one."""

import numpy as np
import pytest
import torch

import simstrategy as ss
from simstrategy.errors import InvalidArgument

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU here")


def test_indices_and_counts_that_are_none_are_refused_and_the_gpu_goes_on() -> None:
    xp = ss.backend("torch", device="cuda:0").xp
    x = xp.asarray(np.float32([1, 2, 3]))
    for wrong in (
        lambda: xp.take(x, np.array([3]), axis=0),
        lambda: xp.take(x, np.array([-4]), axis=0),
        lambda: xp.repeat(x, np.array([1, -1, 1])),
    ):
        with pytest.raises(InvalidArgument):
            wrong()
    assert xp.take(x, np.array([-1, 0]), axis=0).tolist() == [3, 1]


def test_integers_are_multiplied_as_matrices() -> None:
    xp = ss.backend("torch", device="cuda:0").xp
    x = xp.asarray(np.int32([[1, 2], [3, 4]]))
    assert xp.matmul(x, x).tolist() == [[7, 10], [15, 22]]
    assert str(xp.matmul(x, x).device) == "cuda:0"
    assert xp.vecdot(x, x).tolist() == [5, 25]
    assert xp.tensordot(x, x, axes=2).tolist() == 30


def test_a_complex_array_is_divided_with_one_rounding() -> None:
    xp = ss.backend("torch", device="cuda:0").xp
    x = np.arange(99, dtype=np.complex64)
    assert np.array_equal(xp.divide(xp.asarray(x), 3.0).cpu().numpy().real, x.real / np.float32(3))
