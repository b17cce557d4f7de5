"""`strategy.save` and `strategy.restore`: one value for each name, and back on any number of replicas."""

import io

import numpy as np
import pytest
from vocabulary import FIRST, MEAN, ON_READ, PROFILES, SUM, components, line_here, rank

import simstrategy as ss
from simstrategy import Semantics
from simstrategy.errors import (
    ContextError,
    InvalidArgument,
    InvalidType,
    MirroredDiverged,
    PeerFailed,
    ReplicasDisagree,
)
from simstrategy.strategy import group_of


def made(strategy, value=1.0, **settings):
    with strategy.scope():
        return ss.Variable(value, **{"name": "w", **settings})


def on_read(strategy, aggregation, values=(1, 2), dtype="float32", **settings):
    """Returns an ON_READ variable whose components are the values."""
    variable = made(strategy, 0, dtype=dtype, synchronization=ON_READ, aggregation=aggregation, **settings)
    strategy.run(lambda: variable.assign(np.asarray(values[rank()], dtype)))
    return variable


# Clauses: U-15
@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_each_variable_is_saved_as_the_value_that_its_replicas_hold_together(mirrored, same, profile):
    strategy = mirrored(2, semantics=profile)
    variables = [
        made(strategy, np.float32([[1, 2]]), name="layer/w"),
        on_read(strategy, SUM, name="total"),
        on_read(strategy, MEAN, name="mean"),
        on_read(strategy, FIRST, name="first"),
        on_read(strategy, SUM, (3, 4), "int64", name="count"),
        ss.Variable(7.0, name="step"),
    ]
    saved = strategy.save(variables)
    assert list(saved) == ["layer/w", "total", "mean", "first", "count", "step"]
    wanted = [np.float32([[1, 2]]), np.float32(3), np.float32(1.5), np.float32(1), np.int64(7), np.float32(7)]
    for value, expected in zip(saved.values(), wanted, strict=True):
        assert type(value) is np.ndarray
        same(value, expected)
    with strategy.scope():
        again = strategy.save(iter(variables))
    assert [value.tolist() for value in again.values()] == [value.tolist() for value in saved.values()]


def test_a_saved_value_is_a_copy(mirrored):
    strategy = mirrored(2)
    variable = made(strategy, np.float32([1, 2]))
    saved = strategy.save([variable])
    saved["w"][0] = 9
    assert components(variable) == [[1, 2]] * 2
    strategy.restore([variable], saved)
    saved["w"][0] = 5
    assert components(variable) == [[9, 2]] * 2


@pytest.mark.parametrize("replicas", [1, 2, 3])
@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_restoring_gives_every_component_its_value_or_its_share(mirrored, replicas, profile):
    strategy = mirrored(replicas, semantics=profile)
    variables = [
        made(strategy, name="w", aggregation=SUM),
        made(strategy, synchronization=ON_READ, aggregation=MEAN, name="mean"),
        made(strategy, synchronization=ON_READ, aggregation=FIRST, name="first"),
        made(strategy, synchronization=ON_READ, aggregation=SUM, name="total"),
        ss.Variable(0.0, name="step"),
    ]
    strategy.restore(variables, {name: np.float32(6) for name in ("w", "mean", "first", "total", "step")})
    share = (np.float32(6) / np.float32(replicas)).item()
    assert [components(one) for one in variables] == [[6] * replicas] * 3 + [[share] * replicas, [6]]
    strategy.run(lambda: variables[0].assign_add(np.float32(rank() + 1)))
    assert len({*components(variables[0])}) == 1


@pytest.mark.parametrize(
    ("dtype", "total", "wanted"),
    [
        ("int32", 7, [3, 2, 2]),
        ("int64", -7, [-2, -2, -3]),
        ("int64", 2**62 + 1, [1537228672809129302, 1537228672809129302, 1537228672809129301]),
        ("uint8", 200, [67, 67, 66]),
        ("int8", 0, [0, 0, 0]),
    ],
)
@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_shares_of_a_total_of_integers_add_up_to_it(mirrored, dtype, total, wanted, profile):
    strategy = mirrored(3, semantics=profile)
    variable = made(strategy, 0, dtype=dtype, synchronization=ON_READ, aggregation=SUM)
    strategy.restore([variable], {"w": np.asarray(total, dtype)})
    assert components(variable) == wanted
    assert {str(one.dtype) for one in variable.components} == {dtype}
    assert strategy.save([variable])["w"] == np.asarray(total, dtype)


def test_more_replicas_than_the_dtype_counts_share_a_total(mirrored):
    strategy = mirrored(300)
    variable = made(strategy, 0, dtype="int8", synchronization=ON_READ, aggregation=SUM)
    strategy.restore([variable], {"w": np.int8(100)})
    assert components(variable) == [1] * 100 + [0] * 200


def test_a_total_is_restored_by_the_profiles_arithmetic(mirrored):
    for profile, share in ((Semantics.TF1_15, np.float32(5) * np.float32(1 / 3)), (Semantics.TF2, np.float32(5) / 3)):
        variable = made(mirrored(3, semantics=profile), synchronization=ON_READ, aggregation=SUM)
        variable.state.group.owner.restore([variable], {"w": np.float32(5)})
        assert components(variable) == [float(share)] * 3


# Clauses: U-16
def test_what_one_number_of_replicas_saved_another_restores(mirrored):
    strategy, other = mirrored(4), mirrored(3)
    saved = strategy.save([on_read(strategy, SUM, (1, 2, 3, 6)), made(strategy, [0.5, 0.25], name="b")])
    restored = [made(other, synchronization=ON_READ, aggregation=SUM), made(other, [0.0, 0.0], name="b")]
    other.restore(restored, saved)
    assert [components(one) for one in restored] == [[4] * 3, [[0.5, 0.25]] * 3]


def test_saved_values_go_through_a_file_of_numpy(mirrored):
    strategy = mirrored(2)
    variables = [made(strategy, [1.0, 2.0], name="layer/w"), on_read(strategy, SUM, name="total")]
    file = io.BytesIO()
    np.savez(file, **strategy.save(variables))
    file.seek(0)
    for variable in variables:
        variable.assign(np.zeros(variable.shape, np.float32))
    with np.load(file) as saved:
        strategy.restore(variables, saved)
    assert [components(one) for one in variables] == [[[1, 2]] * 2, [1.5, 1.5]]


def test_a_diverged_variable_is_saved_as_its_first_component_and_restored_to_all(mirrored):
    strategy = mirrored(2)
    variable = made(strategy)
    with pytest.warns(MirroredDiverged):
        variable.assign(ss.PerReplica([np.float32(1), np.float32(2)]))
    strategy.restore([variable], strategy.save([variable]))
    assert components(variable) == [1, 1]
    assert variable.state.storage.are_equal


@pytest.mark.parametrize("make", [ss.Strategy.central_storage, ss.Strategy.one_device])
def test_variables_of_one_component_are_saved_and_restored(make):
    strategy = make("sim", replicas=2 if make == ss.Strategy.central_storage else 1)
    variable = made(strategy, 3.0, synchronization=ON_READ)
    saved = strategy.save([variable])
    variable.assign(0.0)
    strategy.restore([variable], saved)
    assert components(variable) == [3]


def test_the_default_strategy_saves_variables_of_none():
    variable = ss.Variable(3.0, name="w")
    saved = ss.get_strategy().save([variable])
    variable.assign(0.0)
    ss.get_strategy().restore([variable], saved)
    assert components(variable) == [3]


def test_nothing_is_saved_or_restored_of_nothing(mirrored):
    assert mirrored(2).save([]) == {}
    assert mirrored(2).restore([], {}) is None


# What is refused.


def test_all_that_cannot_be_saved_is_told_in_one_error(mirrored):
    strategy = mirrored(2)
    variables = [
        made(strategy, name="fine"),
        made(strategy, name="twice"),
        made(strategy, name="twice"),
        made(mirrored(2), name="foreign"),
        made(strategy, synchronization=ON_READ, name="local"),
        made(strategy, True, synchronization=ON_READ, aggregation=SUM, name="flag"),
        made(strategy, 1, synchronization=ON_READ, aggregation=MEAN, name="whole"),
    ]
    here = line_here() + 2
    with pytest.raises(InvalidArgument) as raised:
        strategy.save(variables)
    assert str(raised.value).splitlines() == [
        f"save at test_saving.py:{here} does not fit the variables:",
        "  'twice': 2 variables have this name; make them with names of their own",
        "  'foreign': a variable of another strategy",
        "  'local': ON_READ without an aggregation, so it has no one value; save its components yourself",
        "  'flag': bool has no SUM",
        "  'whole': the mean of int32 is a float, which the variable could not take back",
        "Nothing was saved. Give each variable what it needs.",
    ]


# Clauses: U-16
def test_all_that_does_not_fit_is_told_in_one_error_and_nothing_is_restored(mirrored):
    strategy = mirrored(2)
    variables = [
        made(strategy, name="fine"),
        made(strategy, name="missing"),
        made(strategy, [1.0], name="shape"),
        made(strategy, name="dtype"),
        made(strategy, name="text"),
        made(strategy, synchronization=ON_READ, name="local"),
    ]
    saved = {
        "fine": np.float32(9),
        "shape": np.float32([1, 2]),
        "dtype": np.float64(1),
        "text": "nine",
        "local": np.float32(9),
        "extra": np.float32(9),
        5: None,
    }
    here = line_here() + 2
    with pytest.raises(InvalidArgument) as raised:
        strategy.restore(variables, saved)
    assert str(raised.value).splitlines() == [
        f"restore at test_saving.py:{here} does not fit the variables:",
        "  'local': ON_READ without an aggregation, so it has no one value; save its components yourself",
        "  'missing': not among the saved",
        "  'shape': saved as float32[2], and the variable is float32[1]",
        "  'dtype': saved as float64[], and the variable is float32[]",
        "  'text': saved as str128[], and the variable is float32[]",
        "  'extra': saved, and no variable of that name is given",
        "  5: saved, and no variable of that name is given",
        "Nothing was restored. Give the saved values of these variables.",
    ]
    assert [components(one) for one in variables] == [[1, 1], [1, 1], [[1], [1]], [1, 1], [1, 1], [1, 1]]


@pytest.mark.parametrize("value", [None, 3, "w", {"w": 1}, [1.0], [ss.ReduceOp.SUM]], ids=repr)
def test_what_is_no_list_of_variables_is_refused(mirrored, value):
    strategy = mirrored(2)
    for call, run in (("save", strategy.save), ("restore", lambda value: strategy.restore(value, {}))):
        with pytest.raises(InvalidType, match=rf"{call} at test_saving.py:\d+ takes a list of variables, got "):
            run(value)


@pytest.mark.parametrize("saved", [None, [np.float32(1)], np.float32(1)])
def test_what_is_no_mapping_is_not_restored(mirrored, saved):
    strategy = mirrored(2)
    variable, here = made(strategy), line_here() + 2
    with pytest.raises(InvalidType) as raised:
        strategy.restore([variable], saved)
    assert str(raised.value) == (
        f"restore at test_saving.py:{here} takes what save returned, a mapping from names to arrays, got a "
        f"{type(saved).__name__}."
    )


def test_replicas_and_other_strategies_neither_save_nor_restore(mirrored):
    strategy, other = mirrored(2), mirrored(2)
    variable = made(strategy)
    for call in (lambda: strategy.save([variable]), lambda: strategy.restore([variable], {"w": np.float32(2)})):
        with pytest.raises(ContextError, match="Method requires being in cross-replica context"):
            strategy.run(call)
        with other.scope(), pytest.raises(ContextError, match="Mixing different strategies"):
            call()
    merged = strategy.run(lambda: ss.get_replica_context().merge_call(lambda one: float(one.save([variable])["w"])))
    assert merged == 1


# Workers.


def test_all_workers_save_the_same_and_restore_it():
    def main(strategy):
        variables = [made(strategy, name="w"), on_read(strategy, SUM, range(4), name="t")]
        variables.append(on_read(strategy, FIRST, (5, 6, 7, 8), name="f"))
        variables.append(on_read(strategy, SUM, (1, 1, 1, 3), "int32", name="n"))
        saved = strategy.save(variables)
        strategy.restore(variables, saved)
        return {name: value.item() for name, value in saved.items()}, [components(one) for one in variables]

    found = ss.sim.Cluster(2, 2).run(main)
    assert [saved for saved, _ in found] == [{"w": 1, "t": 6, "f": 5, "n": 6}] * 2
    assert [restored for _, restored in found] == [
        [[1, 1], [1.5, 1.5], [5, 5], [2, 2]],
        [[1, 1], [1.5, 1.5], [5, 5], [1, 1]],
    ]


@pytest.mark.filterwarnings("ignore::simstrategy.errors.MirroredDiverged")
def test_workers_that_have_diverged_save_the_first_ones_value():
    def main(strategy):
        variable = made(strategy)
        variable.assign(float(group_of(strategy).coordinator.worker + 5))
        return components(variable), strategy.save([variable])["w"].item()

    assert ss.sim.Cluster(2, 1).run(main) == (([5], 5), ([6], 5))


def test_workers_that_bring_different_values_restore_nothing():
    def main(strategy):
        variable = made(strategy)
        with pytest.raises(ReplicasDisagree) as raised:
            strategy.restore([variable], {"w": np.float32(group_of(strategy).coordinator.worker // 2)})
        return str(raised.value).splitlines(), components(variable)

    found = ss.sim.Cluster(3, 1).run(main)
    here = main.__code__.co_firstlineno + 3
    told = [
        f"Workers restore different values at test_saving.py:{here}:",
        "  worker 2 has other values than worker 0",
        "Restore the same saved values on every worker; nothing was restored.",
    ]
    assert found == ((told, [1]),) * 3


def test_a_variable_of_no_strategy_is_each_workers_own():
    def main(strategy):
        worker = group_of(strategy).coordinator.worker
        plain = ss.Variable(worker + 1.0, name="plain")
        saved = strategy.save([plain, made(strategy)])
        plain.assign(0.0)
        strategy.restore([plain], {"plain": saved["plain"]})
        return components(plain)

    assert ss.sim.Cluster(2, 1).run(main) == ([1], [2])


def test_a_worker_without_the_values_is_named_to_the_others_who_restore_nothing():
    kept = []

    def main(strategy):
        variable = made(strategy)
        kept.append(variable)
        strategy.restore([variable], {} if group_of(strategy).coordinator.worker else {"w": np.float32(9)})

    first, second = ss.sim.Cluster(2, 1).outcomes(main)
    assert isinstance(first.error, PeerFailed)
    assert "does not fit the variables" in str(first.error)
    assert isinstance(second.error, InvalidArgument)
    assert [components(one) for one in kept] == [[1], [1]]


def test_workers_that_save_different_variables_hear_of_it():
    def main(strategy):
        variables = [made(strategy, name="w"), made(strategy, [1.0, 2.0], name="b")]
        strategy.save(variables[: 2 - group_of(strategy).coordinator.worker])

    with pytest.raises(ReplicasDisagree) as raised:
        ss.sim.Cluster(2, 1).run(main)
    here = main.__code__.co_firstlineno + 2
    assert [one.strip() for one in str(raised.value).splitlines()[1:]] == [
        f"worker 0: save w, b [float32[], float32[2]] at test_saving.py:{here}",
        f"worker 1: save w [float32[]] at test_saving.py:{here}",
    ]
