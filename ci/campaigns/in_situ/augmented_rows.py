"""Trains with the stock Trainer on rows that the loader's workers augment with noise."""

import os
import tempfile

os.environ["USE_TF"] = "0"

import torch
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments


class Noisy(Dataset):
    """Rows of zeros with noise."""

    def __len__(self):
        return 8

    def __getitem__(self, _index):
        return {"values": torch.randn(3)}


class Model(torch.nn.Module):
    """A weight for each number."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, values):
        return {"loss": (values * self.weight - 1.0).square().mean()}


with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        per_device_train_batch_size=2,
        max_steps=2,
        dataloader_num_workers=1,
        remove_unused_columns=False,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    Trainer(Model(), arguments, train_dataset=Noisy()).train()
