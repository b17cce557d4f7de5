"""The cache of the last request: what it returns while other threads replace its entries.  Clauses: R-5."""

from typing import Any, final

import numpy as np
import pytest

import simstrategy as ss
from simstrategy import tree
from simstrategy.device import Array, Spec
from simstrategy.device.wrapper import Wrapper
from simstrategy.strategy.reductions.arithmetic import Reductions
from simstrategy.strategy.requests import RequestCache


@final
class Interrupted(Wrapper):
    """A backend on which another thread makes a request whenever an array is examined."""

    __slots__ = ("cache", "forms_of_other")
    cache: RequestCache

    def spec(self, array: Array) -> Spec:
        self.cache.many("SUM", tree.flatten([0])[1], self.forms_of_other)
        return self._inner.spec(array)


@pytest.mark.parametrize("kept", [1, 2])
def test_a_nest_is_compared_with_the_request_that_is_returned(kept: int) -> None:
    backend: Any = Interrupted(ss.backend("sim", replicas=2))
    backend.cache = cache = RequestCache(backend, Reductions(backend), has_collectives=True)
    backend.forms_of_other = (((2,), "float32"),)
    nest = [backend.put(np.zeros(2, np.float32), backend.local_devices[1])]
    request = cache.many("SUM", tree.flatten(nest)[1], (((kept,), "float32"),))
    found = cache.last_nest("SUM", nest, 1)
    if kept == 1:
        assert found is None
    else:
        assert found is not None
        assert found[0] is request
        assert found[1][0] is nest[0]
