# ranks: 2
"""Each rank starts other programs: a shell's, Python's, one that fails on purpose, and a pool of processes."""

import multiprocessing
import os
import subprocess
import sys

import torch
import torch.distributed as dist


def square(number):
    return number * number


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    code = "import os; print('child of', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    failed = subprocess.run([sys.executable, "-c", "raise SystemExit(7)"], check=False).returncode
    echoed = os.popen("echo from the shell").read().strip()
    squares = []
    if rank == 0:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            squares = pool.map(square, range(4))
    total = torch.tensor([sum(squares)])
    dist.all_reduce(total)
    reports = [None] * 2
    dist.all_gather_object(reports, (said, failed, echoed, squares))
    if rank == 0:
        print(*reports, total.item(), sep="\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
