"""Programs that distribute rows to their replicas: LAWFUL ones, some suspicious on purpose, and WRONG ones."""

import numpy as np

import simstrategy as ss

ROWS = np.arange(34, dtype=np.float32).reshape(17, 2)
EACH = ss.InputOptions(experimental_replication_mode=ss.InputReplicationMode.PER_REPLICA)
Dataset = ss.data.Dataset


def total(strategy, steps):
    parts = [strategy.run(strategy.xp.sum, args=(x,)) for x in steps]
    return [strategy.reduce("SUM", part, axis=None) for part in parts]


def split(dataset, passes=1):
    """Returns a program that distributes one dataset of global batches."""

    def program(strategy):
        data = strategy.experimental_distribute_dataset(dataset)
        return [total(strategy, data) for _ in range(passes)]

    return program


def counted_steps(strategy):
    """Takes as many steps as there are, and does not ask for one more."""
    data = iter(strategy.experimental_distribute_dataset(slices().batch(5)))
    return total(strategy, (next(data) for _ in range(4)))


def made(function, options=EACH, steps=None):
    """Returns a program whose function makes the data of each replica; steps: how many it takes, None for all."""

    def program(strategy):
        data = strategy.distribute_datasets_from_function(function, options)
        iterator = iter(data)
        taken = iterator if steps is None else (next(iterator) for _ in range(steps))
        return total(strategy, taken)

    return program


def slices(rows=ROWS):
    return Dataset.from_tensor_slices(rows)


def sharded(context):
    return slices().shard(context.num_input_pipelines, context.input_pipeline_id).batch(2)


def drawn_with_replacement(context):
    order = np.random.default_rng(context.input_pipeline_id).integers(17, size=17)
    return slices(ROWS[order]).batch(2)


def padded(context):
    """As PyTorch's DistributedSampler: the first rows once more, so that all shares have equally many."""
    count = context.num_input_pipelines
    order = np.resize(np.arange(17), -(-17 // count) * count)
    return slices(ROWS[order]).shard(count, context.input_pipeline_id).batch(2)


def cut_off(context):
    """Only whole batches of each share."""
    return slices().shard(context.num_input_pipelines, context.input_pipeline_id).batch(2, drop_remainder=True)


def four_steps(context):
    """A fixed number of steps, so that fewer replicas draw fewer rows."""
    return sharded(context).take(4)


def changed_at_random(context):
    noise = np.random.default_rng(context.input_pipeline_id)
    return sharded(context).map(lambda x: x + noise.normal(size=x.shape).astype(np.float32))


def endless(context):
    return sharded(context).repeat()


def constant(context):
    return slices(np.ones_like(ROWS)).batch(2)


def tiled(context):
    """The rows are there twice, and each of two replicas takes one of the copies."""
    rows = np.tile(ROWS[:8], (2, 1))
    return slices(rows).shard(context.num_input_pipelines, context.input_pipeline_id).batch(2)


def few(context):
    return slices(ROWS[:4]).batch(2)


LAWFUL = {
    "split": split(slices().batch(5)),
    "two passes in another order": split(slices().shuffle(17, seed=3).batch(5), passes=2),
    "repeated twice": split(slices().repeat(2).batch(5)),
    "repeated rows": split(slices(np.repeat(ROWS, 2, axis=0)).batch(6)),
    "drop_remainder": split(slices().batch(5, drop_remainder=True)),
    "counted steps": counted_steps,
    "sharded": made(sharded),
    "padded": made(padded),
    "cut off": made(cut_off),
}
"""Programs whose rows are judged and found covered."""

NOT_JUDGED = {
    "with replacement": (made(drawn_with_replacement), "none of those that are drawn|may be chance"),
    "changed at random": (made(changed_at_random), "drawn or changed at random"),
    "endless": (made(endless, steps=4), "ends before the data"),
    "constant": (made(constant), "fewer than 8 different rows"),
    "tiled": (made(tiled, steps=4), "ends before the data"),
    "few": (made(few), "fewer than 8 different rows"),
}
"""Programs of which nothing certain is known, with the reason."""


def without_shard(context):
    return slices().batch(2)


def shuffled_without_shard(context):
    return slices().shuffle(17, seed=context.input_pipeline_id).batch(2)


def endless_without_shard(context):
    return slices().repeat().batch(2)


def shuffled_before_the_shard(context):
    order = np.random.default_rng(context.input_pipeline_id).permutation(17)
    return slices(ROWS[order]).shard(context.num_input_pipelines, context.input_pipeline_id).batch(2)


def two_rows_in_another_order(context):
    order = np.arange(17) if context.input_pipeline_id == 0 else np.asarray([1, 0, *range(2, 17)])
    return slices(ROWS[order]).shard(context.num_input_pipelines, context.input_pipeline_id).batch(2)


def one_share_for_all(context):
    return slices().shard(context.num_input_pipelines, 0).batch(2)


def lost_shares(context):
    """One share more than there are replicas."""
    count = context.num_input_pipelines
    return slices().shard(count + (count > 1), context.input_pipeline_id).batch(2)


WRONG = {
    "without shard": (made(without_shard), "all replicas draw the same 17 rows in the same order"),
    "shuffled, without shard": (made(shuffled_without_shard), "each replica draws all 17 rows"),
    "endless, without shard": (made(endless_without_shard, steps=6), "all replicas draw the same 12 rows"),
    "shuffled before the shard": (made(shuffled_before_the_shard), " are drawn more than once and rows "),
    "two rows in another order": (
        made(two_rows_in_another_order),
        "row 0 is drawn more than once and row 1 is not drawn",
    ),
    "one share for all": (made(one_share_for_all), "all replicas draw the same 9 rows in the same order"),
    "lost shares": (made(lost_shares), "rows 2, 5, 8, 11, 14 are not drawn"),
}
"""Programs that lose or repeat rows with two replicas, with what is found."""
