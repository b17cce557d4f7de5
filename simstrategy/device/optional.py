"""The optional parts of a backend that concern arrays: gradients, one memory for all devices, quick comparisons.

Each is an attribute of `Backend` that is None where the backend lacks it. `frontend.py` has those that concern a
framework's variables and values, `protocol.py` the one that compiles steps.
"""

from typing import Protocol

from simstrategy.device.terms import Array, Cell

__all__ = ["Autodiff", "Forms", "GroupFunction", "UnifiedMemory"]


class GroupFunction(Protocol):
    """Takes and returns a tuple of arrays, of equal length."""

    def __call__(self, arrays: tuple[Array, ...], /) -> tuple[Array, ...]: ...


class Autodiff(Protocol):
    """Makes functions of the core differentiable in the framework: `Backend.autodiff`."""

    def differentiable(
        self, forward: GroupFunction, backward: GroupFunction, arrays: tuple[Array, ...]
    ) -> tuple[Array, ...]:
        """Returns forward(arrays), arrays […] of any shapes; a gradient of the results is passed through `backward`.

        Runs in the replica's task. Both functions take and return as many arrays as `arrays` has, receive concrete
        values, and may suspend the task. Raises what the two functions raise.
        """
        ...

    def tracks(self, array: Array) -> bool:
        """Returns whether a gradient may have to flow through an array […] here: True where that is not known.

        What is not tracked is all-reduced without `differentiable`, which is quicker.
        """
        ...


class UnifiedMemory(Protocol):
    """One memory for all local devices: `Backend.memory`.

    `put` of a read-only array of another local device then copies nothing.
    """

    def share(self, array: Array, cells: tuple[Cell, ...] = ()) -> tuple[Array, ...]:
        """Returns an array on every local device, in rank order, without a copy.

        array: [any shape], not used by the caller afterwards; the results are read-only. cells: of the first devices,
        in rank order; each is written with the result on its device.
        """
        ...


class Forms(Protocol):
    """A quick comparison of arrays, for the checks of every collective: `Backend.forms`."""

    def form(self, array: Array) -> object:
        """Returns a hashable object that is equal for two arrays […] only where their `spec` is, and mostly there."""
        ...
