"""One model of Keras 3 on TensorFlow, JAX and PyTorch, trained on several replicas of each, and judged in one report.

    simstrategy check examples/keras_everywhere.py --keras tensorflow,jax,torch --replicas 1,2,4

The model, its first weights and its batches are the same everywhere; what shares a batch out is each library's own:
MirroredStrategy, DataParallel over a mesh, and DistributedDataParallel in a script that torchrun starts.
"""

import keras
import numpy as np

LIBRARY = keras.backend.backend()
BATCH = 24
RATE = 0.1
EPOCHS = 2
ROWS = np.random.default_rng(0).normal(size=(96, 6)).astype(np.float32)
LABELS = (ROWS[:, :1] > ROWS[:, 1:2]).astype(np.float32)


def make_model():
    """Returns a small model with the same weights on every library."""
    hidden = keras.layers.Dense(8, activation="relu", name="hidden")
    model = keras.Sequential([keras.Input((6,)), hidden, keras.layers.Dense(1, name="out")])
    generator = np.random.default_rng(1)
    model.set_weights([generator.normal(scale=0.3, size=one.shape).astype(np.float32) for one in model.weights])
    return model


def make_loss():
    return keras.losses.BinaryCrossentropy(from_logits=True)


def compiled():
    model = make_model()
    model.compile(keras.optimizers.SGD(RATE), make_loss())
    return model


def fitted(model):
    """Trains by Keras's own loop; returns the mean loss of each epoch, and the weights."""
    history = model.fit(ROWS, LABELS, batch_size=BATCH, epochs=EPOCHS, shuffle=False, verbose=0)
    return {"loss": history.history["loss"], "weights": model.get_weights()}


if LIBRARY == "tensorflow":
    import tensorflow as tf

    def program(strategy: tf.distribute.Strategy):
        with strategy.scope():
            model = compiled()
        return fitted(model)

elif LIBRARY == "jax":
    import jax

    def program(mesh: jax.sharding.Mesh):
        devices = [f"cpu:{device.id}" for device in mesh.devices.flat]
        keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
        return fitted(compiled())

elif __name__ == "__main__":  # on PyTorch Keras has no loop for several processes: this is a script for torchrun
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    dist.init_process_group("gloo")
    rows = BATCH // dist.get_world_size()
    net, loss_of = DistributedDataParallel(make_model()), make_loss()
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    for first in [*range(0, len(ROWS), BATCH)] * EPOCHS:
        mine = slice(first + dist.get_rank() * rows, first + (dist.get_rank() + 1) * rows)
        optimizer.zero_grad()
        loss = loss_of(torch.from_numpy(LABELS[mine]), net(torch.from_numpy(ROWS[mine])))
        loss.backward()
        optimizer.step()
    dist.destroy_process_group()
