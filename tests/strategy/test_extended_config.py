"""What a session or a loop asks of a strategy before it starts and when it ends.  Clauses: X-13."""

from types import SimpleNamespace

import pytest

import simstrategy as ss
from simstrategy.errors import InvalidType


def config():
    """An object with the attributes of a ConfigProto that a strategy may want to set."""
    return SimpleNamespace(
        allow_soft_placement=True,
        isolate_session_state=False,
        device_filters=["/job:ps"],
        experimental=SimpleNamespace(collective_group_leader=""),
        graph_options=SimpleNamespace(
            rewrite_options=SimpleNamespace(
                scoped_allocator_optimization=0, scoped_allocator_opts=SimpleNamespace(enable_op=["Other"])
            )
        ),
    )


@pytest.mark.parametrize("make", [ss.Strategy.mirrored, ss.Strategy.central_storage])
def test_several_replicas_of_one_process_isolate_the_sessions_state(make):
    given = config()
    updated = make("sim", replicas=2).update_config_proto(given)
    assert updated == SimpleNamespace(**{**vars(config()), "isolate_session_state": True})
    assert given == config()
    assert updated.device_filters is not given.device_filters


@pytest.mark.parametrize("make", [ss.get_strategy, lambda: ss.Strategy.one_device("sim")])
def test_one_device_and_no_strategy_want_nothing(make):
    given = config()
    updated = make().update_config_proto(given)
    assert (updated == given, updated is given) == (True, False)


def test_a_worker_names_the_leader_and_itself():
    for worker, updated in enumerate(ss.sim.Cluster(2, 1).run(lambda strategy: strategy.update_config_proto(config()))):
        assert updated.experimental.collective_group_leader == "/job:worker/replica:0/task:0"
        assert updated.device_filters == [f"/job:worker/task:{worker}"]
        assert updated.graph_options.rewrite_options.scoped_allocator_optimization == 1
        assert updated.graph_options.rewrite_options.scoped_allocator_opts.enable_op == ["CollectiveReduce"]
        assert updated.isolate_session_state is False


def test_a_worker_alone_has_nobody_to_name():
    updated = ss.Strategy.multi_worker("sim", replicas=2).update_config_proto(config())
    assert updated.experimental.collective_group_leader == ""
    assert updated.device_filters == ["/job:ps"]
    assert updated.graph_options.rewrite_options.scoped_allocator_opts.enable_op == ["CollectiveReduce"]


@pytest.mark.parametrize("make", [ss.Strategy.mirrored, ss.Strategy.multi_worker])
@pytest.mark.parametrize("wrong", [None, 5, {"isolate_session_state": False}])
def test_what_has_no_such_attributes_is_refused(make, wrong):
    with pytest.raises(InvalidType) as raised:
        make("sim", replicas=2).update_config_proto(wrong)
    assert str(raised.value).startswith(
        f"update_config_proto takes a ConfigProto, or an object with its attributes, got {wrong!r}: "
    )


@pytest.mark.parametrize("make", [ss.get_strategy, lambda: ss.Strategy.mirrored("sim", replicas=2)])
def test_there_is_nothing_to_do_before_and_after(make):
    strategy = make()
    assert strategy.experimental_initialize() == []
    assert strategy.experimental_finalize() == []
    with strategy.scope():
        assert strategy.experimental_initialize() == []
