"""The workers of programs of JAX: processes that have imported it and made no device."""

from typing import Final

from simstrategy.launch.together import Workers

__all__ = ["start_workers"]

_MAIN: Final = "simstrategy_xla.mesh_check.workers.child:main"


def start_workers() -> Workers:
    """Returns workers in processes that have imported JAX.  Close them."""
    return Workers(_MAIN, ["jax", "jax.numpy"])
