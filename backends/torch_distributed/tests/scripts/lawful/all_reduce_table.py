# ranks: 3
"""Every operator of all_reduce on every dtype that gloo adds, with values whose results are exact in any order."""

import torch
import torch.distributed as dist
from shown import exact

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (torch.int8, torch.uint8, torch.int32, torch.int64)
COMPLEX = (torch.complex64, torch.complex128)
OPS = {
    "SUM": (*FLOATS, *INTEGERS, *COMPLEX, torch.bool),
    "AVG": (*FLOATS, *COMPLEX),
    "MIN": (*FLOATS, *INTEGERS, torch.bool),
    "MAX": (*FLOATS, *INTEGERS, torch.bool),
    "PRODUCT": (*FLOATS, *INTEGERS, torch.bool),
    "BAND": (*INTEGERS, torch.bool),
    "BOR": (*INTEGERS, torch.bool),
    "BXOR": (*INTEGERS, torch.bool),
}


def values(rank, dtype):
    """Three ranks' values: sums are 9, 12 and 0, so that a third of each is exact."""
    numbers = torch.tensor([1.0, 2.0, -1.0]) + torch.tensor([2.0, 2.0, 1.0]) * rank
    if dtype in COMPLEX:
        return torch.complex(numbers, numbers.flip(0)).to(dtype)
    if dtype is torch.bool:
        return torch.tensor([rank == 0, True, False])
    return (numbers.abs() if dtype is torch.uint8 else numbers).to(dtype)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    for name, dtypes in OPS.items():
        for dtype in dtypes:
            tensor = values(rank, dtype)
            dist.all_reduce(tensor, op=getattr(dist.ReduceOp, name))
            found = [None] * dist.get_world_size()
            dist.all_gather_object(found, exact(tensor))
            if rank == 0:
                print(name, dtype, found[0], "on all ranks" if len(set(found)) == 1 else found)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
