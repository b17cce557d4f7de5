"""Validates a model with the stock Trainer of Lightning, and logs a loss over all devices."""

import logging
import os

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Model(lightning.LightningModule):
    """Measures the mean square of its input."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))

    def validation_step(self, batch, _number):
        self.log("loss", (self.scale * batch[0]).square().mean(), sync_dist=True)


world = int(os.environ["WORLD_SIZE"])
trainer = lightning.Trainer(
    accelerator="cpu",
    devices=world,
    strategy="ddp",
    logger=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    enable_checkpointing=False,
)
rows = TensorDataset(torch.arange(9.0))
(found,) = trainer.validate(Model(), DataLoader(rows, batch_size=8 // world), verbose=False)
if trainer.is_global_zero:
    print("result loss", found["loss"])
