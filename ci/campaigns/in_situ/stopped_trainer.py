"""Trains with the stock Trainer on rows with noise; after --stop-after steps it goes on from a checkpoint."""

import argparse
import os
import tempfile

os.environ["USE_TF"] = "0"

import torch
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments


class Noisy(Dataset):
    """Numbers with noise."""

    def __len__(self):
        return 12

    def __getitem__(self, index):
        return {"values": torch.full((3,), index / 12) + 0.1 * torch.randn(3)}


class Model(torch.nn.Module):
    """A weight for each number."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, values):
        return {"loss": (values * self.weight - 1.0).square().mean()}


def train(folder, stop, start):
    """Trains to the step `stop`; returns the model.  start: a checkpoint to go on from, or None."""
    arguments = TrainingArguments(
        folder,
        per_device_train_batch_size=2,
        num_train_epochs=1,
        max_steps=-1,
        learning_rate=0.1,
        optim="sgd",
        lr_scheduler_type="constant",
        remove_unused_columns=False,
        report_to=[],
        save_strategy="steps" if stop else "no",
        save_steps=stop or 1,
        disable_tqdm=True,
        use_cpu=True,
    )
    model = Model()
    Trainer(model, arguments, train_dataset=Noisy()).train(resume_from_checkpoint=start)
    return model


parser = argparse.ArgumentParser()
parser.add_argument("--stop-after", type=int, default=0)
stop = parser.parse_args().stop_after
with tempfile.TemporaryDirectory() as folder:
    model = train(folder, stop, None)
    if stop:
        model = train(folder, 0, f"{folder}/checkpoint-{stop}")
print("result weight", *model.weight.tolist())
