"""Variables that a program makes outside of its strategy's scope, and that replica functions write.

Clause: J-99
"""

from typing import Any

import tensorflow as tf
from loops import batches

from simstrategy_tf_distribute import replicas_agree
from simstrategy_tf_distribute.outside import hints_of
from simstrategy_tf_distribute.running import run_once


def counts_steps(strategy: Any) -> Any:
    unread = tf.Variable(3.0, name="unread")
    count = tf.Variable(0, name="count")  # made here

    @tf.function
    def step(batch: Any) -> None:
        strategy.run(lambda rows, targets: count.assign_add(1), args=batch)  # written here

    for batch in batches(strategy, rows=12):
        step(batch)
    return {"steps": count, "unread": unread}


def line_of(text: str) -> int:
    with open(__file__, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line)


def test_a_variable_that_replicas_share_is_named_with_its_lines_where_it_differs() -> None:
    one, two = run_once(counts_steps, 0, 1), run_once(counts_steps, 0, 2)
    assert [found.name for found in two.shared] == ["count"]
    (hint,) = hints_of(two.shared, one.shared)
    made, site = f"test_outside.py:{line_of('# made here')}", f"test_outside.py:{line_of('# written here')}"
    assert hint == (
        f"'count', made at {made} outside of strategy.scope(), is one variable for all replicas of a process, and each "
        f"replica writes it by assign_add at {site}; in the end it is 4, and 2 in the reference. "
        "Make it in strategy.scope(), with an aggregation."
    )
    assert list(hints_of(one.shared, one.shared)) == []
    assert len(list(hints_of(two.shared, None))) == 1


def test_a_variable_that_the_scope_makes_or_that_is_written_elsewhere_is_none() -> None:
    def program(strategy: Any) -> Any:
        with strategy.scope():
            total = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)
        outside = tf.Variable(0.0)
        for rows, _ in batches(strategy, rows=12):
            strategy.run(lambda part: total.assign_add(tf.reduce_sum(part)), args=(rows,))
            outside.assign_add(1.0)
        return total, outside

    assert run_once(program, 0, 2).shared == ()


def test_a_report_has_the_hint() -> None:
    report = replicas_agree(counts_steps, replicas=[1, 2])
    assert "'count', made at test_outside.py:" in str(report.findings[0].cause)
