"""A backend whose group-calls are wrong in a way that a test sets, and programs that give other results on it."""

from typing import final

import numpy as np

import simstrategy as ss
from simstrategy.device.wrapper import Wrapper
from simstrategy.sim import open_sim
from simstrategy.strategy import group_of

__all__ = ["NAME", "Wrong", "open_wrong", "second_time"]

NAME = "wrong_backend:open_wrong"
"""The name under which `check` opens it."""


@final
class Wrong(Wrapper):
    """A backend whose group-calls are made wrong by the functions in `Wrong.how`, by the call's name."""

    __slots__ = ()
    inner = "sim"
    how: dict = {}  # noqa: RUF012 - set by the fixture `wrong`, through monkeypatch

    def _changed(self, call, results):
        change = type(self).how.get(call)
        if change is None:
            return results
        hosts = [self._inner.get(one) for one in results]
        new = [np.array(change(host), host.dtype) for host in hosts]
        return tuple(self._inner.put(one, device) for one, device in zip(new, self.local_devices, strict=False))

    def all_reduce(self, arrays, op):
        return self._changed("all_reduce", self._inner.all_reduce(arrays, op))

    def reduce(self, arrays, op, *, root):
        return self._changed("reduce", (self._inner.reduce(arrays, op, root=root),))[0]

    def all_gather(self, arrays, *, axis, sizes):
        return self._changed("all_gather", self._inner.all_gather(arrays, axis=axis, sizes=sizes))

    def broadcast(self, array, *, spec, root):
        return self._changed("broadcast", self._inner.broadcast(array, spec=spec, root=root))


def open_wrong(*, replicas=None):
    """Opens the backend that the fixture `wrong` has set."""
    return Wrong(open_sim(replicas=replicas) if Wrong.inner == "sim" else ss.backend(Wrong.inner, replicas=replicas))


def second_time(one, other):
    """Returns a program that returns what `one` returns, and on a wrong backend what `other` returns."""

    def program(strategy):
        backend = group_of(strategy).backend
        while not isinstance(backend, Wrong) and isinstance(backend, Wrapper):
            backend = backend._inner
        return other() if isinstance(backend, Wrong) else one()

    return program
