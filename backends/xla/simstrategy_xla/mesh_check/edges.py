"""What the code of an operation has around it: axes and devices of a mesh, and where a function begins and ends."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters import mlir

from simstrategy_xla.mesh_check.lowering import Place

__all__ = ["Edge", "axes_of", "cuts_of", "devices_of", "is_between_devices", "is_pmap", "is_small", "names_of"]


class Edge(NamedTuple):
    """Where a function of a shard_map begins or ends; fields as of `Site`."""

    kind: str
    place: Place
    names: tuple[str, ...]
    cut: tuple[int | None, ...]
    devices: int
    added: tuple[frozenset[int] | None, ...] = ()


def is_pmap(place: Place) -> bool:
    """Returns whether `pmap` calls what is at a place."""
    return "pmap.py" in place.through


def axes_of(ctx: Any) -> Sequence[str]:
    """Returns the mesh's axes where each device runs the code with its own arrays, as in `shard_map`; else ()."""
    context = ctx.module_context.axis_context
    return tuple(context.mesh.axis_names) if isinstance(context, mlir.SPMDAxisContext) else ()


def is_between_devices(params: Mapping[str, Any]) -> bool:
    """Returns whether a collective has an axis of the mesh: `vmap` makes numbers of the axes that it has named."""
    axes = params.get("axes", ())
    return not axes or any(not isinstance(one, int) for one in axes)


def devices_of(ctx: Any) -> int:
    """Returns how many devices run the code of a `shard_map`; 1 outside of it."""
    return int(ctx.module_context.axis_context.mesh.size) if axes_of(ctx) else 1


def is_small(aval: Any, bytes_max: int) -> bool:
    """Returns whether an array is kept: it is none of random keys, and not too large."""
    if jnp.issubdtype(aval.dtype, jax.dtypes.extended):
        return False
    return bool(np.prod(aval.shape, dtype=np.int64) * aval.dtype.itemsize <= bytes_max)


def cuts_of(specs: Sequence[Any]) -> tuple[int | None, ...]:
    """Returns along which axis each value is cut; None for one that all devices have whole."""
    return tuple([next((axis for axis, name in enumerate(spec) if name is not None), None) for spec in specs])


def names_of(info: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the names of the arguments and results of a function, as JAX gives them."""
    results = tuple([str(path).removeprefix("result") or "result" for path in info.result_paths or ()])
    names = [str(name).replace("flat_args", "argument ") for name in info.arg_names or ()]
    return tuple(names), results
