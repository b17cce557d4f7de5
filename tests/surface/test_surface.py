"""Every name of both reference pages and of the project's own exists, is described, and does its work.

The list is by hand: what is on it is promised, whatever the code happens to export..
"""

import contextlib
import inspect

import pytest
from surface_exercises import EXERCISES

import simstrategy as ss

STRATEGY = """extended num_replicas_in_sync scope reduce experimental_run_v2 experimental_local_results
    experimental_distribute_dataset experimental_distribute_datasets_from_function experimental_make_numpy_dataset
    __deepcopy__ experimental_finalize experimental_initialize experimental_run make_dataset_iterator
    make_input_fn_iterator update_config_proto"""
"""On the reference pages of TensorFlow 1.13 and 1.15."""

OWN = {
    "Strategy": """mirrored one_device central_storage multi_worker xp run gather unwrap save restore close
        require_equal require_equal_after_run distribute_datasets_from_function
        experimental_distribute_values_from_function""",
    "StrategyExtended": """call_for_each_replica reduce_to batch_reduce_to broadcast_to update update_non_slot
        non_slot_devices colocate_vars_with variable_created_in_scope value_container read_var worker_devices
        parameter_devices experimental_require_static_shapes experimental_between_graph experimental_should_init
        should_checkpoint should_save_summary""",
    "ReplicaContext": """replica_id_in_sync_group num_replicas_in_sync strategy devices xp merge_call all_reduce
        all_gather require_equal seed""",
    "Variable": """value read_value assign assign_add assign_sub numpy native components name dtype shape trainable
        synchronization aggregation""",
    "InputContext": "num_input_pipelines input_pipeline_id num_replicas_in_sync get_per_replica_batch_size",
    "ValueContext": "num_replicas_in_sync replica_id_in_sync_group",
    "PerReplica": "values",
    "Mirrored": "values",
    "data.Dataset": """from_tensors from_tensor_slices range from_generator map filter flat_map interleave zip batch
        unbatch shuffle repeat shard take skip prefetch cache with_options""",
    "data.DistributedIterator": "get_next get_next_as_optional",
    "data.DistributedDataset": "element_spec",
    "Ledger": "right problems entry weights",
    "Checkpoint": "restore save",
    "estimator": "Estimator EstimatorSpec Mean ModelContext Optimizer RunConfig loss_factors",
    "estimator.Estimator": "config evaluate latest_checkpoint model_dir predict train",
    "estimator.ModelContext": "params replica variable xp",
    "nn": "compute_average_loss scale_regularization_loss",
    "sim.Cluster": "run",
    "sim.Cost": "seconds computing",
    "schedules": "Every InOrder Seeded Recorded Replayed",
    "trace": "Trace Recorder read",
    "testing": "assert_lawful batches replica_counts World",
    "errors": "MirroredDiverged OutOfRangeError",
}
MODULE = """Strategy StrategyExtended ReplicaContext Variable get_strategy has_strategy get_replica_context
    in_cross_replica_context experimental_set_strategy backend backends check exempt Report ledger Ledger PerReplica
    Mirrored ReduceOp VariableSynchronization VariableAggregation InputContext ValueContext InputOptions
    InputReplicationMode
    AutoShardPolicy Semantics data.Dataset data.Options data.SplitRule data.SHARD_HINT data.split
    sim.Cluster sim.Cost sim.timeline"""

PROMISED = sorted(
    {
        *MODULE.split(),
        *(f"Strategy.{name}" for name in STRATEGY.split()),
        *(f"{owner}.{name}" for owner, names in OWN.items() for name in names.split()),
    }
)


def nothing(*_, **__):
    """Does nothing: what each name is replaced by in turn."""


def owner_of(name):
    """Returns what a dotted name is an attribute of, and its last part."""
    *path, last = name.split(".")
    owner = ss
    for part in path:
        owner = getattr(owner, part)
    return owner, last


def in_wrong_order(_, value):
    """Returns the components of a value, the last one first."""
    return value.values[::-1]


MISTAKEN = {
    "Strategy.central_storage": ss.Strategy.mirrored,
    "Strategy.experimental_local_results": in_wrong_order,
    "Strategy.unwrap": in_wrong_order,
}
"""Names that an exercise once knew by the length of a result, and what would have passed for each."""


@contextlib.contextmanager
def doing_nothing(name, nothing=nothing):
    """Replaces a name of the package by one that does nothing, or by a function that does something else."""
    owner, last = owner_of(name)
    own = vars(owner)
    if last not in own:  # set by __init__: an attribute that forgets
        after = property(nothing, nothing)
    elif isinstance(own[last], (staticmethod, classmethod)):
        after = staticmethod(nothing)
    elif isinstance(owner, type) and not callable(own[last]):
        after = property(nothing, nothing)
    else:
        after = nothing
    before = own.get(last, after)
    setattr(owner, last, after)
    try:
        yield
    finally:
        if before is after:
            delattr(owner, last)
        else:
            setattr(owner, last, before)


def holds(name):
    """Tells whether a name does its work; one that raises does not."""
    try:
        return bool(EXERCISES[name]())
    except Exception:  # noqa: BLE001 - whatever comes of a name that does nothing
        return False


def test_every_promised_name_has_an_exercise_and_no_other_has():
    assert sorted(EXERCISES) == PROMISED


@pytest.mark.parametrize("name", PROMISED)
def test_a_name_does_its_work(name):
    assert EXERCISES[name]()


@pytest.mark.parametrize("name", PROMISED)
def test_a_name_that_did_nothing_would_be_seen(name):
    with doing_nothing(name):
        assert not holds(name)
    assert holds(name)


@pytest.mark.parametrize("name", MISTAKEN)
def test_a_name_that_did_the_work_of_another_would_be_seen(name):
    with doing_nothing(name, MISTAKEN[name]):
        assert EXERCISES[name]() is False


@pytest.mark.parametrize("name", PROMISED)
def test_a_name_is_described(name):
    owner, last = owner_of(name)
    found = vars(owner).get(last)
    if isinstance(found, (staticmethod, classmethod)):
        found = found.__func__
    described = inspect.getdoc(found) if callable(found) or isinstance(found, property) else None
    families = [one for one in getattr(owner, "__mro__", []) if one.__module__.startswith("simstrategy")]
    sources = [inspect.getsource(one) for one in families or [owner]]
    assert described or any(last in source for source in sources), f"{name} has no description"
