# ranks: 2
"""Two threads add up in the same group, and which is first differs."""

import threading
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
loss, metric = torch.tensor([1.0]), torch.tensor([1.0, 2.0, 3.0])


def train():
    time.sleep(0.5 * rank)
    dist.all_reduce(loss)  # here 0


def evaluate():
    time.sleep(0.5 * (1 - rank))
    dist.all_reduce(metric)  # here 1


threads = [threading.Thread(target=train), threading.Thread(target=evaluate)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if rank == 0:
    print("result", loss.tolist(), metric.tolist())
dist.destroy_process_group()
