# ranks: 2
# lines: any order
"""Warnings, tracebacks of errors that were handled, and lines with "Error" in them, on both streams of each rank."""

import logging
import sys
import traceback
import warnings

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
warnings.warn(f"rank {rank} is not what you think", RuntimeWarning)
logging.getLogger("x").error("RuntimeError: ranks disagree (not really)")
try:
    {}[rank]
except KeyError:
    traceback.print_exc()
print(f"[rank{rank}]: Traceback (most recent call last):\n", end="", flush=True)
print(f"FAILED exitcode : 1 rank {rank}\n", end="", file=sys.stderr, flush=True)
total = torch.tensor([1.0])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("kept")
    dist.all_reduce(total)
print(f"rank {rank} {total.item()} {len(caught) >= 1}\n", end="", flush=True)
dist.destroy_process_group()
