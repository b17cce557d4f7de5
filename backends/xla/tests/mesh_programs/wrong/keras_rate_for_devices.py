"""Keras on JAX under DataParallel: from the second fit on, the rate grows with the number of devices.

Both fits call one function that Keras has compiled.
"""

import os

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import numpy as np

ROWS = np.random.default_rng(4).normal(size=(48, 4)).astype(np.float32)
TARGETS = ROWS.mean(axis=1, keepdims=True)


def program(mesh: jax.sharding.Mesh):
    devices = [f"cpu:{device.id}" for device in mesh.devices.flat]
    keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(5, activation="tanh"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.02), loss="mean_squared_error")
    model.fit(ROWS, TARGETS, batch_size=12, epochs=1, shuffle=False, verbose=0)
    model.optimizer.learning_rate = 0.02 * mesh.size  # wrong
    history = model.fit(ROWS, TARGETS, batch_size=12, epochs=1, shuffle=False, verbose=0)  # shows
    return {"loss": history.history["loss"], "weights": [one.value for one in model.weights]}
