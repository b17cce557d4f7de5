# ranks: 2
"""Rank 0 alone keeps a log with levels, a file, running means and a progress line; the others keep none."""

import logging
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
logging.basicConfig(
    level=logging.INFO if rank == 0 else logging.ERROR, stream=sys.stdout, format="%(levelname)s %(message)s"
)
log = logging.getLogger("train")
history = []
for step in range(6):
    loss = torch.tensor(1.0 / (step + 1) + rank)
    dist.all_reduce(loss)
    if rank == 0:
        history.append(loss.item() / 2)
        if step % 2 == 0:
            log.info("step %d mean %.4f", step, sum(history) / len(history))
            print(f"\r{step}", end="", file=sys.stderr)
    log.debug("not shown")
if rank == 0:
    with open("history.txt", "w") as file:
        file.write("\n".join(f"{one:.3f}" for one in history))
    log.warning("kept %d", len(open("history.txt").read().split()))
dist.destroy_process_group()
