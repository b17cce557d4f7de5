"""Sums over ranks, against numbers computed by hand.  Clause: G-5."""

import pytest
import torch
from torch.distributed import ReduceOp

from simstrategy.errors import Unsupported
from simstrategy_torch_distributed.sums import combined, op_name

NAMES = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")


@pytest.mark.parametrize("name", NAMES)
def test_an_operation_has_the_name_that_torch_gives_it(name):
    assert op_name(ReduceOp(vars(ReduceOp.RedOpType)[name])) == name


@pytest.mark.parametrize(
    ("op", "expected"),
    [("SUM", 9), ("PRODUCT", 30 - 20), ("MIN", 1), ("MAX", 5), ("BAND", 0), ("BOR", 7), ("BXOR", 7)],
)
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8])
def test_integers_are_combined(op, expected, dtype):
    values = (5, 1, 2) if op == "PRODUCT" else (5, 1, 3)
    expected = 5 ^ 1 ^ 3 if op == "BXOR" else 5 & 1 & 3 if op == "BAND" else expected
    found = combined([torch.tensor([one], dtype=dtype) for one in values], op, "linear")
    assert found.dtype == dtype
    assert found.tolist() == [expected]


def test_a_sum_is_rounded_at_each_addition_in_the_stated_order():
    # In float32 1e8 + 1 is 1e8: what is added first decides what is lost.
    terms = [torch.tensor([one] * 4) for one in (1e8, 1.0, 1.0, -1e8)]
    assert combined(terms, "SUM", "linear").tolist() == [0.0] * 4
    assert combined(terms, "SUM", "tree").tolist() == [0.0] * 4
    # Block k begins at rank k + 1: 1 + 1 - 1e8 + 1e8, 1 - 1e8 + 1e8 + 1, -1e8 + 1e8 + 1 + 1, 1e8 + 1 + 1 - 1e8.
    assert combined(terms, "SUM", "ring").tolist() == [0.0, 1.0, 2.0, 0.0]


@pytest.mark.parametrize("order", ["linear", "ring", "tree"])
def test_bfloat16_is_rounded_to_its_eight_bits_at_each_addition(order):
    # 256 + 1 has nine bits, and the tie goes to the even number 256.
    terms = [torch.tensor([256.0, 1.0, 3.0], dtype=torch.bfloat16), torch.ones(3, dtype=torch.bfloat16)]
    found = combined(terms, "SUM", order)
    assert found.dtype == torch.bfloat16
    assert found.tolist() == [256.0, 2.0, 4.0]


def test_a_mean_divides_the_sum_and_keeps_the_dtype():
    found = combined([torch.tensor([1.0, 2.0], dtype=torch.float16)] * 4, "AVG", "linear")
    assert found.dtype == torch.float16
    assert found.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("dtype", "op"),
    [
        (torch.int64, "AVG"),
        (torch.float32, "BAND"),
        (torch.bfloat16, "BXOR"),
        (torch.int16, "SUM"),
        (torch.float8_e4m3fn, "SUM"),
    ],
)
def test_what_gloo_refuses_is_refused_with_a_remedy(dtype, op):
    with pytest.raises(Unsupported, match=r"Convert the tensor"):
        combined([torch.ones(2).to(dtype)] * 2, op, "linear")
