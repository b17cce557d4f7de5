# ranks: 2
"""Threads that load, log and count while the main thread alone calls collectives; one is a daemon that never ends."""

import queue
import threading
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
loaded, written = queue.Queue(maxsize=2), []


def load():
    for number in range(4 + rank):
        loaded.put(torch.full((2,), float(number)))
        time.sleep(0.02 * (1 + rank))


def beat():
    while True:
        time.sleep(0.01)


threading.Thread(target=beat, daemon=True).start()
loader = threading.Thread(target=load)
loader.start()
for step in range(4):
    batch = loaded.get()
    dist.all_reduce(batch)
    timer = threading.Timer(0.01, written.append, [(step, batch.tolist())])
    timer.start()
    timer.join()
if rank:
    loaded.get()
loader.join()
if rank == 0:
    print(written)
dist.destroy_process_group()
