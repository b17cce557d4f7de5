"""Counts the samples that accelerate gathers for a metric."""

import argparse

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--rows", type=int)
parser.add_argument("--batch-size", type=int)
parser.add_argument("--drop-last", action="store_true")
options = parser.parse_args()

accelerator = Accelerator(cpu=True)
rows = TensorDataset(torch.arange(float(options.rows)) + 1)
loader = accelerator.prepare(DataLoader(rows, batch_size=options.batch_size, drop_last=options.drop_last))
gathered = []
for (values,) in loader:
    gathered.append(accelerator.gather_for_metrics(values))
everything = torch.cat(gathered)
if accelerator.is_main_process:
    print("result count", len(everything))
    print("result sum", everything.sum().item())
