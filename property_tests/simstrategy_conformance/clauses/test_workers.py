"""The group-calls of several workers of the simulator: everything within a small scope, from each rank to each."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.device import ArraySpec, Backend
from simstrategy_conformance import oracle
from simstrategy_conformance.arrays import require_bits, require_form
from simstrategy_conformance.scope import SHAPES, numbers, scope_test
from simstrategy_conformance.subject import Subject, me


def groups() -> Iterator[tuple[Any, ...]]:
    """Yields numbers of workers and of replicas of each, with each rank as the root and each shape."""
    for workers, replicas in itertools.product((1, 2, 3), (1, 2)):
        yield from itertools.product((workers,), (replicas,), range(workers * replicas), SHAPES)


@scope_test("K-1", combinations=groups)
def test_workers_make_every_group_call_together(
    subject: Subject, workers: int, replicas: int, root: int, shape: tuple[int, ...]
) -> None:
    if not subject.is_simulator:
        pytest.skip("simulated clusters are the simulator's alone")
    hosts = [numbers(shape, first=9 * rank) for rank in range(workers * replicas)]
    notes = tuple(bytes([worker, 0]) * worker for worker in range(workers))
    opened: dict[int, Backend] = {}

    def keep(backend: Backend) -> Backend:
        opened[backend.local_devices[0].process] = backend
        return backend

    def program(strategy: Any) -> None:
        first = strategy.experimental_local_results(strategy.run(lambda: me().replica_id_in_sync_group))[0]
        worker = first // replicas
        assert opened[worker].exchange(notes[worker], timeout_s=60.0) == notes
        _make_all(opened[worker], hosts, root)
        assert opened[worker].exchange(notes[worker], timeout_s=60.0) == notes

    ss.sim.Cluster(workers, replicas, wrap=keep).run(program)


def _make_all(backend: Backend, hosts: list[Any], root: int) -> None:
    """Makes each group-call of one worker and compares its results."""
    local, axes = backend.local_devices, hosts[0].ndim
    arrays = tuple(backend.put(hosts[device.rank], device) for device in local)
    spec = ArraySpec(hosts[root].shape, "float32", backend.devices[root].placement)
    sent = next((one for device, one in zip(local, arrays, strict=True) if device.rank == root), None)
    fine = np.asarray(hosts[root].astype(np.float64) + 2.0**-30)  # less than float32 has
    placed = None if sent is None else backend.put(fine, backend.devices[root])
    calls: list[tuple[str, Any, Any]] = [
        ("broadcast", backend.broadcast(sent, spec=spec, root=root), hosts[root]),
        ("broadcast of float64", backend.broadcast(placed, spec=spec._replace(dtype="float64"), root=root), fine),
    ]
    for op in ("SUM", "MIN", "MAX"):
        wanted = oracle.all_reduced(hosts, op)
        calls.append((op, backend.all_reduce(arrays, op), wanted))
        reduced = backend.reduce(arrays, op, root=root)
        assert (reduced is not None) == (sent is not None), f"reduce: worker {local[0].process} and root {root}"
        if reduced is not None:
            require_form(backend, reduced, wanted, backend.devices[root].placement)
            require_bits(wanted, backend.get(reduced), f"reduce {op} to rank {root}")
    for axis in range(axes):
        sizes = (hosts[0].shape[axis],) * len(hosts)
        found = backend.all_gather(arrays, axis=axis, sizes=sizes)
        calls.append((f"all_gather along {axis}", found, oracle.gathered(hosts, axis)))
    for name, results, wanted in calls:
        assert len(results) == len(local), name
        for device, result in zip(local, results, strict=True):
            require_form(backend, result, wanted, device.placement)
            require_bits(wanted, backend.get(result), f"{name}: rank {device.rank}")
