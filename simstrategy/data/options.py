"""How a dataset wants to be distributed: policies, and the two objects that carry them.  It decides nothing."""

from dataclasses import dataclass
from enum import Enum
from numbers import Integral
from typing import Any, Final, final

from simstrategy.data.splitting import SplitRule
from simstrategy.errors import InvalidArgument, InvalidType

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
    """How a dataset is dealt to the workers of a cluster."""

    OFF = -1
    """Not at all: every worker has all elements."""
    AUTO = 0
    """By file where files are read and every worker can have one, else by element."""
    FILE = 1
    """Worker w reads file i where i mod W is w."""
    DATA = 2
    """By element: each worker runs the whole pipeline and keeps its part of every batch."""
    HINT = 3
    """Where the pipeline says so: see `SHARD_HINT`."""


class InputReplicationMode(Enum):
    """For whom an input function is called."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


@final
@dataclass(frozen=True, slots=True)
class Options:
    """What a dataset carries along; None leaves it to the profile."""

    auto_shard_policy: AutoShardPolicy | None = None
    split_rule: SplitRule | None = None

    def __post_init__(self) -> None:
        _check(self)

    def over(self, other: "Options") -> "Options":
        """Returns the other options where these leave something open."""
        return Options(self.auto_shard_policy or other.auto_shard_policy, self.split_rule or other.split_rule)


@final
@dataclass(frozen=True, slots=True)
class InputOptions:
    """What a call that distributes says of one dataset; it stands above the dataset's own options."""

    auto_shard_policy: AutoShardPolicy | None = None
    split_rule: SplitRule | None = None
    experimental_replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER

    def __post_init__(self) -> None:
        _check(self)
        _check_member("experimental_replication_mode", InputReplicationMode, self.experimental_replication_mode)

    def over(self, other: Options) -> Options:
        """Returns the dataset's options where these leave something open."""
        return Options(self.auto_shard_policy, self.split_rule).over(other)


@final
@dataclass(frozen=True, slots=True)
class InputContext:
    """What an input function is told of the pipeline that it makes."""

    num_input_pipelines: int = 1
    input_pipeline_id: int = 0
    num_replicas_in_sync: int = 1

    def get_per_replica_batch_size(self, global_batch_size: Any) -> int:
        """Returns the global batch size divided by the number of replicas.

        Raises InvalidArgument where that leaves a rest. Clauses: D-12.
        """
        if isinstance(global_batch_size, bool) or not isinstance(global_batch_size, Integral):
            raise InvalidType(f"The global batch size is an int, got {global_batch_size!r}.")
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
        raise InvalidType(f"{name} is one of {names}, got {value!r}.")
