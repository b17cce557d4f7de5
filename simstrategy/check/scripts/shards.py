"""Parameters of which each replica holds a part, by hand: put together they are compared with those of the reference.

That they are parts is no guess: with what a parameter begins, the parts of all replicas in their order give the
reference's bits, along one axis, besides fewer elements than replicas at the end, which fill up the last part.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from simstrategy.check.causes.facts import Host, Leaves, StepFacts
from simstrategy.check.scripts.facts import ScriptRun, Value

__all__ = ["Shards", "shards_of", "with_whole"]

_TOGETHER: Final = (
    "Of {names} each replica holds a part: these parts, put together, are compared with the reference, as they begin "
    "with its bits."
)


class _Shard(NamedTuple):
    """axis: along which the parts lie. size: of the whole there."""

    axis: int
    size: int


Shards = Mapping[str, _Shard]
"""How each parameter that is in parts is cut, by its name."""


def shards_of(reference: Sequence[Value], other: Sequence[Value], replicas: int) -> Shards:
    """Returns which parameters replicas hold in parts.  reference: of a run on one replica. other: on `replicas`."""
    wholes = {value.name: value.copies[0] for value in reference if value.begins and len(value.copies) == 1}
    found = {}
    for value in other:
        whole = wholes.get(value.name)
        if value.begins and whole is not None and (parts := _parts(value.copies, replicas)):
            shard = next(_cuts(whole, parts), None)
            if shard is not None:
                found[value.name] = shard
    return found


def with_whole(run: ScriptRun, shards: Shards, replicas: int) -> ScriptRun:
    """Returns a run with the parameters that are in parts put together, in values and in steps."""
    if not shards:
        return run
    values = tuple([_value(value, shards, replicas) for value in run.values])
    listed = ", ".join(map(repr, list(shards)[:5])) + (" and others" if len(shards) > 5 else "")
    return run._replace(
        values=values,
        steps=tuple([_step(step, shards, replicas) for step in run.steps]),
        notes=(*run.notes, _TOGETHER.format(names=listed)),
    )


def _parts(copies: Leaves, replicas: int) -> Leaves:
    """Returns a part for each replica; () where not each of them has one.  Equal parts, as of zeros, are one copy."""
    parts = copies * replicas if len(copies) == 1 else copies
    return parts if len(parts) == replicas > 1 and parts[0].ndim else ()


def _cuts(whole: Host, parts: Leaves) -> Iterator[_Shard]:
    """Yields how parts give a whole, […] each: along which axis."""
    if whole.shape == parts[0].shape:
        return
    for axis in range(whole.ndim):
        joined = _joined(parts, _Shard(axis, whole.shape[axis]))
        added = sum(part.shape[axis] for part in parts if part.ndim == whole.ndim) - whole.shape[axis]
        same = joined is not None and joined.shape == whole.shape and joined.dtype == whole.dtype
        if same and joined is not None and 0 <= added < len(parts) and joined.tobytes() == whole.tobytes():
            yield _Shard(axis, whole.shape[axis])


def _joined(parts: Leaves, shard: _Shard) -> Host | None:
    """Returns the whole of some parts; None where they do not fit."""
    others = {(*part.shape[: shard.axis], *part.shape[shard.axis + 1 :]) for part in parts}
    if len(others) != 1 or any(part.ndim <= shard.axis for part in parts):
        return None
    return np.take(np.concatenate(parts, shard.axis), range(_size(parts, shard)), axis=shard.axis)


def _size(parts: Leaves, shard: _Shard) -> int:
    return min(shard.size, sum(int(part.shape[shard.axis]) for part in parts))


def _value(value: Value, shards: Shards, replicas: int) -> Value:
    shard, parts = shards.get(value.name), _parts(value.copies, replicas)
    if shard is None or not value.is_state or not parts or (joined := _joined(parts, shard)) is None:
        return value
    return value._replace(copies=(joined,))


def _step(step: StepFacts, shards: Shards, replicas: int) -> StepFacts:
    """Returns a step with whole parameters; what a replica computed itself for its part is not known then."""
    if len(step.before) != replicas or not shards.keys() & {*step.names}:
        return step

    def whole(values: tuple[Leaves, ...]) -> tuple[Leaves, ...]:
        if len(values) != replicas:
            return values
        columns = []
        for name, *parts in zip(step.names, *values, strict=True):
            joined = _joined(tuple(parts), shards[name]) if name in shards else None
            columns.append(parts if joined is None else [joined] * replicas)
        return tuple(zip(*columns, strict=True))

    return step._replace(
        before=whole(step.before),
        gradients=whole(step.gradients),
        terms=(),
        after=whole(step.after),
        made=whole(step.made),
    )
