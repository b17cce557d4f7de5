"""Programs as data: what the generator draws, what a script prints, and what the oracle computes.

Plain frozen values without behaviour; they know neither Hypothesis nor any strategy. A program has a replica
function of a few statements, variables, perhaps a dataset, and statements after its runs.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

__all__ = [
    "AfterStatement",
    "AllGather",
    "AllReduce",
    "Assign",
    "Batch",
    "Compute",
    "Data",
    "Fed",
    "Fetch",
    "Gather",
    "Give",
    "Given",
    "Local",
    "Look",
    "Merge",
    "Node",
    "Program",
    "Read",
    "Reduce",
    "Seed",
    "Share",
    "Statement",
    "Stop",
    "Use",
    "VariableSpec",
    "Write",
]

Numbers = Any
"""A number, or a nest of tuples of them: one replica's array."""


@dataclass(frozen=True, slots=True)
class Given:
    """Host data: one array for each rank."""

    kind: ClassVar[str] = "given"
    dtype: str
    parts: tuple[Numbers, ...]
    tails: tuple[int, ...] = ()
    """The sizes behind the leading one, which an empty part does not show."""


@dataclass(frozen=True, slots=True)
class Fed:
    """An argument of the replica function, by its number: what a `Given` becomes where a step is compiled."""

    kind: ClassVar[str] = "fed"
    number: int


@dataclass(frozen=True, slots=True)
class Use:
    """The result of an earlier statement of the replica function, by its number."""

    kind: ClassVar[str] = "use"
    number: int


@dataclass(frozen=True, slots=True)
class Batch:
    """The replica's part of a batch of the dataset."""

    kind: ClassVar[str] = "batch"


@dataclass(frozen=True, slots=True)
class Node:
    """A list, tuple or dict of values; dict keys are letters, given in reverse order."""

    kind: ClassVar[str] = "node"
    container: Literal["list", "tuple", "dict"]
    items: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class AllReduce:
    """`ctx.all_reduce` of a nest."""

    kind: ClassVar[str] = "all_reduce"
    op: Literal["SUM", "MEAN"]
    nest: Any


@dataclass(frozen=True, slots=True)
class AllGather:
    """`ctx.all_gather` of a nest."""

    kind: ClassVar[str] = "all_gather"
    axis: int
    nest: Any


@dataclass(frozen=True, slots=True)
class Merge:
    """`merge_call` of one value: reduced, taken apart, given back, or run through replicas again."""

    kind: ClassVar[str] = "merge"
    how: Literal["sum", "mean", "local", "same", "nested"]
    value: Any


@dataclass(frozen=True, slots=True)
class Write:
    """A replica's write to a variable; its result is what the replica then reads."""

    kind: ClassVar[str] = "write"
    variable: int
    method: Literal["assign", "assign_add", "assign_sub"]
    value: Any


@dataclass(frozen=True, slots=True)
class Read:
    """A variable as the replica reads it."""

    kind: ClassVar[str] = "read"
    variable: int


@dataclass(frozen=True, slots=True)
class Compute:
    """An array function of one value, in the replica."""

    kind: ClassVar[str] = "compute"
    how: Literal["double", "add", "total"]
    value: Any


@dataclass(frozen=True, slots=True)
class Give:
    """The value itself, as an array of the replica's device."""

    kind: ClassVar[str] = "give"
    nest: Any


@dataclass(frozen=True, slots=True)
class Share:
    """The very same object on all replicas."""

    kind: ClassVar[str] = "share"


@dataclass(frozen=True, slots=True)
class Seed:
    """`ctx.seed(label)`."""

    kind: ClassVar[str] = "seed"
    label: str


@dataclass(frozen=True, slots=True)
class Look:
    """The results of the functions that describe the current context."""

    kind: ClassVar[str] = "look"


@dataclass(frozen=True, slots=True)
class Stop:
    """One replica raises, returns early, or requests another collective than the others."""

    kind: ClassVar[str] = "stop"
    how: Literal["raise", "leave", "disagree"]
    replica: int


Statement = AllReduce | AllGather | Merge | Write | Read | Compute | Give | Share | Seed | Look | Stop


@dataclass(frozen=True, slots=True)
class Reduce:
    """`strategy.reduce` of the result of a statement in the last run."""

    kind: ClassVar[str] = "reduce"
    op: Literal["SUM", "MEAN"]
    number: int
    axis: int | tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Gather:
    """`strategy.gather` of the result of a statement in the last run."""

    kind: ClassVar[str] = "gather"
    number: int
    axis: int


@dataclass(frozen=True, slots=True)
class Local:
    """The local results of a statement in the last run."""

    kind: ClassVar[str] = "local"
    number: int


@dataclass(frozen=True, slots=True)
class Assign:
    """A write outside replica functions."""

    kind: ClassVar[str] = "assign"
    variable: int
    method: Literal["assign", "assign_add", "assign_sub"]
    number: float


@dataclass(frozen=True, slots=True)
class Fetch:
    """A read outside replica functions, in the strategy's scope."""

    kind: ClassVar[str] = "fetch"
    variable: int


AfterStatement = Reduce | Gather | Local | Assign | Fetch


@dataclass(frozen=True, slots=True)
class VariableSpec:
    """A variable of the program."""

    kind: ClassVar[str] = "variable"
    synchronization: Literal["ON_WRITE", "ON_READ"]
    aggregation: Literal["NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA"]
    dtype: str
    initial: Numbers


@dataclass(frozen=True, slots=True)
class Data:
    """A dataset of numbers in global batches; its replica function runs once for each batch."""

    kind: ClassVar[str] = "data"
    dtype: str
    numbers: tuple[float, ...]
    batch: int


@dataclass(frozen=True, slots=True, repr=False)
class Program:
    """A whole program.  draws: of the schedule, 0 where they end; empty is InOrder."""

    replicas: int
    """Of each worker."""
    body: tuple[Statement, ...]
    after: tuple[AfterStatement, ...] = ()
    variables: tuple[VariableSpec, ...] = ()
    data: Data | None = None
    runs: int = 1
    scoped: bool = False
    profile: Literal["TF1_15", "TF2"] = "TF1_15"
    workers: int = 1
    draws: tuple[int, ...] = ()

    @property
    def ranks(self) -> int:
        """The number of replicas of all workers."""
        return self.replicas * self.workers

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        # Failures print programs as scripts; this is the program's name in the line of the test's arguments.
        printer.text(repr(self))

    def __repr__(self) -> str:
        return f"<the program above: {self.ranks} replicas, {len(self.body)} + {len(self.after)} statements>"
