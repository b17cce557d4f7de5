"""Warms a learning rate up with accelerate, as the training scripts of diffusers did."""

import argparse

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int)
options = parser.parse_args()
accelerator = Accelerator(cpu=True)
torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
warmup_steps = 4
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup_steps))
rows = TensorDataset(torch.randn(24, 2, generator=torch.Generator().manual_seed(1)))
loader = DataLoader(rows, batch_size=options.batch_size)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
for (inputs,) in loader:
    loss = (model(inputs) - inputs.sum(1, keepdim=True)).square().mean()
    accelerator.backward(loss)
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad()
print("result weight", *[one for parameter in model.parameters() for one in parameter.flatten().tolist()])
