"""Sums of values that are made of several arrays, such as sparse gradients: their parts are put end to end.

Nothing is added: slices that name the same place stay apart, as TensorFlow leaves them. What a composite is made
of, the backend says.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simstrategy.device import Array, Composites
from simstrategy.strategy.enums import ReduceOp
from simstrategy.trace import Request, Site

if TYPE_CHECKING:
    from simstrategy.strategy.context import ReplicaContext
    from simstrategy.strategy.engine import Engine

__all__ = ["all_reduce_leaves", "is_composite", "reduce_composites"]


def is_composite(engine: "Engine", leaf: Any) -> bool:
    """Tells whether a leaf is a composite of the engine's backend."""
    return engine.composites is not None and isinstance(leaf, engine.composites.types)


def all_reduce_leaves(replica: "ReplicaContext", op: ReduceOp, leaves: Sequence[Any], site: Site) -> list[Any]:
    """All-reduces leaves one by one, composites among them.  Clauses: F-7."""
    composites = replica.engine.composites
    assert composites is not None
    return [
        _all_reduced(replica, composites, op, leaf, f"leaf {number}", site)
        if isinstance(leaf, composites.types)
        else replica.all_reduce_leaf(op, leaf, site)
        for number, leaf in enumerate(leaves)
    ]


def _all_reduced(
    replica: "ReplicaContext", composites: Composites, op: ReduceOp, leaf: Any, subject: str, site: Site
) -> Any:
    engine = replica.engine
    parts = composites.parts(leaf, "all_reduce")
    whole = [
        replica.gather_leaf(engine.adopt(part, replica.index), 0, f"part {number} of {subject}", site)
        for number, part in enumerate(parts)
    ]
    return composites.joined(leaf, _averaged(engine, op.value, whole))


def reduce_composites(engine: "Engine", op: str, components: Sequence[Any], site: Site) -> Any:
    """Returns the local replicas' composites as one, which is on the first device.  Clauses: F-7."""
    composites = engine.composites
    assert composites is not None
    columns = zip(*[composites.parts(one, "reduce") for one in components], strict=True)
    whole = []
    for number, column in enumerate(columns):
        arrays = tuple([engine.adopt(part, index) for index, part in enumerate(column)])
        forms = [engine.spec(array)[:2] for array in arrays]
        request = Request("reduce", op, 0, f"part {number}", None, (((None, *forms[0][0][1:]), forms[0][1]),))
        sizes = engine.room.announce(request, site, [shape[0] for shape, _ in forms])
        whole.append(engine.backend.all_gather(arrays, axis=0, sizes=sizes)[0])
    with engine.backend.on(engine.local_devices[0]):
        return composites.joined(components[0], _averaged(engine, op, whole))


def _averaged(engine: "Engine", op: str, parts: list[Array]) -> list[Array]:
    """Returns the parts, the first of them divided for MEAN: it holds the values."""
    if op == "SUM" or engine.num_replicas == 1:
        return parts
    return [engine.reductions.divide(parts[0], engine.num_replicas), *parts[1:]]
