"""Makes linear functions of the core differentiable under `jax.grad`, `jax.vjp` and their like, to any order.

Reverse mode alone, and eager: what traces without values (`jax.jit`, `vmap`, `scan`) is refused by name.
"""

from typing import Any, Final, final

import jax
import jax.numpy as jnp
import numpy as np

from simstrategy.device import GroupFunction
from simstrategy_xla.namespace import require_values

__all__ = ["XlaAutodiff"]

_PROBE: Final = np.zeros((), np.int32)


@final
class XlaAutodiff:
    """See `simstrategy.device.Autodiff`.  Integers carry no gradient; zeros are sent `backward` for them."""

    def tracks(self, array: Any) -> bool:
        """Returns True: that JAX traces has to be noticed at every call."""
        return True

    def differentiable(
        self, forward: GroupFunction[jax.Array], backward: GroupFunction[jax.Array], arrays: tuple[jax.Array, ...]
    ) -> tuple[jax.Array, ...]:
        # Constants have values inside jax.jit too, but its later calls would not repeat this collective.
        require_values((jax.device_put(_PROBE),), "a collective of replicas")
        if not any(isinstance(array, jax.core.Tracer) for array in arrays):
            return forward(arrays)
        results: list[jax.Array] = []

        @jax.custom_vjp
        def apply(*values: jax.Array) -> tuple[jax.Array, ...]:
            require_values(values, "a collective of replicas")
            results[:] = forward(values)
            return tuple(results)

        def gradient(_: None, upstream: tuple[Any, ...]) -> tuple[Any, ...]:
            pairs = zip(results, upstream, strict=True)
            sent = tuple([given if _is_smooth(result) else jnp.zeros_like(result) for result, given in pairs])
            found = zip(arrays, self.differentiable(backward, forward, sent), strict=True)
            return tuple([own if _is_smooth(a) else np.zeros(a.shape, jax.dtypes.float0) for a, own in found])

        apply.defvjp(lambda *values: (apply(*values), None), gradient)
        answer: tuple[jax.Array, ...] = apply(*arrays)
        return answer


def _is_smooth(array: jax.Array) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.inexact))
