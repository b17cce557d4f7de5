"""Caches of the last call, of docs/caches.md: each test makes an entry, breaks its rule, and sees the right answer."""

import functools
import types

import numpy as np
import pytest
from vocabulary import SUM, ctx, rank, variable_in

import simstrategy as ss
from simstrategy.errors import InvalidArgument, ReplicasDisagree
from simstrategy.run import StatusMessage, function_key, kept_text
from simstrategy.run.coordinator import Coordinator
from simstrategy.run.kept_text import KeptText
from simstrategy.strategy import group_of
from simstrategy.strategy.arguments import ArgumentCache, StepArguments
from simstrategy.trace import Request
from simstrategy.values import PerReplica

F2, F3, I2 = np.ones(2, np.float32), np.ones(3, np.float32), np.ones(2, np.int32)


def events(trace):
    return [(event.kind, event.op, event.shapes, event.dtypes) for event in trace.events() if event.kind != "run"]


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_request_is_used_again_only_for_the_same_op_and_form(mirrored, same, replicas):
    trace = ss.trace.Trace()
    strategy = mirrored(replicas, trace=trace)
    calls = [("SUM", F2), ("SUM", F2), ("MEAN", F2), ("SUM", F3), ("SUM", I2), ("SUM", F2), (ss.ReduceOp.SUM, F2)]

    def step():
        arrays = [ctx().xp.asarray(value) for _, value in calls]
        return [ctx().all_reduce(op, array) for (op, _), array in zip(calls, arrays, strict=True)]

    for result, (op, value) in zip(strategy.run(step), calls, strict=True):
        total = value * (1 if op == "MEAN" else replicas)
        for component in strategy.experimental_local_results(result):
            same(component, total, value.dtype)
    wanted = [("all_reduce", getattr(op, "value", op), (value.shape,), (value.dtype.name,)) for op, value in calls]
    assert events(trace)[::replicas] == wanted


def test_replicas_that_write_one_op_in_several_ways_share_the_request_and_the_forms(mirrored, same):
    """Else each of N replicas begins the list of N forms anew."""
    strategy = mirrored(4)
    ops = ["SUM", ss.ReduceOp.SUM, "sum", "".join(["S", "UM"])]
    for value in strategy.run(lambda: ctx().all_reduce(ops[rank()], ctx().xp.asarray(F2))).values:
        same(value, F2 * 4)
    forms = group_of(strategy).requests.last_one[1]
    assert [form[2] for form in forms] == [f"sim:{index}" for index in range(4)]


def given_alone(x):
    return x


def given_in_a_nest(x):
    return {"a": x, "b": [x[:1]]}


@pytest.mark.parametrize("shaped", [given_alone, given_in_a_nest])
def test_host_data_counts_as_it_was_at_the_call_also_on_the_quick_way(mirrored, same, shaped):
    """All replicas fill one array, one after the other, before any sum is made."""
    strategy = mirrored(3)
    shared = np.zeros(2, np.float32)

    def step():
        totals = []
        for number in range(3):
            shared[:] = rank() + number
            total = ctx().all_reduce("SUM", shaped(shared))
            shared[:] = 100
            totals.append(total)
        return totals

    for number, result in enumerate(strategy.run(step)):
        leaves, _ = ss.tree.flatten(result)
        for leaf in leaves:
            for component in leaf.values:
                same(component, np.full(component.shape, 3 + 3 * number, np.float32), "float32")


def test_host_data_written_to_a_variable_counts_as_it_was_at_the_write(mirrored, same):
    strategy = mirrored(3)
    variable = variable_in(strategy, np.zeros(2, np.float32), aggregation=SUM)
    shared = np.zeros(4, np.float32)

    def step():
        for number in range(3):
            shared[:] = rank() + number
            variable.assign_add(shared[rank() : rank() + 2][::-1])
            shared[:] = 100

    for _ in range(2):
        strategy.run(step)
    same(variable.value(), np.full(2, 36, np.float32), "float32")


def test_a_result_of_host_data_is_no_alias_of_it(mirrored):
    strategy = mirrored(1)
    host = np.ones(2, np.float32)

    def step():
        totals = [ctx().all_reduce("SUM", host) for _ in range(2)]
        host[:] = 5
        return totals

    assert [total.tolist() for total in strategy.run(step)] == [[1, 1], [1, 1]]


@pytest.mark.parametrize("other", [np.ones(3, np.float32), np.ones(2, np.float64), np.ones(2, ">f4"), np.float32(1)])
def test_host_data_of_another_form_makes_another_request(mirrored, same, other):
    trace = ss.trace.Trace()
    strategy = mirrored(2, trace=trace)

    def step():
        return [ctx().all_reduce("SUM", value) for value in (F2, F2, other, other, F2)]

    for value, result in zip((F2, F2, other, other, F2), strategy.run(step), strict=True):
        native = np.asarray(value).astype(np.asarray(value).dtype.newbyteorder("="))
        same(result.values[1], native * 2, native.dtype.name)
    assert [shapes for _, _, shapes, _ in events(trace)[::2]] == [
        (np.shape(value),) for value in (F2, F2, other, other, F2)
    ]


@pytest.mark.parametrize("value", [F2, 1.5, 2])
def test_host_data_makes_the_request_of_the_array_that_it_becomes(mirrored, same, value):
    trace = ss.trace.Trace()
    strategy = mirrored(2, trace=trace)
    wanted = np.asarray(value) * 2
    for _ in range(2):
        found = strategy.run(lambda: ctx().all_reduce("SUM", value if rank() else ctx().xp.asarray(value))).values
        assert [one.tolist() for one in found] == [wanted.tolist()] * 2
    assert len(set(events(trace))) == 1
    assert None not in group_of(strategy).requests.last_one[1]
    value = F3  # and another form is another request
    for one in strategy.run(lambda: ctx().all_reduce("SUM", value)).values:
        same(one, F3 * 2)


def test_host_data_of_numbers_that_have_no_sum_is_refused_after_a_request_of_other_numbers(mirrored):
    strategy = mirrored(2)
    strategy.run(lambda: ctx().all_reduce("SUM", F2))
    with pytest.raises(InvalidArgument, match="bool"):
        strategy.run(lambda: ctx().all_reduce("SUM", F2 > 0))
    with pytest.raises(InvalidArgument, match="not a valid ReduceOp"):
        strategy.run(lambda: ctx().all_reduce("MAX", F2))


def test_a_request_of_one_replica_does_not_hide_that_another_differs(mirrored):
    strategy = mirrored(2)
    strategy.run(lambda: ctx().all_reduce("SUM", ctx().xp.asarray(F2)))
    with pytest.raises(ReplicasDisagree, match=r"float32\[2\].*\n.*float32\[3\]"):
        strategy.run(lambda: ctx().all_reduce("SUM", ctx().xp.asarray(F3 if rank() else F2)))


def test_an_array_of_another_replicas_device_never_takes_the_quick_way(mirrored, same):
    strategy = mirrored(2)
    first = strategy.run(lambda: ctx().xp.asarray(F2)).values[0]
    strategy.run(lambda: ctx().all_reduce(ss.ReduceOp.SUM, ctx().xp.asarray(F2)))
    for result in strategy.run(lambda: ctx().all_reduce(ss.ReduceOp.SUM, first)).values:
        same(result, F2 * 2)
    assert [one.placement for one in strategy.run(lambda: ctx().all_reduce(ss.ReduceOp.SUM, first)).values] == [
        "sim:0",
        "sim:1",
    ]


def test_the_specs_of_a_nest_follow_its_request(mirrored, same):
    trace = ss.trace.Trace()
    strategy = mirrored(2, trace=trace)
    one, two = {"a": F2, "b": F3}, {"a": F3, "b": F3}
    calls = [("SUM", nest) for nest in (one, one, two, one, {"a": F3, "b": I2}, [F3, I2], one, one)]
    calls += [("MEAN", one), ("SUM", one)]

    def step():
        made = [(op, ss.tree.map_leaves(ctx().xp.asarray, nest)) for op, nest in calls]
        return [ctx().all_reduce(op, nest) for op, nest in made]

    for result, (op, nest) in zip(strategy.run(step), calls, strict=True):
        found, wanted = ss.tree.flatten(result)[0], ss.tree.flatten(nest)[0]
        for value, leaf in zip(found, wanted, strict=True):
            same(value.values[1], leaf if op == "MEAN" else leaf * 2, leaf.dtype)
    leaves = [ss.tree.flatten(nest)[0] for _, nest in calls]
    assert events(trace)[::2] == [
        ("all_reduce", op, tuple(leaf.shape for leaf in own), tuple(leaf.dtype.name for leaf in own))
        for (op, _), own in zip(calls, leaves, strict=True)
    ]


def test_nests_of_the_same_leaves_in_other_containers_are_other_requests(mirrored):
    strategy = mirrored(2)
    pair = [F2, F3]
    strategy.run(lambda: ctx().all_reduce("SUM", ss.tree.map_leaves(ctx().xp.asarray, pair)))
    with pytest.raises(ReplicasDisagree, match=r"\[float32\[2\].*\n.*\{'a'"):
        strategy.run(lambda: ctx().all_reduce("SUM", {"a": F2, "b": F3} if rank() else pair))


class Wire:
    """Two workers' messages: keeps what this worker sends, and replies with the same for both."""

    def __init__(self, backend):
        self._backend, self.sent, self.sizes = backend, [], (4,)
        self.devices = (*backend.devices, backend.devices[0]._replace(rank=1, process=1, placement="sim:1"))
        self.local_devices = backend.local_devices

    def exchange(self, note, *, timeout_s):
        self.sent.append(note)
        other = StatusMessage.decode(note)._replace(sizes=self.sizes)
        return (note, other.encode())


def test_a_message_is_sent_again_only_for_the_same_request_sites_and_sizes(sim):
    wire = Wire(sim(1))
    coordinator = Coordinator(wire, trace=None, checks=False)
    described = []

    def compare(request, site=("a.py", 1), sizes=(2,)):
        found = coordinator.compare(
            (request, [site], sizes), lambda: described.append(1) or ("replica 0: r at a.py:1",)
        )
        return found, wire.sent[-1]

    one, two = Request("sum", None, None, None, None, ()), Request("gather", None, 0, None, None, ())
    first = compare(one)
    assert compare(one) == first
    assert len(described) == 1  # made once, sent twice
    assert len(wire.sent) == 2
    assert compare(two)[1] != first[1]
    assert compare(one, site=("a.py", 2)) == first  # the site is for people; the message is made again all the same
    assert len(described) == 3
    assert compare(one, sizes=(3,))[0] == (3, 4)
    wire.sizes = (9,)
    assert compare(one, sizes=(3,))[0] == (3, 9)  # the other worker's reply changed, not our message


def test_the_last_program_runs_only_for_arguments_of_its_types_and_forms(mirrored):
    strategy = mirrored(2)
    group = group_of(strategy)

    def arguments(value):
        return (strategy.run(lambda: ctx().xp.asarray(value)),)

    kept = arguments(F2)
    cache = ArgumentCache(group.form)
    given = StepArguments(((), {}), None, [])
    given.arrays = [kept[0].values]
    cache.store(kept, given, "program")
    assert cache.lookup(kept)[0] == "program"
    assert cache.lookup(arguments(F2))[0] == "program"
    for other in (arguments(F3), arguments(I2), (), (*kept, *kept), (kept[0].values[0],)):
        assert cache.lookup(other) is None
    assert cache.lookup((PerReplica(kept[0].values[::-1]),)) is None  # on each other's devices
    assert cache.lookup((PerReplica([F2, F2]),)) is None  # host data
    cache.store((F2,), given, "host data is not kept")
    assert cache.lookup(kept) is None


def test_a_write_of_another_form_never_takes_the_quick_way(mirrored, same):
    strategy = mirrored(2)
    variable, other = variable_in(strategy, F2, aggregation=SUM), variable_in(strategy, F2, aggregation=SUM)
    strategy.run(lambda: variable.assign_add(ctx().xp.asarray(F2)))
    same(variable.numpy(), F2 * 3)
    for wrong in (F3, I2):
        with pytest.raises(InvalidArgument, match="the variable is float32"):
            strategy.run(lambda wrong=wrong: variable.assign_add(ctx().xp.asarray(wrong)))
    strategy.run(lambda: other.assign_add(ctx().xp.asarray(F2)))
    same(other.numpy(), F2 * 3)
    with pytest.raises(ReplicasDisagree, match=r"assign_add.*\n.*assign_sub"):
        strategy.run(lambda: (variable.assign_sub if rank() else variable.assign_add)(ctx().xp.asarray(F2)))


class Trainer:
    def __init__(self, rate):
        self.rate = rate

    def step(self):
        return self.rate


def functions_that_change():
    """Yields functions, the same object more than once, between which what their texts show changes."""
    rate, sizes, inner = 0.1, [1, 2], None

    def gradient(scale=2):
        return rate * scale

    def step():
        return gradient() + sum(sizes[:0])

    def looped():
        return inner and (inner, looped)

    yield gradient
    yield gradient
    rate = 0.2
    yield gradient
    rate = F2  # shown no more
    yield gradient
    gradient.__defaults__ = (3,)
    yield gradient
    gradient.__kwdefaults__ = {}
    yield step
    sizes.append(3)
    yield step
    yield looped
    inner = gradient
    yield looped
    inner = functools.partial(gradient, 4)
    yield looped
    inner = functools.partial(gradient, 5)
    yield looped
    inner = ss.ReduceOp.SUM
    yield looped
    inner = ss.ReduceOp.MEAN
    yield looped
    yield Trainer(1).step
    yield types.MethodType(gradient, 6)
    yield types.MethodType(gradient, 7)
    yield functools.wraps(step)(lambda *_: gradient())
    yield (lambda: late)
    late = 8
    yield (lambda: late)
    yield len


def test_the_kept_text_of_a_function_is_its_text_now():
    kept, texts = KeptText(), set()
    for function in functions_that_change():
        assert kept.of(function) == kept.of(function) == str(function_key(function))
        texts.add(kept.of(function))
    assert len(texts) == 19


def test_the_text_of_a_function_is_made_once_while_nothing_that_it_shows_changes(monkeypatch):
    made, own = [], kept_text.function_key
    monkeypatch.setattr(kept_text, "function_key", lambda function: made.append(function) or own(function))
    trainer, kept, rate = Trainer(1), KeptText(), 1.5

    def step(scale=2):
        return trainer.step() * rate * scale

    for _ in range(3):
        kept.of(step)
        trainer.rate += 1  # not shown
    assert made == [step]
