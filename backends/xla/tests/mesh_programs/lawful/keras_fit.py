"""Keras on JAX under DataParallel, with batch normalisation and dropout: the parts of a batch are one array there."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np

ROWS = np.random.default_rng(0).normal(size=(96, 6)).astype(np.float32)
LABELS = (ROWS[:, 0] > ROWS[:, 1]).astype(np.float32)


def program(mesh: jax.sharding.Mesh):
    devices = [f"cpu:{device.id}" for device in mesh.devices.flat]
    keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
    keras.utils.set_random_seed(0)
    first = [keras.layers.Dense(8, use_bias=False), keras.layers.BatchNormalization(), keras.layers.ReLU()]
    model = keras.Sequential([keras.Input((6,)), *first, keras.layers.Dropout(0.2), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.1), loss=keras.losses.BinaryCrossentropy(from_logits=True))
    history = model.fit(ROWS, LABELS, batch_size=24, epochs=2, shuffle=False, verbose=0)
    return {"loss": history.history["loss"], "weights": [one.value for one in model.weights]}
