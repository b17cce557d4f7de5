"""Opens the backends of a check.  One that was opened to read its capabilities serves its first run."""

from collections.abc import Sequence
from typing import Any

from simstrategy.device import Backend, open_backend
from simstrategy.sim import SimBackend

__all__ = ["Openings"]


class Openings:
    """The backends of a check, opened with the number of replicas that the first runs take.

    in_process, in_workers: the names of the backends whose replicas are all in this process, and of those that span
    processes. The latter are closed at once: their workers open them again, each its part. simulated: the names of
    simulators, whose additions have an order to choose. cluster: the one on which workers in one process run, with
    which processes are compared: the first if its devices can be shared out, else the simulator. close() closes what
    no run has taken.
    """

    def __init__(self, names: Sequence[str], replicas: int) -> None:
        self.in_process: list[str] = []
        self.in_workers: list[str] = []
        self.simulated: set[str] = set()
        self.cluster = "sim"
        self._replicas = replicas
        self._waiting: dict[str, Backend] = {}
        try:
            for name in dict.fromkeys(names):
                self._add(name)
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
            if backend.frontend is None and len(self.in_process) == 1 and not self.in_workers:
                self.cluster = name
            self._waiting[name] = backend

    def take(self, name: str, replicas: int) -> Backend:
        """Returns an open backend, which the caller closes: the one that waits for its first run, or a new one."""
        if replicas == self._replicas and name in self._waiting:
            return self._waiting.pop(name)
        return open_backend(name, replicas=replicas)

    def close(self) -> None:
        """Closes the backends that no run has taken."""
        while self._waiting:
            self._waiting.popitem()[1].close()
