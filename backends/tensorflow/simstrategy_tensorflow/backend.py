"""TensorFlow's devices in one process as one `Backend`.  It opens nothing and makes no devices.

Every total is a left fold in rank order, one rounding to the dtype at each addition, on the root's device
(rank 0 for `all_reduce`). Works on symbolic tensors as well, while a `tf.function` is traced.
"""

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import tensorflow as tf

from simstrategy.device import PROTOCOL_VERSION, Array, ArraySpec, Backend, Capabilities, Device, Op
from simstrategy.errors import InvalidType
from simstrategy_tensorflow.autodiff import TensorFlowAutodiff
from simstrategy_tensorflow.conversion import Conversion
from simstrategy_tensorflow.namespace import DTYPES, TensorFlowNamespace, named
from simstrategy_tensorflow.placement import On

__all__ = ["TensorFlowBackend"]

Arrays = tuple[Array, ...]
_FOLDS: Final[dict[str, Any]] = {"SUM": tf.add, "MIN": tf.minimum, "MAX": tf.maximum}


@final
class TensorFlowBackend:
    """One process's TensorFlow devices; rank r computes on `devices[r]`."""

    __slots__ = ("capabilities", "devices", "local_devices", "prepare", "source", "xp")

    name = "tensorflow"
    protocol_version = PROTOCOL_VERSION
    array_types = (tf.Tensor,)
    autodiff = TensorFlowAutodiff()

    def __init__(self, devices: tuple[Device, ...]) -> None:
        conversion = Conversion()
        self.prepare = conversion.prepare
        self.source = conversion.source
        self.devices = self.local_devices = devices
        self.xp = TensorFlowNamespace(devices[0].placement)
        self.capabilities = Capabilities(
            dtypes=frozenset(DTYPES),
            carrier="thread",
            # Measured on CPUs; on GPUs, sums and products of matrices promise nothing.
            reproducible_bits=all(":CPU:" in device.placement for device in devices),
            mutable_arrays=False,
        )

    def on(self, device: Device) -> On:
        return On(device.placement)

    def synchronize(self) -> None:
        """Waits for what GPUs still do.  While a graph is traced there is nothing to wait for."""
        if tf.executing_eagerly():
            tf.test.experimental.sync_devices()

    def close(self) -> None:
        """Does nothing: TensorFlow keeps its devices until the process ends."""

    def put(self, value: np.ndarray | Array, device: Device) -> Array:
        with tf.device(device.placement):
            if isinstance(value, tf.Tensor):
                return tf.identity(value)
            if not isinstance(value, np.ndarray):
                raise InvalidType(f"put takes a NumPy array or a tf.Tensor, got a {type(value).__name__}.")
            return tf.constant(value, named(value.dtype))

    def get(self, array: Array) -> np.ndarray:
        try:
            return np.array(array.numpy())
        except (AttributeError, NotImplementedError) as error:  # as TensorFlow's symbolic tensors say it
            raise InvalidType(f"{array!r} has no value while a tf.function is traced: read it outside.") from error

    def spec(self, array: Array) -> ArraySpec:
        return ArraySpec(tuple(array.shape), array.dtype.name, array.device)

    def cell(self, initial: Array) -> "TensorFlowCell":
        return TensorFlowCell(initial)

    def all_reduce(self, arrays: Arrays, op: Op) -> Arrays:
        return self._spread(self.reduce(arrays, op, root=0))

    def reduce(self, arrays: Arrays, op: Op, *, root: int) -> Array:
        with tf.device(self.devices[root].placement):
            total = tf.identity(arrays[0])
            for array in arrays[1:]:
                total = _FOLDS[op](total, array)
            return total

    def broadcast(self, array: Array | None, *, spec: ArraySpec, root: int) -> Arrays:
        return self._spread(array)

    def all_gather(self, arrays: Arrays, *, axis: int, sizes: tuple[int, ...]) -> Arrays:
        with tf.device(self.devices[0].placement):
            return self._spread(tf.concat(arrays, axis))

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        """Returns the note: there is one process, and nobody to wait for."""
        return (note,)

    def _spread(self, array: Array) -> Arrays:
        return tuple([self.put(array, device) for device in self.devices])


@final
class TensorFlowCell:
    """A variable's storage: a `tf.Variable` on the device of its initial value."""

    __slots__ = ("native",)

    def __init__(self, initial: Array) -> None:
        with tf.device(initial.device):
            self.native = tf.Variable(initial)

    def read(self) -> Array:
        # On the variable's device whatever the scope; TensorFlow copies before a later write changes it.
        return self.native.value()

    def write(self, value: Array) -> None:
        self.native.assign(value, read_value=False)


if TYPE_CHECKING:
    _: Backend = TensorFlowBackend(())
