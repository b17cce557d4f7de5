"""Makes the functions of the core differentiable, to any order.

Linear functions only, as collectives are: the gradient of `backward` is `forward`.
"""

from typing import Any, final

import tensorflow as tf

from simstrategy.device import GroupFunction

__all__ = ["TensorFlowAutodiff"]


@final
class TensorFlowAutodiff:
    """See `simstrategy.device.Autodiff`.  Integers have no gradient; `backward` receives zeros for them."""

    def differentiable(
        self, forward: GroupFunction, backward: GroupFunction, arrays: tuple[tf.Tensor, ...]
    ) -> tuple[tf.Tensor, ...]:
        chosen = [i for i, array in enumerate(arrays) if array.dtype.is_floating or array.dtype.is_complex]
        results: list[tf.Tensor] = []
        if not chosen:
            return forward(arrays)

        def apply(*inputs: tf.Tensor) -> Any:
            given = dict(zip(chosen, inputs, strict=True))
            results.extend(forward(tuple([given.get(i, array) for i, array in enumerate(arrays)])))

            def gradient(*upstream: Any) -> list[tf.Tensor]:
                # The gradient of tf.gather is IndexedSlices, which no collective accepts.
                arrived = dict(zip(chosen, map(tf.convert_to_tensor, upstream), strict=True))
                sent = [arrived[i] if i in arrived else tf.zeros_like(result) for i, result in enumerate(results)]
                found = self.differentiable(backward, forward, tuple(sent))
                return [found[i] for i in chosen]

            return [results[i] for i in chosen], gradient

        carried = dict(zip(chosen, tf.custom_gradient(apply)(*[arrays[i] for i in chosen]), strict=True))
        return tuple([carried.get(i, result) for i, result in enumerate(results)])

    def tracks(self, array: Any) -> bool:
        """Returns True: there is no way to find out which tape watches an array."""
        return True
