"""The optional parts of a backend that concern arrays: gradients, one memory for all devices, quick comparisons.

Each is an attribute of `Backend` that is None where the backend lacks it. `frontend.py` has those that concern a
framework's variables and values, `protocol.py` the one that compiles steps.
"""

from collections.abc import Hashable
from typing import TYPE_CHECKING, Protocol

from simstrategy.device.terms import A, Array, Cell

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    C_contra = TypeVar("C_contra", contravariant=True, default=Array)
else:
    from typing import TypeVar

    C_contra = TypeVar("C_contra", contravariant=True)

__all__ = ["Autodiff", "Forms", "GroupFunction", "UnifiedMemory"]


class GroupFunction(Protocol[A]):
    """Takes and returns a tuple of arrays, of equal length."""

    def __call__(self, arrays: tuple[A, ...], /) -> tuple[A, ...]: ...


class Autodiff(Protocol[A]):
    """Makes functions of the core differentiable in the framework: `Backend.autodiff`."""

    def differentiable(
        self, forward: GroupFunction[A], backward: GroupFunction[A], arrays: tuple[A, ...]
    ) -> tuple[A, ...]:
        """Returns forward(arrays), arrays […] of any shapes; a gradient of the results is passed through `backward`.

        Runs in the replica's task. Both functions take and return as many arrays as `arrays` has, receive concrete
        values, and may suspend the task. Raises what the two functions raise.
        """
        ...

    def tracks(self, array: A) -> bool:
        """Returns whether a gradient may have to flow through an array […] here: True where that is not known.

        What is not tracked is all-reduced without `differentiable`, which is quicker.
        """
        ...


class UnifiedMemory(Protocol[A]):
    """One memory for all local devices: `Backend.memory`.

    `put` of a read-only array of another local device then copies nothing.
    """

    def share(self, array: A, cells: tuple[Cell[A], ...] = ()) -> tuple[A, ...]:
        """Returns an array on every local device, in rank order, without a copy.

        array: [any shape], not used by the caller afterwards; the results are read-only. cells: of the first devices,
        in rank order; each is written with the result on its device.
        """
        ...


class Forms(Protocol[C_contra]):
    """A quick comparison of arrays, for the checks of every collective: `Backend.forms`."""

    def form(self, array: C_contra) -> Hashable:
        """Returns a hashable object that is equal for two arrays […] only where their `spec` is, and mostly there."""
        ...
