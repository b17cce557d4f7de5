"""The TensorFlow that runs here, with eight CPU devices, and how its release spells what all releases can do.

Runs on Python 3.7 as well as on today's. TensorFlow 1.15 is asked with its v2 behaviour, and 1.13 eagerly.
It asks nothing itself.
"""

import numpy as np
import tensorflow

DEVICES = 8


class TensorFlow:
    """One release: `tf` is its namespace, `release` its number.

    graphs: True for cases that make graphs of their own: then nothing is switched on, and there are no devices here.
    """

    def __init__(self, graphs=False):
        self.release = tensorflow.__version__
        self.tf = tensorflow
        # Of 1.15's two enumerations the older one: its name is in recorded messages.
        self.aggregations = tensorflow.VariableAggregation
        self._strategies = {}
        if graphs:
            tensorflow.compat.v1.logging.set_verbosity(tensorflow.compat.v1.logging.ERROR)
            return
        if self.release.startswith("1.13."):
            tensorflow.enable_eager_execution(config=tensorflow.ConfigProto(device_count={"CPU": DEVICES}))
            tensorflow.logging.set_verbosity(tensorflow.logging.ERROR)
            return
        if self.release.startswith("1."):
            self.tf = tensorflow.compat.v2
            tensorflow.compat.v1.logging.set_verbosity(tensorflow.compat.v1.logging.ERROR)
            self.tf.enable_v2_behavior()
            config = self.tf.config.experimental
            configure, one = config.set_virtual_device_configuration, config.VirtualDeviceConfiguration
        else:
            self.tf.get_logger().setLevel("ERROR")
            config = self.tf.config
            configure, one = config.set_logical_device_configuration, config.LogicalDeviceConfiguration
        configure(config.list_physical_devices("CPU")[0], [one() for _ in range(DEVICES)])

    @property
    def has_axes(self):
        """Whether `reduce` takes an axis, may be called without a scope, and knows operations by name."""
        return not self.release.startswith("1.13.")

    def strategy(self, replicas):
        """Returns the one MirroredStrategy over the first devices."""
        if replicas not in self._strategies:
            devices = [f"/cpu:{number}" for number in range(replicas)]
            extra = {}
            if not self.release.startswith("1."):
                # The collectives of 2.x are keyed by process, so that strategies of several sizes would clash.
                extra["cross_device_ops"] = self.tf.distribute.ReductionToOneDevice()
            self._strategies[replicas] = self.tf.distribute.MirroredStrategy(devices, **extra)
        return self._strategies[replicas]

    def run(self, strategy, function, args=()):
        """Calls the function in every replica."""
        if hasattr(strategy, "run"):
            return strategy.run(function, args=args)
        if hasattr(strategy, "experimental_run_v2"):
            return strategy.experimental_run_v2(function, args=args)
        with strategy.scope():
            return strategy.extended.call_for_each_replica(function, args=args)

    def local(self, strategy, value):
        """Returns a value's components."""
        if hasattr(strategy, "experimental_local_results"):
            return strategy.experimental_local_results(value)
        return strategy.unwrap(value)

    def context(self):
        return self.tf.distribute.get_replica_context()

    def rank(self):
        """Returns the number of the replica that runs, a Python int."""
        return int(self.context().replica_id_in_sync_group)

    def spread(self, strategy, arrays):
        """Returns one tensor for each replica, made on its own device."""
        return self.run(strategy, lambda: self.tf.constant(arrays[self.rank()]))

    def reduce(self, strategy, op, value, axis):
        if self.has_axes:
            return strategy.reduce(op, value, axis=axis)
        if axis is not None:
            raise NotImplementedError(f"TensorFlow {self.release} reduces over no axis")
        with strategy.scope():
            return strategy.reduce(getattr(self.tf.distribute.ReduceOp, op), value)

    def per_replica(self, value):
        """Returns whether a value has one component for each replica."""
        return type(value).__name__ == "PerReplica"

    def is_tensor(self, value):
        return hasattr(value, "numpy") and not isinstance(value, np.ndarray)

    def sharded_by(self, dataset, policy):
        """Returns a dataset that is sharded by a policy; 1.15 can only be told whether to shard."""
        options = self.tf.data.Options()
        if self.release.startswith("1."):
            if policy not in ("AUTO", "OFF"):
                raise RuntimeError("unsupported in 1.15")
            options.experimental_distribute.auto_shard = policy == "AUTO"
        else:
            policies = self.tf.data.experimental.AutoShardPolicy
            options.experimental_distribute.auto_shard_policy = getattr(policies, policy)
        return dataset.with_options(options)
