"""Combines the arrays of several devices: by copies to one of them, or by TensorFlow's collective operations.

Copying adds in rank order, one rounding to the dtype at each addition. Collectives, NCCL's and the ring of
TensorFlow's CPUs, add in an order of their own; they take the dtypes that TensorFlow has them for, and everything
else is copied.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, get_args

import tensorflow as tf

from simstrategy.device import Device, Op
from simstrategy.errors import BackendUnavailable, InvalidArgument
from simstrategy.short_repr import short_repr
from simstrategy_tensorflow.placement import require_one_graph
from simstrategy_tensorflow.variables import make_cell_variable

__all__ = ["Combine", "Communication", "chosen", "collective", "copied"]

Communication = Literal["auto", "nccl", "ring", "copy"]
Combine = Callable[[tuple[tf.Tensor, ...], Op], list[tf.Tensor]]
"""Combines arrays [...] of equal shape, one of each device; returns one result per device, on any device."""

_EXTREMES: Final[dict[str, Any]] = {"MIN": tf.minimum, "MAX": tf.maximum}
_IN_ORDER: Final = 9
"""So many arrays `tf.add_n` adds in their order, with one rounding at each addition; of more it adds parts."""
_MERGES: Final = {"SUM": "Add", "MIN": "Min", "MAX": "Max"}
_DTYPES: Final = (tf.float16, tf.float32, tf.float64, tf.int32, tf.int64)
_TIMEOUT_S: Final = 300.0

_NUMBERS: Final = itertools.count(7_000_000)
"""TensorFlow identifies groups, and operations of one collective, by numbers that are unique in the process."""


def chosen(communication: Communication, devices: Sequence[str]) -> Literal["nccl", "ring", "copy"]:
    """Returns the way of communication between devices; "auto" is NCCL for several GPUs, else copies.

    Raises InvalidArgument for an unknown name and for devices that occur twice, and BackendUnavailable for NCCL
    without GPUs.
    """
    if communication not in get_args(Communication):
        raise InvalidArgument(
            f"communication is one of {', '.join(map(repr, get_args(Communication)))}, not {short_repr(communication)}."
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
            f"communication={short_repr(communication)} needs a different device for each replica, got "
            f"{', '.join(devices)}. Use "
            f"communication='copy'."
        )
    return communication


def copied(arrays: tuple[tf.Tensor, ...], op: Op, device: Device) -> tf.Tensor:
    """Returns equal-shaped arrays [...], one per rank, combined in rank order into one [...] on a device."""
    require_one_graph(arrays)
    with tf.device(device.placement):
        if op == "SUM":
            return _sum(arrays)
        found = tf.identity(arrays[0])
        for array in arrays[1:]:
            found = _EXTREMES[op](found, array)
        return found


def _sum(arrays: tuple[tf.Tensor, ...]) -> tf.Tensor:
    """Adds equal-shaped arrays [...] in rank order, with one rounding at each addition.

    In a graph not by `add_n`, and not by additions alone: TensorFlow's optimizer makes one `add_n` of those that follow
    each other, and sorts what it adds by name. It leaves apart what another operation stands between.
    """
    first, *others = arrays
    if not tf.executing_eagerly():
        total = tf.identity(first)
        for number, array in enumerate(others):
            total = tf.add(tf.raw_ops.Snapshot(input=total) if number else total, array)
        return total
    total = tf.identity(first) if not others else tf.add_n(arrays[:_IN_ORDER])
    for start in range(_IN_ORDER, len(arrays), _IN_ORDER - 1):
        total = tf.add_n([total, *arrays[start : start + _IN_ORDER - 1]])
    return total


def _zero_on(device: Device) -> tf.Tensor:
    with tf.init_scope(), tf.device(device.placement):
        return tf.zeros(())


def collective(devices: tuple[Device, ...], hint: Literal["nccl", "ring"]) -> Combine:
    """Returns a function that combines arrays by TensorFlow's collectives.  devices: all different."""
    group = next(_NUMBERS)
    # TensorFlow orders operations that use one resource: one token orders the collectives of one device.
    tokens = [make_cell_variable(_zero_on(device)) for device in devices]

    def together(arrays: tuple[tf.Tensor, ...], op: Op) -> list[tf.Tensor]:
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
        # Every result depends on all operations: a graph would leave an unused one out, and the others would wait.
        placed = []
        with tf.control_dependencies(results):
            for result, device in zip(results, devices, strict=True):
                with tf.device(device.placement):
                    placed.append(tf.identity(result))
        return placed

    # The operations of all devices wait for each other, so a graph runs them together for eager arrays.
    compiled = tf.function(together, autograph=False)

    def combine(arrays: tuple[tf.Tensor, ...], op: Op) -> list[tf.Tensor]:
        # TensorFlow's ring ends the process for an empty array; a size that is not known while tracing may be 0.
        if len(arrays) == 1 or arrays[0].dtype not in _DTYPES or not arrays[0].shape.num_elements():
            return [copied(arrays, op, devices[0])] * len(arrays)
        require_one_graph(arrays)
        results: list[tf.Tensor] = (compiled if tf.executing_eagerly() else together)(arrays, op)
        return results

    return combine
