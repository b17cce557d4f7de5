# ranks: 2
"""Bytes on stdout that are no text, unbuffered writes, a line without end, and a long one."""

import os
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
total = torch.tensor([1.0])
dist.all_reduce(total)
if rank == 0:
    sys.stdout.buffer.write(bytes([65, 0, 200, 255, 10]))
    sys.stdout.flush()
    os.write(1, b"straight to the file\n")
    print("é" * 100_000)
    print("carriage\rreturn", "tab\t", "\x1b[31mred\x1b[0m", flush=True)
    sys.stdout.reconfigure(line_buffering=True)
    os.system("echo and a child of it")
    sys.stdout.write("no end of line")
dist.barrier()
dist.destroy_process_group()
