"""Programs that save and restore: RIGHT ones, some suspicious on purpose, and WRONG ones, with what they lose."""

import numpy as np

import simstrategy as ss

ROWS = np.float32([[0.3, 1.5], [2.25, -0.7], [1.1, 0.4], [-3.0, 0.9], [0.2, 2.4], [1.7, -1.2], [0.6, 0.1], [1.2, 0.3]])
TOTAL = 5
FIRST = ss.VariableAggregation.ONLY_FIRST_REPLICA


def ctx():
    return ss.get_replica_context()


def batches(strategy, rows=ROWS):
    return iter(strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(rows).batch(3).repeat(2)))


def variables(strategy, *names):
    with strategy.scope():
        return [ss.Variable(np.zeros(2, np.float32), name=name, aggregation=FIRST) for name in names]


def loss_of(x, w):
    return ctx().all_reduce("SUM", ctx().xp.sum((x - w) * (x - w)))


def gradient_of(x, w):
    return ctx().all_reduce("SUM", ctx().xp.sum(w - x, axis=0))


def trained(strategy, checkpoint, *, keep=("w", "m"), skip=True, every=1):
    """Momentum; returns the history of this start alone.  keep: the variables that are saved. skip: whether the
    position in the data is restored. every: how many steps a save comes after."""
    w, m = listed = variables(strategy, "w", "m")
    saved = [variable for variable in listed if variable.name in keep]
    found, data, losses = checkpoint.restore(), batches(strategy), []
    done = 0
    if found is not None:
        done = found["step"]
        strategy.restore(saved, found["variables"])
        for _ in range(done if skip else 0):
            next(data)

    def step(x):
        m.assign(m.read_value() * np.float32(0.5) + gradient_of(x, w.read_value()))
        w.assign_sub(np.float32(0.05) * m.read_value())
        return loss_of(x, w.read_value())

    for number in range(done, TOTAL):
        losses.append(strategy.run(step, args=(next(data),)))
        if (number + 1) % every == 0:
            checkpoint.save({"step": number + 1, "variables": strategy.save(saved)})
    return {"losses": losses}


def momentum(strategy, checkpoint):
    return trained(strategy, checkpoint)


def saves_every_second_step(strategy, checkpoint):
    return trained(strategy, checkpoint, every=2)


def loses_the_optimizer(strategy, checkpoint):
    return trained(strategy, checkpoint, keep=("w",))


def loses_the_position(strategy, checkpoint):
    return trained(strategy, checkpoint, skip=False)


def noisy(strategy, checkpoint, *, state=True):
    """Noise that is equal on all replicas, from one generator of the program."""
    (w,) = variables(strategy, "w")
    generator = np.random.default_rng(3)
    found, data = checkpoint.restore(), batches(strategy)
    done = 0
    if found is not None:
        done = found["step"]
        strategy.restore([w], found["variables"])
        if state:
            generator.bit_generator.state = found["generator"]
        for _ in range(done):
            next(data)

    def step(x, noise):
        w.assign_sub(np.float32(0.05) * (gradient_of(x, w.read_value()) + noise))

    for number in range(done, TOTAL):
        noise = generator.normal(size=2).astype(np.float32)
        strategy.run(step, args=(next(data), noise))
        checkpoint.save(
            {"step": number + 1, "variables": strategy.save([w]), "generator": generator.bit_generator.state}
        )
    return {"norm": np.linalg.norm(w.numpy())}


def loses_the_generator(strategy, checkpoint):
    return noisy(strategy, checkpoint, state=False)


def global_generator(strategy, checkpoint):
    """The program draws from NumPy's global generator, and saves its state."""
    np.random.seed(5)
    total, done = 0.0, 0
    found = checkpoint.restore()
    if found is not None:
        done, total, state = found
        np.random.set_state(state)
    for number in range(done, TOTAL):
        draw = np.float32(np.random.normal())
        total += float(strategy.experimental_local_results(strategy.run(lambda: ctx().all_reduce("MEAN", draw)))[0])  # noqa: B023
        checkpoint.save((number + 1, total, np.random.get_state()))
    return total


def a_new_order_in_each_epoch(strategy, checkpoint):
    """An epoch's order follows from its number, so that no generator has to be saved."""
    (w,) = variables(strategy, "w")
    epoch, found = 0, checkpoint.restore()
    if found is not None:
        epoch = found["epoch"]
        strategy.restore([w], found["variables"])
    for number in range(epoch, 3):
        order = np.random.default_rng(number).permutation(len(ROWS))
        for x in batches(strategy, ROWS[order]):
            strategy.run(lambda x: w.assign_sub(np.float32(0.02) * gradient_of(x, w.read_value())), args=(x,))
        checkpoint.save({"epoch": number + 1, "variables": strategy.save([w])})


def counts_examples(strategy, checkpoint):
    """A total that the replicas share: another number of them gets other shares of it."""
    with strategy.scope():
        seen = ss.Variable(
            np.float32(0),
            synchronization=ss.VariableSynchronization.ON_READ,
            aggregation=ss.VariableAggregation.SUM,
            name="seen",
        )
    done, found = 0, checkpoint.restore()
    if found is not None:
        done, values = found
        strategy.restore([seen], values)
    data = batches(strategy)
    for number in range(TOTAL):
        x = next(data)
        if number >= done:
            strategy.run(lambda x: seen.assign_add(np.float32(x.shape[0])), args=(x,))
            checkpoint.save((number + 1, strategy.save([seen])))


def stops_early(strategy, checkpoint):
    """Ends when the loss has not fallen for two steps; the best loss and its age are saved, and so is the history."""
    state = checkpoint.restore() or {"step": 0, "best": np.inf, "age": 0, "history": []}
    losses = [3.0, 2.0, 2.5, 1.0, 1.5, 1.2, 0.1]
    while state["step"] < len(losses) and state["age"] < 2:
        share = np.float32(losses[state["step"]] / strategy.num_replicas_in_sync)
        found = strategy.reduce("SUM", strategy.run(lambda: ctx().xp.asarray(share)), axis=None)  # noqa: B023
        loss = float(found)
        state["history"].append(loss)
        state["age"] = 0 if loss < state["best"] else state["age"] + 1
        state["best"] = min(loss, state["best"])
        state["step"] += 1
        checkpoint.save(state)
    return state


def seeds_by_step(strategy, checkpoint):
    """Each replica's noise has the step in its label."""
    return _seeded(strategy, checkpoint, "noise {}")


def loses_the_count_of_seeds(strategy, checkpoint):
    """A label that is drawn again and again counts from 0 after a new start."""
    return _seeded(strategy, checkpoint, "noise")


def _seeded(strategy, checkpoint, label):
    done, total = checkpoint.restore() or (0, 0.0)

    def step(number):
        noise = np.random.default_rng(ctx().seed(label.format(number))).normal()
        return ctx().all_reduce("SUM", np.float32(noise))

    for number in range(done, TOTAL):
        total += float(strategy.experimental_local_results(strategy.run(step, args=(number,)))[0])
        checkpoint.save((number + 1, total))
    return total


RIGHT = [
    momentum,
    saves_every_second_step,
    noisy,
    global_generator,
    a_new_order_in_each_epoch,
    counts_examples,
    stops_early,
]
WRONG = {
    loses_the_optimizer: "'w'",
    loses_the_position: "'w'",
    loses_the_generator: "saved['generator']",
    loses_the_count_of_seeds: "result",
}
