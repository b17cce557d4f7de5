"""Fine-tunes a tiny causal model with gradient accumulation, as a trainer does."""

import argparse

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

VOCABULARY, IGNORED = 7, -100


def batches(count, steps):
    generator = torch.Generator().manual_seed(0)
    for _ in range(count):
        ids = torch.randint(VOCABULARY, (8, 6), generator=generator)
        labels = ids.clone()
        for row in range(8):  # sentences of different lengths
            labels[row, 2 + row % 5 :] = IGNORED
        yield list(zip(ids.chunk(steps), labels.chunk(steps), strict=True))


def loss_of(logits, labels, num_items):
    logits, labels = logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
    return cross_entropy(logits, labels, ignore_index=IGNORED)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gradient-accumulation-steps", type=int, default=1)
    steps = parser.parse_args().gradient_accumulation_steps
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Embedding(VOCABULARY, 5), torch.nn.Linear(5, VOCABULARY))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for micro_batches in batches(3, steps):
        num_items = sum((labels[:, 1:] != IGNORED).sum() for _, labels in micro_batches)
        total = 0.0
        for ids, labels in micro_batches:
            loss = loss_of(model(ids), labels, num_items)
            loss = loss / steps
            loss.backward()
            total += loss.item()
        optimizer.step()
        optimizer.zero_grad()
        print("result loss", total)
    print("result head", *model.module[1].bias.tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
