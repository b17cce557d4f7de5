"""TensorFlow's own ConfigProto, as each kind of strategy wants it: the answers are TensorFlow 2.21.0's."""

import tensorflow as tf

import simstrategy as ss


def config() -> tf.compat.v1.ConfigProto:
    return tf.compat.v1.ConfigProto(allow_soft_placement=True, device_filters=["/job:ps"])


def test_a_mirrored_strategy_isolates_the_sessions_state_in_a_copy() -> None:
    given = config()
    updated = ss.Strategy.mirrored("sim", replicas=2).update_config_proto(given)
    wanted = config()
    wanted.isolate_session_state = True
    assert updated == wanted
    assert given == config()


def test_the_default_strategy_copies() -> None:
    given = config()
    updated = ss.get_strategy().update_config_proto(given)
    assert updated == given
    assert updated is not given


def test_workers_join_their_collectives_and_filter_devices() -> None:
    def main(strategy: ss.Strategy) -> tf.compat.v1.ConfigProto:
        return strategy.update_config_proto(config())

    for worker, updated in enumerate(ss.sim.Cluster(2, 1).run(main)):
        wanted = config()
        options = wanted.graph_options.rewrite_options
        options.scoped_allocator_optimization = 1
        options.scoped_allocator_opts.enable_op.append("CollectiveReduce")
        wanted.experimental.collective_group_leader = "/job:worker/replica:0/task:0"
        del wanted.device_filters[:]
        wanted.device_filters.append(f"/job:worker/task:{worker}")
        assert updated == wanted
