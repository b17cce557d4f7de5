"""Explains calls of JAX's collectives in replica functions of a strategy, where no axis has a name.

`jax.lax.pmean(x, "batch")` is for `shard_map` and `pmap`; a replica function has a context instead.
"""

import functools
import os
from collections.abc import Callable
from typing import Any, Final

import jax

from simstrategy.errors import ContextError

__all__ = ["explained", "without_axes"]

_SIGN: Final = "unbound axis name"
_HERE: Final = (os.path.dirname(jax.__file__) + os.sep, os.path.dirname(__file__) + os.sep)
_INSTEAD: Final = {
    "psum": 'all_reduce("SUM", value)',
    "pmean": 'all_reduce("MEAN", value)',
    "all_gather": "all_gather(value, axis=0)",
    "axis_index": "replica_id_in_sync_group",
    "axis_size": "num_replicas_in_sync",
}
"""What a replica context has in place of JAX's functions."""


def without_axes(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a replica function whose calls of JAX's collectives raise ContextError, with what to write instead."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except NameError as error:
            found = explained(error)
            if found is None:
                raise
            raise found from error

    return called


def explained(error: NameError) -> ContextError | None:
    """Returns the error for a collective of JAX that names an axis; None for a name of another kind."""
    text = str(error)
    if _SIGN not in text:
        return None
    axis = text.partition(_SIGN)[2].lstrip(": ").partition(".")[0].partition("\n")[0]
    calls, place, traceback = [], "", error.__traceback__
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename.startswith(_HERE):
            calls.append(code.co_name)
        else:
            calls, place = [], f"{os.path.basename(code.co_filename)}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    name = next((call for call in calls if call in _INSTEAD), None)
    instead = _INSTEAD[name] if name is not None else " or ".join(list(_INSTEAD.values())[:2])
    what = f"jax.lax.{name}" if name is not None else "A collective of JAX"
    return ContextError(
        f"{what} at {place} names the axis {axis!r}, and a replica function of a strategy has no axes: each replica "
        f"runs it with its own arrays. Write ctx.{instead}, with ctx = simstrategy.get_replica_context(). A program of "
        f"JAX is checked as it is where it takes a jax.sharding.Mesh."
    )
