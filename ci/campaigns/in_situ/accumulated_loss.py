"""Trains a small Llama with the stock Trainer; all rows have the same number of tokens."""

import argparse
import os
import tempfile

os.environ["USE_TF"] = "0"

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--rows-at-once", type=int)
parser.add_argument("--accumulation", type=int)
options = parser.parse_args()

torch.manual_seed(0)
rows = [{"input_ids": tokens, "labels": tokens} for tokens in torch.randint(2, 30, (8, 6))]
sizes = {"vocab_size": 30, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
model = LlamaForCausalLM(LlamaConfig(**sizes, max_position_embeddings=8, pad_token_id=0, bos_token_id=1))
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
