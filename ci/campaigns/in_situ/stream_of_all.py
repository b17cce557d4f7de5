"""Reads an iterable dataset on every rank through a DataLoader."""

import torch
import torch.distributed as dist
from datasets import Dataset
from torch.utils.data import DataLoader

dist.init_process_group("gloo")
stream = (
    Dataset.from_dict({"value": [float(number) for number in range(12)]}).to_iterable_dataset().with_format("torch")
)
total = torch.zeros(())
for batch in DataLoader(stream, batch_size=2):
    total += batch["value"].sum()
dist.all_reduce(total)
if dist.get_rank() == 0:
    print("result total", total.item())
dist.destroy_process_group()
