"""Trains a small language model with the stock Trainer; rows have other numbers of tokens that count."""

import argparse
import os
import tempfile

os.environ["USE_TF"] = "0"

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--rows-at-once", type=int)
parser.add_argument("--accumulation", type=int)
options = parser.parse_args()

torch.manual_seed(0)
tokens = torch.randint(2, 30, (8, 10))
labels = tokens.clone()
for number, row in enumerate(labels):
    row[2 + number :] = -100
rows = [{"input_ids": one, "labels": label} for one, label in zip(tokens, labels, strict=True)]
sizes = {"vocab_size": 30, "n_positions": 10, "n_embd": 8, "n_layer": 1, "n_head": 1}
model = GPT2LMHeadModel(GPT2Config(**sizes, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder,
        per_device_train_batch_size=options.rows_at_once,
        gradient_accumulation_steps=options.accumulation,
        max_steps=1,
        learning_rate=0.1,
        optim="sgd",
        max_grad_norm=0.0,
        lr_scheduler_type="constant",
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    Trainer(model, arguments, train_dataset=rows).train()
print("result weights", *model.lm_head.weight.flatten()[:8].tolist())
