# ranks: 2
"""One rank has errors that it handles: a bad sample, a refused argument of a collective, a time limit in a store."""

import datetime

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
handled = []
samples = [1.0, "bad", 3.0] if rank == 1 else [1.0, 2.0, 3.0]
total = torch.tensor(0.0)
for sample in samples:
    try:
        total += float(sample)
    except ValueError as error:
        handled.append(type(error).__name__)
if rank == 0:
    for call in (lambda: dist.all_reduce([1.0]), lambda: dist.send(total, dst=0), lambda: dist.broadcast(total, src=7)):
        try:
            call()
        except (TypeError, ValueError, RuntimeError):
            handled.append("refused")
    store = dist.HashStore()
    try:
        store.wait(["never"], datetime.timedelta(milliseconds=50))
    except dist.DistStoreError:
        handled.append("too late")
dist.all_reduce(total)
reports = [None] * 2
dist.all_gather_object(reports, handled)
if rank == 0:
    print(total.item(), *reports, sep="\n")
dist.destroy_process_group()
