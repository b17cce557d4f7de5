"""Every error and warning that simstrategy raises.

Each error derives from `SimStrategyError` and from the built-in that users of TensorFlow catch.
This module knows no other part of the project.
"""

__all__ = [
    "BackendNotFound",
    "BackendUnavailable",
    "CallSitesDiffer",
    "CannotCompile",
    "ContextError",
    "ContractViolation",
    "Difference",
    "InvalidArgument",
    "InvalidType",
    "MirroredDiverged",
    "OutOfRangeError",
    "PeerFailed",
    "ReplicasDisagree",
    "SimStrategyError",
    "SimStrategyWarning",
    "Unsupported",
]


class SimStrategyError(Exception):
    """The base of all errors of simstrategy."""


class ContextError(SimStrategyError, RuntimeError):
    """A call was made in a context (replica, cross-replica, scope) in which it is not allowed."""


class InvalidArgument(SimStrategyError, ValueError):
    """An argument has the right type and an impossible value."""


class InvalidType(SimStrategyError, TypeError):
    """An argument has a type that the call cannot use."""


class Unsupported(SimStrategyError, NotImplementedError):
    """The backend at hand cannot do what was asked; the message names one that can."""


class CannotCompile(SimStrategyError, RuntimeError):
    """A step cannot become one program; nothing of it has run."""


class ReplicasDisagree(SimStrategyError, RuntimeError, ValueError):
    """Replicas came to one meeting with different requests; the message has one line per replica."""


class PeerFailed(SimStrategyError, RuntimeError):
    """Another process of the cluster raised, left or died while this one waited for it."""


class ContractViolation(SimStrategyError, RuntimeError):
    """A backend broke the contract of `simstrategy.device.protocol`: the backend's fault, not the program's."""


class BackendNotFound(SimStrategyError, LookupError):
    """No installed backend has this name."""


class BackendUnavailable(SimStrategyError, RuntimeError):
    """The backend is installed and cannot start here; the message says what to do."""


class OutOfRangeError(SimStrategyError, IndexError):
    """A distributed iterator has no further step, or a schedule no further draw."""


class Difference(SimStrategyError, AssertionError):
    """Two runs of one program differ by more than rounding explains."""


class SimStrategyWarning(UserWarning):
    """The base of all warnings of simstrategy."""


class CallSitesDiffer(SimStrategyWarning):
    """Replicas made equal requests from different lines of the program."""


class MirroredDiverged(SimStrategyWarning):
    """A write left the components of an ON_WRITE variable unequal."""


TENSORFLOW_ERRORS: dict[str, type[SimStrategyError]] = {
    "AssertionError": InvalidArgument,
    "AttributeError": InvalidType,
    "IndexError": InvalidArgument,
    "InternalError": ReplicasDisagree,
    "InvalidArgumentError": InvalidArgument,
    "OutOfRangeError": OutOfRangeError,
    "RuntimeError": ContextError,
    "TypeError": InvalidType,
    "UnavailableError": PeerFailed,
    "ValueError": InvalidArgument,
}
"""TensorFlow's error class (by name) and the class of ours that stands for it."""

BROKEN_REFUSALS: tuple[tuple[str, str, type[SimStrategyError]], ...] = (
    ("NotFoundError", "Could not find valid device for node", InvalidArgument),
    ("NotFoundError", "Found an unshardable source dataset", InvalidArgument),
    ("TypeError", "has DataType bool not in list of allowed values", InvalidArgument),
    ("TypeError", 'can only concatenate str (not "NoneType") to str', InvalidArgument),
)
"""Where TensorFlow refuses rightly and its class misleads: class, part of the message, our class.

Bool, which has no sum: 1.15.5 and 2.21.0. Files to shard where none are read: 2.21.0. Synchronization NONE of a
variable without a name: 1.15.5.
"""
