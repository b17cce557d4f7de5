"""Group-calls between processes are compared with the terms of all processes.  Clauses: J-2"""

import importlib.util
import sys

import pytest

import simstrategy as ss
from simstrategy.check.programs import load_program

LOSSY = """
import numpy as np
import simstrategy as ss
from simstrategy.device.wrapper import Wrapper


class Lossy(Wrapper):
    def all_reduce(self, arrays, op):
        hosts = [self._inner.get(one) for one in self._inner.all_reduce(arrays, op)]
        kept = [np.where(np.abs(one) == np.abs(one).max(), one, 0).astype(one.dtype) for one in hosts]
        return tuple(self._inner.put(one, device) for one, device in zip(kept, self.local_devices))


def open_lossy(*, replicas=None):
    return Lossy(ss.backend("gloo", replicas=replicas))


def program(strategy):
    data = ss.data.Dataset.from_tensor_slices(np.float32([[5e8, 0.69], [5e8, 0.12]])).batch(2)
    (batch,) = strategy.experimental_distribute_dataset(data)
    return strategy.run(lambda x: ss.get_replica_context().all_reduce("SUM", x), args=(batch,))
"""


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("simstrategy_torch") is None, reason="no simstrategy_torch")
def test_a_sum_between_processes_that_loses_its_small_elements_differs(tmp_path, monkeypatch):
    file = tmp_path / "lossy_between_processes.py"
    file.write_text(LOSSY)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    program = load_program(file)
    report = ss.check(program, backends=["sim", "gloo"], replicas=[2], workers=[2])
    assert report.agrees, str(report)
    report = ss.check(program, backends=["sim", "lossy_between_processes:open_lossy"], replicas=[2], workers=[2])
    (problem,) = report.problems()
    assert "step 1, replica 0: the result of all_reduce SUM at lossy_between_processes.py:" in problem
    assert "is 0.0 at [0, 1], and the replicas' values 0.69, 0.12 add up to 0.8" in problem
