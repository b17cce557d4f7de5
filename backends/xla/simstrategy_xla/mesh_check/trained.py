"""What a script of JAX trains: of the names that it keeps, the arrays of floats, by name and path."""

from collections.abc import Iterator
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from simstrategy.check.executed import Form, Kept

__all__ = ["form_of", "sizes_in", "trained_in"]

_CONTAINERS: Final = (jax.Array, list, tuple, dict)
"""What a call that takes it does not change in place, or holds a batch."""

_HELD: Final = (jax.Array, np.ndarray)
_BATCHES: Final = (*_HELD, list, tuple, dict)
_PARTS_MAX: Final = 1000
"""How long a list is that may be a state: more are rows of data, to which a loop adds."""

Path = tuple[Any, ...]


def trained_in(kept: Kept) -> dict[str, Any]:
    """Returns nests of arrays […] of floats, each array once, by the name that holds it.

    Of what a call takes it is objects alone, such as a module of Flax: calls change these in place. A name of single
    numbers is left out beside others: they may be means over steps of what one device has. Where names go through a
    loop, others that are computed from themselves are left out, such as a batch, and what is only copied to devices is
    in any case. Arrays of NumPy count in names that go through a loop alone.

    >>> kept = Kept()
    >>> kept.before("params of main", {"w": jnp.zeros(2), "step": 2})
    >>> kept.keep("params of main", {"w": jnp.ones(2), "step": 3}, "fed back")
    >>> trained_in(kept)
    {'params of main': {'w': Array([1., 1.], dtype=float32)}}
    """
    found: dict[str, Any] = {}
    seen: set[int] = set()
    objects = {name: one for name, one in {**kept.within, **kept.taken}.items() if not isinstance(one, _CONTAINERS)}
    through = kept.carried or kept.changed
    fed_back = {name: one for name, one in kept.fed_back.items() if name in through}
    for name, value in {**objects, **fed_back}.items():
        for path, array in _arrays_in(value, with_numpy=name in kept.carried):
            if id(array) not in seen:
                seen.add(id(array))
                _put(found, (name, *path), array)
    numbers = [name for name, value in found.items() if not any(one.ndim for one in jax.tree.leaves(value))]
    return {name: value for name, value in found.items() if name not in numbers or len(numbers) == len(found)}


def form_of(value: object) -> Form:
    """Returns the form of a value; a state is one with arrays of floats, and none of a traced function.

    >>> form_of([jnp.ones(2), 1.0]).shapes
    ((2,), ())
    """
    if isinstance(value, list | tuple | dict) and len(value) > _PARTS_MAX:
        return Form((), is_state=False)
    try:
        leaves = jax.tree.leaves(value)
    except Exception:  # noqa: BLE001 - as in _arrays_in
        return Form((), is_state=False)
    shapes = [one.shape if isinstance(one, _HELD) else () for one in leaves]
    parts = tuple(one for one in leaves if isinstance(one, _HELD))
    is_state = any(_is_trained(one) or _is_of_numpy(one) for one in leaves)
    return Form(tuple(shapes), is_state=is_state, arrays=frozenset(map(id, parts)), parts=parts)


def sizes_in(kept: Kept) -> dict[str, int]:
    """Returns how many elements the arrays have that calls take and do not give back, by the name that holds them.

    Keys of random numbers are left out, and arrays of which each device has a copy as a row: there are as many of them
    as devices.

    >>> kept = Kept()
    >>> kept.keep("x of main", np.ones((4, 3)), "taken")
    >>> sizes_in(kept)
    {'x of main': 12}
    """
    found = {}
    for name, value in kept.taken.items():
        if name not in kept.fed_back and isinstance(value, _BATCHES):
            arrays = [one for one in jax.tree_util.tree_leaves(value) if isinstance(one, _HELD)]
            size = sum(one.size for one in arrays if _is_of_a_batch(one))
            if size:
                found[name] = size
    return found


def _is_of_a_batch(array: Any) -> bool:
    if isinstance(array, jax.core.Tracer) or array.dtype == np.uint32 or not array.ndim:
        return False
    if isinstance(array, np.ndarray):
        return True
    if array.is_deleted() or jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        return False
    if array.ndim == 1 and array.shape[0] == len(array.sharding.device_set):
        return False  # a number of each device, such as its loss
    rows = [shard for shard in array.addressable_shards if shard.data.shape == (1, *array.shape[1:])]
    return len(rows) < len(array.sharding.device_set) or len({np.asarray(one.data).tobytes() for one in rows}) > 1


def _arrays_in(value: Any, *, with_numpy: bool) -> Iterator[tuple[Path, Any]]:
    try:
        leaves, _ = jax.tree_util.tree_flatten_with_path(value)
    except Exception:  # noqa: BLE001 - keys of a dictionary that have no order, or what a class of the program raises
        return
    for path, leaf in leaves:
        if _is_trained(leaf) or (with_numpy and _is_of_numpy(leaf)):
            yield tuple(_key(one) for one in path), leaf


def _is_trained(leaf: Any) -> bool:
    """Returns whether a leaf is an array of floats that has values: none of a traced function, and none given away."""
    if not isinstance(leaf, jax.Array) or isinstance(leaf, jax.core.Tracer):
        return False
    return jnp.issubdtype(leaf.dtype, jnp.inexact) and not leaf.is_deleted()


def _is_of_numpy(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f" and leaf.ndim > 0


def _key(entry: Any) -> Any:
    match entry:
        case jax.tree_util.DictKey(key=key) | jax.tree_util.FlattenedIndexKey(key=key):
            return key
        case jax.tree_util.SequenceKey(idx=key) | jax.tree_util.GetAttrKey(name=key):
            return key
        case _:
            return str(entry)


def _put(found: dict[str, Any], path: Path, array: Any) -> None:
    *outer, last = path
    for key in outer:
        found = found.setdefault(key, {})
    found[last] = array
