"""Opens the backends of a check.  One that was opened to read its capabilities serves its first run."""

from collections.abc import Sequence
from typing import Any, Final

from simstrategy.device import Backend, open_backend
from simstrategy.errors import InvalidArgument
from simstrategy.sim import SimBackend
from simstrategy.sim.collectives import order_named

__all__ = ["LINEAR", "Openings", "open_ordered"]

LINEAR: Final = "linear"
"""The order of additions that every backend takes for its own, where none is named."""


def open_ordered(name: str, replicas: int, order: str, *, stacked: bool = False) -> Backend:
    """Opens a backend that adds in this order: `linear`, `ring` or `tree`.  stacked: opens a simulator that compiles.

    Raises InvalidArgument for an unknown order, and for another order than `linear` where the backend is no simulator.
    """
    order_named(order)
    if stacked:
        return open_backend(name, replicas=replicas, order=order, stacked=True)
    backend = open_backend(name, replicas=replicas)
    opened: object = backend
    if order == LINEAR:
        return backend
    backend.close()
    if not isinstance(opened, SimBackend):
        raise InvalidArgument(
            f"The order {order!r} is one of the simulator's additions, and the backend {name!r} has its own: leave the "
            f"order out, or take a simulator."
        )
    return open_backend(name, replicas=replicas, order=order)


class Openings:
    """The backends of a check, opened with the number of replicas that the first runs take.

    names: of all, in order. in_process, in_workers: the names of the backends whose replicas are all in this process,
    and of those that span processes. The latter are closed at once: their workers open them again, each its part.
    simulated: the names of simulators, which add in the order that is given. cluster: the one on which workers in one
    process run, with which processes are compared: the first if its devices can be shared out, else the simulator.
    close() closes what no run has taken.
    """

    def __init__(self, names: Sequence[str], replicas: int, order: str = LINEAR) -> None:
        self.names = tuple(dict.fromkeys(names))
        self.in_process: list[str] = []
        self.in_workers: list[str] = []
        self.simulated: set[str] = set()
        self.cluster = "sim"
        self._replicas = replicas
        self._order = order
        self._waiting: dict[str, Backend] = {}
        order_named(order)
        try:
            for name in self.names:
                self._add(name)
            if order != LINEAR and not self.simulated:
                raise InvalidArgument(
                    f"The order {order!r} is one of the simulator's additions, and none of {', '.join(names)} is a "
                    f"simulator: leave the order out, or add sim."
                )
        except BaseException:
            self.close()
            raise

    def _add(self, name: str) -> None:
        backend: Any = open_backend(name, replicas=self._replicas)
        if backend.capabilities.spans_processes:
            self.in_workers.append(name)
            backend.close()
        else:
            self.in_process.append(name)
            if isinstance(backend, SimBackend):
                self.simulated.add(name)
                if self._order != LINEAR:
                    backend.close()
                    backend = open_backend(name, replicas=self._replicas, order=self._order)
            if backend.frontend is None and len(self.in_process) == 1 and not self.in_workers:
                self.cluster = name
            self._waiting[name] = backend

    def take(self, name: str, replicas: int) -> Backend:
        """Returns an open backend, which the caller closes: the one that waits for its first run, or a new one."""
        if replicas == self._replicas and name in self._waiting:
            return self._waiting.pop(name)
        return open_ordered(name, replicas, self.order_of(name))

    def order_of(self, name: str) -> str:
        """Returns the order in which a backend adds, for those that have one to choose; else `linear`."""
        return self._order if name in self.simulated else LINEAR

    def close(self) -> None:
        """Closes the backends that no run has taken."""
        while self._waiting:
            self._waiting.popitem()[1].close()
