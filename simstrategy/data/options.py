"""The options of distributing a dataset: policies, and the objects that carry them.  Nothing is decided here."""

from dataclasses import dataclass
from enum import Enum
from numbers import Integral
from typing import Any, Final, final

from simstrategy.data.splitting import SplitRule
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr

__all__ = [
    "SHARD_HINT",
    "AutoShardPolicy",
    "InputContext",
    "InputOptions",
    "InputReplicationMode",
    "Options",
]

SHARD_HINT: Final = -1
"""As `shard(SHARD_HINT, 0)`: replaced by (workers, worker) under `AutoShardPolicy.HINT`, and an error elsewhere."""


class AutoShardPolicy(Enum):
    """How a dataset is sharded over the workers of a cluster."""

    OFF = -1
    """Not at all: every worker reads all elements."""
    AUTO = 0
    """By file if the dataset reads at least one file for each worker, else by element."""
    FILE = 1
    """Worker w of W reads file i if i mod W is w."""
    DATA = 2
    """By element: each worker runs the whole pipeline and keeps its part of every batch."""
    HINT = 3
    """At the step `shard(SHARD_HINT, 0)` of the pipeline: see `SHARD_HINT`."""


class InputReplicationMode(Enum):
    """How often an input function is called: once for each worker, or once for each replica."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


@final
@dataclass(frozen=True, slots=True)
class Options:
    """The options that a dataset carries; None stands for the default of the profile.

    Raises InvalidType for a value that is no member of the enum.
    """

    auto_shard_policy: AutoShardPolicy | None = None
    split_rule: SplitRule | None = None

    def __post_init__(self) -> None:
        _check(self)

    def over(self, other: "Options") -> "Options":
        """Returns these options, with the other ones in place of None."""
        return Options(self.auto_shard_policy or other.auto_shard_policy, self.split_rule or other.split_rule)


@final
@dataclass(frozen=True, slots=True)
class InputOptions:
    """The options of one call that distributes a dataset; they override the options of the dataset.

    Raises InvalidType for a value that is no member of the enum.
    """

    auto_shard_policy: AutoShardPolicy | None = None
    split_rule: SplitRule | None = None
    experimental_replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER

    def __post_init__(self) -> None:
        _check(self)
        _check_member("experimental_replication_mode", InputReplicationMode, self.experimental_replication_mode)

    def over(self, other: Options) -> Options:
        """Returns these options, with those of the dataset in place of None."""
        return Options(self.auto_shard_policy, self.split_rule).over(other)


@final
@dataclass(frozen=True, slots=True)
class InputContext:
    """The argument of an input function: which pipeline it makes, and for how many replicas."""

    num_input_pipelines: int = 1
    input_pipeline_id: int = 0
    num_replicas_in_sync: int = 1

    def get_per_replica_batch_size(self, global_batch_size: Any) -> int:
        """Returns the global batch size divided by the number of replicas.

        Raises InvalidType if it is no int, and InvalidArgument if it is not divisible. Clauses: D-12.

        >>> InputContext(num_replicas_in_sync=4).get_per_replica_batch_size(64)
        16
        """
        if isinstance(global_batch_size, bool) or not isinstance(global_batch_size, Integral):
            raise InvalidType(f"The global batch size is an int, got {short_repr(global_batch_size)}.")
        if global_batch_size % self.num_replicas_in_sync:
            raise InvalidArgument(
                f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` "
                f"{self.num_replicas_in_sync}. Take a multiple of it."
            )
        return int(global_batch_size) // self.num_replicas_in_sync

    def __str__(self) -> str:
        return f"InputContext(input pipeline id {self.input_pipeline_id}, total: {self.num_input_pipelines})"


def _check(options: "Options | InputOptions") -> None:
    for name, kind, value in (
        ("auto_shard_policy", AutoShardPolicy, options.auto_shard_policy),
        ("split_rule", SplitRule, options.split_rule),
    ):
        if value is not None:
            _check_member(name, kind, value)


def _check_member(name: str, kind: type[Enum], value: Any) -> None:
    if not isinstance(value, kind):
        names = ", ".join(f"{kind.__name__}.{one.name}" for one in kind)
        raise InvalidType(f"{name} is one of {names}, got {short_repr(value)}.")
