"""All errors and warnings of simstrategy.

Each error derives from `SimStrategyError` and from the built-in exception that users of TensorFlow catch. This module
imports of the project only how notebooks show an error.
"""

from simstrategy.notebook import traceback_lines

__all__ = [
    "BackendNotFound",
    "BackendUnavailable",
    "CallSitesDiffer",
    "CannotCompile",
    "ContextError",
    "ContractViolation",
    "Difference",
    "GeneratorsMixed",
    "InvalidArgument",
    "InvalidType",
    "MirroredDiverged",
    "NotJudged",
    "OneReplicasShare",
    "OutOfRangeError",
    "PeerFailed",
    "ReplicaWaits",
    "ReplicasBlocked",
    "ReplicasDisagree",
    "SimStrategyError",
    "SimStrategyWarning",
    "Unsupported",
]


class SimStrategyError(Exception):
    """The base class of all errors of simstrategy."""

    def _render_traceback_(self) -> list[str]:
        """Returns the lines that IPython shows in place of the traceback."""
        return traceback_lines(self)


class ContextError(SimStrategyError, RuntimeError):
    """A call was made in a context (replica, cross-replica, scope) in which it is not allowed."""


class InvalidArgument(SimStrategyError, ValueError):
    """An argument has the right type, but a value that the call cannot use."""


class InvalidType(SimStrategyError, TypeError):
    """An argument has a type that the call cannot use."""


class Unsupported(SimStrategyError, NotImplementedError):
    """The backend or the profile does not have this feature; the message names one that has it."""


class CannotCompile(SimStrategyError, RuntimeError):
    """A step cannot be compiled to one program.  No part of it has run."""


class ReplicasDisagree(SimStrategyError, RuntimeError, ValueError):
    """Replicas made different calls at one synchronisation point; the message has one line for each replica."""


class ReplicasBlocked(SimStrategyError, RuntimeError):
    """A replica waits for something that no other replica can do meanwhile, or will do any more."""


class PeerFailed(SimStrategyError, RuntimeError):
    """Another worker raised an error, ended or stopped answering while this one waited for it."""


class ContractViolation(SimStrategyError, RuntimeError):
    """A backend broke the contract of `simstrategy.device.protocol`: an error of the backend, not of the program."""


class BackendNotFound(SimStrategyError, LookupError):
    """No installed backend has this name."""


class BackendUnavailable(SimStrategyError, RuntimeError):
    """The backend is installed but cannot start here; the message names what to do."""


class OutOfRangeError(SimStrategyError, IndexError):
    """A distributed iterator has no further step, or a schedule no further draw."""


class Difference(SimStrategyError, AssertionError):
    """Two runs of one program differ by more than rounding explains."""


class NotJudged(SimStrategyError, AssertionError):
    """Two runs of one program differ, and rounding changes its results too much to find out whether it is the cause."""


class SimStrategyWarning(UserWarning):
    """The base class of all warnings of simstrategy."""


class CallSitesDiffer(SimStrategyWarning):
    """Replicas made equal requests from different lines of the program."""


class FunctionsDiffer(SimStrategyWarning):
    """Replicas passed functions that hold other arrays, or objects that cannot be compared."""


class GeneratorsMixed(SimStrategyWarning):
    """The program changed a random generator outside of its replicas, which had used it differently."""


class MirroredDiverged(SimStrategyWarning):
    """A write made the components of an ON_WRITE variable unequal."""


class OneReplicasShare(SimStrategyWarning):
    """An ON_READ variable was read where the profile gives one replica's component instead of the aggregate."""


class ReplicaWaits(SimStrategyWarning):
    """A replica has waited for long outside of synchronisation points, while the others cannot run."""


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
"""The name of an error class of TensorFlow, and our class that stands for it."""

BROKEN_REFUSALS: tuple[tuple[str, str, type[SimStrategyError]], ...] = (
    ("NotFoundError", "Could not find valid device for node", InvalidArgument),
    ("NotFoundError", "Found an unshardable source dataset", InvalidArgument),
    ("TypeError", "has DataType bool not in list of allowed values", InvalidArgument),
    ("TypeError", 'can only concatenate str (not "NoneType") to str', InvalidArgument),
)
"""Errors of TensorFlow that are right but have a misleading class: its class, part of its message, our class.

Bool, which has no sum: 1.15.5 and 2.21.0. Sharding by file of a dataset that reads none: 2.21.0. Synchronization NONE
of a variable without a name: 1.15.5.
"""
