"""Draws programs of PyTorch's training: a small model under DDP, FSDP2 or ZeRO, an optimizer, and what goes with them.

The rows are shared out evenly, and losses are means, for which the documentation of DistributedDataParallel states that
gradients are those of the whole batch. docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html has the same of
FSDP2. Settings of speed change no result.
"""

from typing import Final

from ci.campaigns.upstream.programs import Library, calls_of

__all__ = ["LIBRARY"]

CALLS: Final = calls_of("training")
STEPS: Final = 3


def draw(random):
    """Returns subject, title and body of a program."""
    wrapping = random.choice(["ddp", "ddp", "fsdp", "fsdp", "fsdp", "zero"])
    layers = random.sample(CALLS["layers"], random.choice([1, 2, 2, 3]))
    kind = random.choice([*CALLS["losses"]])
    loss = random.choice(CALLS["losses"][kind])
    optimizer = random.choice(CALLS["optimizers"])
    lines = [f"model = made({random.randrange(10**6)}, {', '.join(layers)}, lambda: nn.Linear(6, 3))"]
    lines += _wrapped(random, wrapping, layers) + _optimizer(optimizer, wrapping)
    extras = [one for one in CALLS["extras"] if random.random() < 0.25]
    extras = [one for one in extras if wrapping in CALLS["extras"][one]["of"]]
    parts = random.choice([1, 1, 2])
    before = [line for one in extras for line in CALLS["extras"][one].get("before", [])]
    clips = [line for one in extras[:1] for line in CALLS["extras"][one].get("clip", [])]
    after = [line for one in extras for line in CALLS["extras"][one].get("after", [])]
    given = CALLS["targets"][kind]
    lines += [
        *before,
        "losses, norms = [], []",
        f"for step in range({STEPS}):",
        "    total = 0.0",
        f"    rows = rows_of({random.randrange(10**6)} + step, 12, 6)",
        f"    target = {given.format(seed=random.randrange(10**6))}",
        f"    for part in range({parts}):",
        f"        with delayed(model, part == {parts - 1}):",
        f"            loss = {loss.format(out=f'model(rows[part::{parts}])', target=f'target[part::{parts}]')}",
        f"            (loss / {parts}).backward()",
        f"        total = total + averaged(loss) / {parts}",
        "    losses.append(total)",
        *(f"    {line}" for line in clips),
        "    optimizer.step()",
        "    optimizer.zero_grad()",
        *(f"    {line}" for line in after),
        "return [losses, whole(norms), numbers(model)]",
    ]
    subject = f"{wrapping}, {optimizer.partition('(')[0]}{''.join(f', {one}' for one in extras[:1])}"
    short = [one.replace("lambda: ", "") for one in layers]
    title = f"{wrapping} of {' '.join(short)}, {optimizer}, {loss.partition('(')[0]}, {parts} parts, {extras}"
    return subject, title.replace('"', "'"), "\n".join(lines)


def _wrapped(random, wrapping, layers):
    if wrapping == "fsdp":
        words = random.choice(["", ", reshard_after_forward=False", ", mp_policy=MixedPrecisionPolicy()"])
        inner = ["for layer in model:", "    if [*layer.parameters()]:", f"        fully_shard(layer{words})"]
        tied = random.random() < 0.5
        return [*([] if tied else inner), f"fully_shard(model{words})"]
    needed = "find_unused_parameters=True" if "Unused" in layers else None
    words = ["gradient_as_bucket_view=True", "bucket_cap_mb=0.0001", "broadcast_buffers=False"]
    words = [one for one in [*words, *([] if needed else ["static_graph=True"])] if random.random() < 0.3]
    return [f"model = DistributedDataParallel({', '.join(['model', *words, *([needed] if needed else [])])})"]


def _optimizer(optimizer, wrapping):
    name, _, words = optimizer.partition("(")
    if wrapping == "zero":
        given = words.removesuffix(")")
        return [f"optimizer = ZeroRedundancyOptimizer(model.parameters(), optim.{name}{', ' if given else ''}{given})"]
    return [f"optimizer = optim.{name}(model.parameters(), {words}"]


LIBRARY = Library("training", "torchrun", (1, 2, 3), "", draw, ("torch",))
