"""Finds TensorFlow's devices and opens a backend on them; makes logical CPUs while that is still possible."""

from collections.abc import Sequence
from typing import NoReturn

import tensorflow as tf

from simstrategy.device import Device
from simstrategy.errors import BackendUnavailable, InvalidArgument
from simstrategy.short_repr import short_repr
from simstrategy_tensorflow.backend import TensorFlowBackend
from simstrategy_tensorflow.collectives import Communication, chosen
from simstrategy_tensorflow.generated import remove_at_exit

__all__ = ["open_tensorflow"]

_CPUS_MIN = 8
"""The number of logical CPUs that the first opening makes: TensorFlow can make no more later."""


def open_tensorflow(
    *, replicas: int | None = None, devices: Sequence[str] | None = None, communication: Communication = "auto"
) -> TensorFlowBackend:
    """Opens a backend of one process: `replicas` logical CPUs (default 1), or the `devices` named.

    devices: names such as "CPU:1" or "GPU:0"; one that occurs several times holds several replicas.
    communication: "copy" adds on one device, in rank order; "nccl" (GPUs) and "ring" use TensorFlow's
    collective operations, whose order of additions is their own; "auto" is "nccl" among several GPUs, else
    "copy". Raises InvalidArgument for impossible numbers, and BackendUnavailable where TensorFlow has started
    with fewer devices, or has no GPU.
    """
    if replicas is not None and (not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 1):
        raise InvalidArgument(
            f"The backend 'tensorflow' takes a number of replicas of at least 1, got {short_repr(replicas)}."
        )
    names = [f"CPU:{i}" for i in range(replicas or 1)] if devices is None else list(devices)
    if not names or replicas not in (None, len(names)):
        raise InvalidArgument(
            f"The backend 'tensorflow' got {len(names)} devices for {replicas} replicas: name one each."
        )
    remove_at_exit()
    cpu = tf.config.list_physical_devices("CPU")[0]
    if len(tf.config.get_logical_device_configuration(cpu) or ()) < len(names):
        try:
            configuration = [tf.config.LogicalDeviceConfiguration()] * max(_CPUS_MIN, len(names))
            tf.config.set_logical_device_configuration(cpu, configuration)
        except RuntimeError:  # TensorFlow has started: what there is must do
            pass
    found = [device.name for device in tf.config.list_logical_devices()]
    missing = [name for name in names if f"/device:{name}" not in found]
    if missing:
        _refuse(names, missing, found)
    hint = chosen(communication, names)
    return TensorFlowBackend(tuple([Device(rank, 0, _placement(name)) for rank, name in enumerate(names)]), hint=hint)


def _refuse(names: Sequence[str], missing: Sequence[str], found: Sequence[str]) -> NoReturn:
    if any(name.startswith("GPU:") for name in missing):
        gpus = [name for name in found if "GPU:" in name]
        raise BackendUnavailable(
            f"The backend 'tensorflow' was asked for {', '.join(missing)}, and TensorFlow sees "
            f"{', '.join(gpus) if gpus else 'no GPU'}. See whether nvidia-smi lists it and TensorFlow is built for it "
            f"(pip install 'tensorflow[and-cuda]'); or use CPUs: ss.backend('tensorflow', replicas={len(names)})."
        )
    raise BackendUnavailable(
        f"The backend 'tensorflow' was asked for {', '.join(names)}, and TensorFlow has started with {len(found)} "
        f"devices: {', '.join(found)}. Logical CPUs are made before TensorFlow's first call only: call "
        f'ss.backend("tensorflow", replicas={len(names)}) before any other, make them yourself with '
        f"tf.config.set_logical_device_configuration, or let one device hold several replicas: "
        f'devices=["CPU:0"] * {len(names)}.'
    )


def _placement(name: str) -> str:
    """Returns the name of the device that its tensors have."""
    with tf.init_scope(), tf.device(name):
        return str(tf.zeros(()).device)
