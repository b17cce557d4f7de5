"""Trains with Lightning on a batch sampler of the program's own, which shuffles by epoch."""

import logging
import os
import warnings

import pytorch_lightning
import torch
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, TensorDataset

logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
warnings.simplefilter("ignore")
world = int(os.environ["WORLD_SIZE"])
rows = TensorDataset(torch.linspace(-1, 1, 16).reshape(16, 1))


class ShuffledBatches(BatchSampler):
    """Batches of this rank, in an order that depends on the epoch."""

    def set_epoch(self, epoch):
        self.sampler.set_epoch(epoch)


class Model(pytorch_lightning.LightningModule):
    """Fits a square."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch, _number):
        return (self.layer(batch[0]) - batch[0].square()).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def train_dataloader(self):
        sampler = DistributedSampler(rows, world, int(os.environ["RANK"]))
        return DataLoader(rows, batch_sampler=ShuffledBatches(sampler, 2, drop_last=False))


trainer = pytorch_lightning.Trainer(
    accelerator="cpu",
    devices=world,
    strategy="ddp",
    max_epochs=3,
    replace_sampler_ddp=False,
    logger=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    enable_checkpointing=False,
)
trainer.fit(Model())
