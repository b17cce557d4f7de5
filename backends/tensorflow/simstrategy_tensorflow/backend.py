"""The `Backend` of TensorFlow's devices in one process.  Devices are made in `opening.py`.

`collectives.py` combines arrays. Unless TensorFlow's collectives were chosen, every total is a left fold in rank order
with one rounding to the dtype at each addition, on the device of the root (rank 0 for `all_reduce`). Symbolic tensors
of a `tf.function` that is being traced are arrays too.
"""

from typing import TYPE_CHECKING, Literal, final

import numpy as np
import tensorflow as tf

from simstrategy.device import PROTOCOL_VERSION, ArraySpec, Backend, Capabilities, Device, Op
from simstrategy.errors import InvalidType
from simstrategy_tensorflow.autodiff import TensorFlowAutodiff
from simstrategy_tensorflow.collectives import Combine, collective, copied
from simstrategy_tensorflow.composites import TensorFlowComposites
from simstrategy_tensorflow.conversion import Origins, leave_ours_alone, prepare
from simstrategy_tensorflow.frontend import TensorFlowFrontend
from simstrategy_tensorflow.namespace import DTYPES, TensorFlowNamespace, named
from simstrategy_tensorflow.placement import On, require_one_graph
from simstrategy_tensorflow.values import register_values
from simstrategy_tensorflow.variables import make_cell_variable

__all__ = ["TensorFlowBackend"]

Arrays = tuple[tf.Tensor, ...]


@final
class TensorFlowBackend:
    """The TensorFlow devices of one process; rank r computes on `devices[r]`."""

    __slots__ = ("_combine", "capabilities", "devices", "frontend", "local_devices", "source", "xp")

    name = "tensorflow"
    protocol_version = PROTOCOL_VERSION
    array_types = (tf.Tensor, tf.Variable)
    """A variable has no placement: `put` copies its value to a device."""
    autodiff = TensorFlowAutodiff()
    compilation = None
    composites = TensorFlowComposites()
    memory = None
    forms = None
    prepare = staticmethod(prepare)

    def __init__(self, devices: tuple[Device, ...], *, hint: Literal["nccl", "ring", "copy"] = "copy") -> None:
        leave_ours_alone()
        register_values()
        self.source = Origins().source
        self.frontend = TensorFlowFrontend(devices, self.put)
        self.devices = self.local_devices = devices
        self._combine: Combine | None = None if hint == "copy" else collective(devices, hint)
        self.xp = TensorFlowNamespace(devices[0].placement)
        self.capabilities = Capabilities(
            dtypes=frozenset(DTYPES),
            executor="thread",
            # Measured on CPUs. On GPUs, sums, matrix products and collectives may give different bits each time.
            reproducible_bits=hint == "copy" and all(":CPU:" in device.placement for device in devices),
            mutable_arrays=False,
            combines_on_one=hint == "copy",
        )

    def on(self, device: Device) -> On:
        return On(device.placement)

    def synchronize(self) -> None:
        """Waits for the GPUs.  Does nothing while a graph is traced."""
        if tf.executing_eagerly():
            tf.test.experimental.sync_devices()

    def close(self) -> None:
        """Does nothing: TensorFlow keeps its devices until the process ends."""

    def put(self, value: np.ndarray | tf.Tensor, device: Device) -> tf.Tensor:
        with tf.device(device.placement):
            if isinstance(value, (tf.Tensor, tf.Variable)):
                return tf.identity(value)
            if not isinstance(value, np.ndarray):
                raise InvalidType(f"put takes a NumPy array or a tf.Tensor, got a {type(value).__name__}.")
            return tf.constant(value, named(value.dtype))

    def get(self, array: tf.Tensor) -> np.ndarray:
        try:
            return np.array(array.numpy())
        except (AttributeError, NotImplementedError) as error:  # TensorFlow's symbolic tensors raise these
            raise InvalidType(f"{array!r} has no value while a tf.function is traced: read it outside.") from error

    def spec(self, array: tf.Tensor) -> ArraySpec:
        placement = "a variable" if isinstance(array, tf.Variable) else array.device
        return ArraySpec(tuple(array.shape), array.dtype.name, placement)

    def cell(self, initial: tf.Tensor) -> "TensorFlowCell":
        return TensorFlowCell(initial)

    def all_reduce(self, arrays: Arrays, op: Op) -> Arrays:
        if self._combine is None:
            return self._spread(copied(arrays, op, self.devices[0]))
        return tuple(
            [self.put(one, device) for one, device in zip(self._combine(arrays, op), self.devices, strict=True)]
        )

    def reduce(self, arrays: Arrays, op: Op, *, root: int) -> tf.Tensor:
        if self._combine is None:
            return copied(arrays, op, self.devices[root])
        return self.put(self._combine(arrays, op)[root], self.devices[root])

    def broadcast(self, array: tf.Tensor | None, *, spec: ArraySpec, root: int) -> Arrays:
        return self._spread(array)

    def all_gather(self, arrays: Arrays, *, axis: int, sizes: tuple[int, ...]) -> Arrays:
        require_one_graph(arrays)
        with tf.device(self.devices[0].placement):
            return self._spread(tf.concat(arrays, axis))

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        """Returns the message: there is only one process."""
        return (note,)

    def _spread(self, array: tf.Tensor) -> Arrays:
        return tuple([self.put(array, device) for device in self.devices])


@final
class TensorFlowCell:
    """A variable's storage: a `tf.Variable` on the device of its initial value."""

    __slots__ = ("_placement", "native")

    def __init__(self, initial: tf.Tensor) -> None:
        self._placement = initial.device
        self.native = make_cell_variable(initial)

    def read(self) -> tf.Tensor:
        # On the variable's device in every scope. TensorFlow copies the value before a later write changes it.
        if tf.executing_eagerly():
            return self.native.value()
        with tf.device(self._placement):
            return self.native.read_value()

    def write(self, value: tf.Tensor) -> None:
        self.native.assign(value, read_value=False)


if TYPE_CHECKING:
    _: Backend[tf.Tensor] = TensorFlowBackend(())
