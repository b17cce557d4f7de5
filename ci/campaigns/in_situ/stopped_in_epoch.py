"""Trains two epochs with accelerate; after --stop-after steps all is made again, and goes on from the saved state."""

import argparse
import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch.utils.data import DataLoader, TensorDataset


def parts(accelerator):
    """Returns model, optimizer and loader as a start of the script makes them."""
    torch.manual_seed(0)
    model = torch.nn.Linear(1, 1)
    rows = TensorDataset(torch.linspace(-1, 1, 16).square().reshape(16, 1))
    loader = DataLoader(rows, batch_size=2, shuffle=True, generator=torch.Generator().manual_seed(1))
    return accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.2), loader)


def train(accelerator, folder, done, stop):
    """Trains from step `done` to `stop`; returns the model, and the number of steps."""
    model, optimizer, loader = parts(accelerator)
    if done:
        accelerator.load_state(folder)
    for epoch in range(done // len(loader), 2):
        skipped = done - epoch * len(loader)
        batches = accelerator.skip_first_batches(loader, skipped) if skipped else loader
        for (values,) in batches:
            accelerator.backward((model(values) - values.sqrt()).square().mean())
            optimizer.step()
            optimizer.zero_grad()
            done += 1
            if done == stop:
                accelerator.save_state(folder)
                return model, done
    return model, done


parser = argparse.ArgumentParser()
parser.add_argument("--stop-after", type=int, default=0)
stop = parser.parse_args().stop_after
accelerator = Accelerator(cpu=True)
with tempfile.TemporaryDirectory() as folder:
    (folder,) = broadcast_object_list([folder])  # one folder for all ranks
    model, done = train(accelerator, folder, 0, stop)
    if stop:
        model, done = train(Accelerator(cpu=True), folder, done, 0)
    accelerator.wait_for_everyone()
print("result steps", done)
print("result weight", *[one.item() for one in model.parameters()])
