"""An optimizer in a file of its own; it reduces gradients in a merge call."""

import simstrategy as ss


class GradientDescent:
    """Adds up shares of gradients, and subtracts them from variables."""

    def __init__(self, rate):
        self.rate = rate

    def minimise(self, variables, gradients):
        ss.get_replica_context().merge_call(self._apply, args=(variables, gradients))

    def _apply(self, strategy, variables, gradients):
        for variable, gradient in zip(variables, gradients, strict=True):
            total = strategy.reduce("SUM", gradient)  # shows
            variable.assign_sub(self.rate * total)  # shows
