"""What the check calls on the host out of traced functions: in order, and no part of the program's own order."""

from typing import Any

import tensorflow as tf

from simstrategy_tf_distribute.host_calls import HostCalls


def test_calls_of_the_host_are_in_order_in_loops_and_branches_too() -> None:
    calls, noted = HostCalls(), list[int]()

    def note(value: Any) -> None:
        noted.append(int(value))

    def add(value: Any) -> None:
        calls.add(note, [tf.convert_to_tensor(value)], [])

    @tf.function
    def traced(count: Any) -> Any:
        add(count)
        for number in tf.range(count):
            add(number)
        if count > 1:
            add(-1)
        add(-2)
        return count

    for _ in range(2):
        traced(tf.constant(3))
    assert noted == [3, 0, 1, 2, -1, -2] * 2


def test_an_operation_of_the_program_does_not_wait_for_a_call_of_the_host() -> None:
    """TensorFlow moves first values out of a function with all that they depend on."""
    calls = HostCalls()

    @tf.function
    def traced(value: Any) -> Any:
        calls.add(lambda _: None, [value], [])
        return tf.numpy_function(lambda: 1.0, [], tf.double, name="own")

    graph = traced.get_concrete_function(tf.TensorSpec([2], tf.float32)).graph
    assert graph.get_operation_by_name("own").control_inputs == []
