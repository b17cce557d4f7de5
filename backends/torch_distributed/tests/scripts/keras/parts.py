"""What the scripts share: a Keras model on torch, rows, and how a rank takes its part.  The scripts import it."""

import argparse
import os

os.environ["KERAS_BACKEND"] = "torch"

import keras
import torch
import torch.distributed as dist


def begin():
    """Returns the batch size of a rank, the rank and the number of ranks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=8)
    dist.init_process_group("gloo")
    return parser.parse_args().batch_size, dist.get_rank(), dist.get_world_size()


def model(*inner):
    """Returns a model of 5 inputs and 2 outputs.  inner: layers between its two dense ones."""
    keras.utils.set_random_seed(0)
    layers = [keras.layers.Dense(6, activation="tanh"), *inner, keras.layers.Dense(2)]
    return keras.Sequential([keras.Input((5,)), *layers])


def batches(batch_size, rank, size, count=32):
    """Yields this rank's part of each global batch: inputs [rows, 5] and labels [rows]."""
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(count, 5, generator=generator)
    labels = (inputs[:, 0] > inputs[:, 1]).long()
    for start in range(rank * batch_size, count, batch_size * size):
        yield inputs[start : start + batch_size], labels[start : start + batch_size]
