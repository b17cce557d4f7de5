"""How arrays of several devices are combined: by copies to one of them, or by TensorFlow's collective operations.

Copying adds in rank order, one rounding to the dtype at each addition. Collectives, NCCL's and the ring of
TensorFlow's CPUs, add in an order of their own; they take the dtypes that TensorFlow has them for, and everything
else is copied.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, get_args

import tensorflow as tf

from simstrategy.device import Array, Device, Op
from simstrategy.errors import BackendUnavailable, InvalidArgument
from simstrategy_tensorflow.placement import require_one_graph
from simstrategy_tensorflow.variables import make_cell_variable

__all__ = ["Combine", "Communication", "chosen", "collective", "copied"]

Communication = Literal["auto", "nccl", "ring", "copy"]
Combine = Callable[[tuple[Array, ...], Op], list[Array]]
"""Combines equal-shaped arrays, one of each device; returns the result once for each device, wherever it lies."""

_FOLDS: Final[dict[str, Any]] = {"SUM": tf.add, "MIN": tf.minimum, "MAX": tf.maximum}
_MERGES: Final = {"SUM": "Add", "MIN": "Min", "MAX": "Max"}
_DTYPES: Final = (tf.float16, tf.float32, tf.float64, tf.int32, tf.int64)
_TIMEOUT_S: Final = 300.0

_NUMBERS: Final = itertools.count(7_000_000)
"""By such numbers TensorFlow tells groups, and operations that belong together, in the whole process."""


def chosen(communication: Communication, devices: Sequence[str]) -> Literal["nccl", "ring", "copy"]:
    """Returns what is used among devices; "auto" is NCCL among several GPUs, else copies.

    Raises InvalidArgument for what cannot be, and BackendUnavailable for NCCL without GPUs.
    """
    if communication not in get_args(Communication):
        raise InvalidArgument(
            f"communication is one of {', '.join(map(repr, get_args(Communication)))}, not {communication!r}."
        )
    gpus = [device for device in devices if device.upper().startswith("GPU:")]
    apart = len({device.upper() for device in devices}) == len(devices)
    if communication == "auto":
        return "nccl" if len(gpus) == len(devices) > 1 and apart else "copy"
    if communication == "copy":
        return "copy"
    if communication == "nccl" and len(gpus) != len(devices):
        raise BackendUnavailable(
            f"communication='nccl' works between GPUs, and the devices are {', '.join(devices)}. Name GPUs, "
            f"ss.backend('tensorflow', devices=['GPU:0', 'GPU:1']), or use communication='copy'."
        )
    if not apart:
        raise InvalidArgument(
            f"communication={communication!r} wants a device for each replica, and {', '.join(devices)} come more than "
            f"once. Use communication='copy'."
        )
    return communication


def copied(arrays: tuple[Array, ...], op: Op, device: Device) -> Array:
    """Returns equal-shaped arrays [...], one per rank, combined in rank order into one [...] on a device."""
    require_one_graph(arrays)
    with tf.device(device.placement):
        total = tf.identity(arrays[0])
        for array in arrays[1:]:
            total = _FOLDS[op](total, array)
        return total


def _zero_on(device: Device) -> Array:
    with tf.init_scope(), tf.device(device.placement):
        return tf.zeros(())


def collective(devices: tuple[Device, ...], hint: Literal["nccl", "ring"]) -> Combine:
    """Returns what combines by TensorFlow's collective operations among devices, each of which comes once."""
    group = next(_NUMBERS)
    # TensorFlow orders what uses one resource: the operations of each device, and not those of different ones.
    tokens = [make_cell_variable(_zero_on(device)) for device in devices]

    def together(arrays: tuple[Array, ...], op: Op) -> list[Array]:
        instance = next(_NUMBERS)
        results = []
        for array, device, token in zip(arrays, devices, tokens, strict=True):
            with tf.device(device.placement):
                results.append(
                    tf.raw_ops.CollectiveReduceV2(
                        input=array,
                        group_size=len(devices),
                        group_key=group,
                        instance_key=instance,
                        ordering_token=[token.handle],
                        merge_op=_MERGES[op],
                        final_op="Id",
                        communication_hint=hint,
                        timeout_seconds=_TIMEOUT_S,
                    )
                )
        # All or none: an operation whose result nobody wants would be left out of a graph, and the others would wait.
        placed = []
        with tf.control_dependencies(results):
            for result, device in zip(results, devices, strict=True):
                with tf.device(device.placement):
                    placed.append(tf.identity(result))
        return placed

    # Each device's operation waits for the others', so eager arrays go through a graph, which runs all at once.
    compiled = tf.function(together, autograph=False)

    def combine(arrays: tuple[Array, ...], op: Op) -> list[Array]:
        # Of nothing, TensorFlow's ring makes an end of the process; so a size that only the graph knows is a risk.
        if len(arrays) == 1 or arrays[0].dtype not in _DTYPES or not arrays[0].shape.num_elements():
            return [copied(arrays, op, devices[0])] * len(arrays)
        require_one_graph(arrays)
        results: list[Array] = (compiled if tf.executing_eagerly() else together)(arrays, op)
        return results

    return combine
