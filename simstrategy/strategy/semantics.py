"""Where the versions of TensorFlow differ: one named field per difference, and three values of them.

No other file of the project depends on a version.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Final, Literal

__all__ = ["PROFILES", "Semantics"]


@dataclass(frozen=True, slots=True)
class Semantics:
    """One profile.  Every name of the public surface exists in every profile."""

    name: str
    release: str
    """The release of TensorFlow whose measured behaviour the profile stands for."""
    unaggregated_replica_write: Literal["refuse", "local"]
    """What a replica's write to an ON_WRITE variable with aggregation NONE does."""
    on_read_sum_assign: Literal["multiply", "divide"]
    """How a cross-replica assign shares a total out: value * (1 / N), or value / N cast to the dtype."""
    integer_mean_variable: Literal["accept", "refuse"]
    """Whether a variable of integers may have aggregation MEAN."""
    on_read_trainable: Literal["refuse", "accept"]
    """Whether an ON_READ variable may be trainable."""
    on_read_cross_update: Literal["refuse", "allow"]
    """Whether an ON_READ variable takes assign_add and assign_sub outside replica functions."""
    on_read_cross_write_returns: Literal["nothing", "value"]
    """What a write to an ON_READ variable outside replica functions returns: None, or the new value, aggregated."""
    unaggregated_on_read: Literal["sum", "refuse"]
    """What reading an ON_READ variable with aggregation NONE outside replica functions does."""
    first_component_outside_scope: tuple[str, ...]
    """The methods that give an ON_READ variable's first component where no strategy was entered; others aggregate."""
    outside_scope: Literal["refuse", "allow"]
    """Whether `reduce` and the calls of `extended` work where no strategy was entered."""
    reduce_op_by_name: Literal["refuse", "accept"]
    """Whether a cross-replica reduction takes "SUM" and "MEAN" for the members of ReduceOp."""
    reduce_axis: Literal["refuse", "accept"]
    """Whether `reduce` takes an axis."""
    local_results_of_nests: Literal["keep", "unwrap"]
    """Whether the local results of a nest are that nest, or one nest per local replica."""
    captured_per_replica: Literal["refuse", "component"]
    """What a PerReplica value is in a replica function that did not get it as an argument."""
    update_in_replica: Literal["refuse", "merge"]
    """Whether replica functions may call `extended.update`, which is then a merge call."""
    update_per_replica: Literal["refuse", "select"]
    """Whether the function of an update may take PerReplica values, of which each call gets one component."""
    dataset_split: Literal["per batch", "stream"]
    """How batches of a known size are split where elements are not sharded one by one: see `data.SplitRule`."""
    too_few_files: Literal["by element", "refuse"]
    """What automatic sharding does where there are fewer files than workers."""
    dataset_iterator: Literal["even", "split"]
    """Whether `make_dataset_iterator` shares batches out evenly and drops the rest, or splits them as ever."""
    input_fn_remainder: Literal["drop", "empty parts"]
    """What becomes of an incomplete last step of `make_input_fn_iterator`, if its elements can be empty."""
    uneven_step: Literal["refuse", "deliver"]
    """What becomes of an input iterator's step whose parts differ in size: eager 1.13 cannot stack them."""
    estimator_input_context: Literal["none", "pass"]
    """Whether the input function of an Estimator receives an InputContext."""

    TF1_13: ClassVar["Semantics"]
    TF1_15: ClassVar["Semantics"]
    TF2: ClassVar["Semantics"]


Semantics.TF1_13 = Semantics(
    name="TF1_13",
    release="1.13.2",
    unaggregated_replica_write="refuse",
    on_read_sum_assign="multiply",
    integer_mean_variable="accept",
    on_read_trainable="refuse",
    on_read_cross_update="refuse",
    on_read_cross_write_returns="nothing",
    unaggregated_on_read="sum",
    first_component_outside_scope=("value", "read_value", "numpy"),
    outside_scope="refuse",
    reduce_op_by_name="refuse",
    reduce_axis="refuse",
    local_results_of_nests="keep",
    captured_per_replica="refuse",
    update_in_replica="refuse",
    update_per_replica="refuse",
    dataset_split="per batch",
    too_few_files="by element",
    dataset_iterator="even",
    input_fn_remainder="drop",
    uneven_step="refuse",
    estimator_input_context="none",
)
Semantics.TF1_15 = replace(
    Semantics.TF1_13,
    name="TF1_15",
    release="1.15.5",
    on_read_trainable="accept",
    on_read_cross_update="allow",
    unaggregated_on_read="refuse",
    first_component_outside_scope=("value", "numpy"),
    outside_scope="allow",
    reduce_op_by_name="accept",
    reduce_axis="accept",
    dataset_iterator="split",
    input_fn_remainder="empty parts",
    uneven_step="deliver",
    estimator_input_context="pass",
)
Semantics.TF2 = replace(
    Semantics.TF1_15,
    name="TF2",
    release="2.21.0",
    unaggregated_replica_write="local",
    on_read_sum_assign="divide",
    integer_mean_variable="refuse",
    on_read_cross_write_returns="value",
    first_component_outside_scope=(),
    local_results_of_nests="unwrap",
    captured_per_replica="component",
    update_in_replica="merge",
    update_per_replica="select",
    dataset_split="stream",
    input_fn_remainder="drop",
    too_few_files="refuse",
)

PROFILES: Final = {profile.name: profile for profile in (Semantics.TF1_13, Semantics.TF1_15, Semantics.TF2)}
"""The profiles by name."""
