"""What test_xla_processes.py runs in each process; importable without JAX for the simulator's sake."""

import os
import signal
from typing import Any

import numpy as np

import simstrategy as ss

OPEN = "xla_processes"


def training(strategy: ss.Strategy) -> list[Any]:
    """Trains on partial batches: run, merge_call, reduce with an axis, variables, a gather of unequal parts."""
    features = np.arange(20, dtype=np.float32).reshape(10, 2) / 8
    with strategy.scope():
        weights = ss.Variable(np.ones(2, np.float32), aggregation=ss.VariableAggregation.SUM)
        steps = ss.Variable(np.int32(0), aggregation=ss.VariableAggregation.ONLY_FIRST_REPLICA)

    def step(batch: Any) -> Any:
        context = ss.get_replica_context()
        assert context is not None
        xp = context.xp
        loss = xp.square(xp.matmul(batch, weights.value()))
        gradient = xp.sum(xp.multiply(batch, xp.reshape(loss, (-1, 1))), axis=0)
        weights.assign_sub(xp.multiply(gradient, 2.0**-10))
        steps.assign_add(np.int32(context.replica_id_in_sync_group + 1))
        merged = context.merge_call(lambda merging, value: merging.reduce("SUM", value), args=(xp.sum(loss),))
        return loss, merged, context.all_reduce("MEAN", gradient), context.all_gather(loss, axis=0)

    results: list[Any] = []
    for batch in strategy.experimental_distribute_dataset([features[:3], features[3:7], features[7:]]):
        loss, *others = strategy.run(step, args=(batch,))
        results += [strategy.reduce("MEAN", loss, axis=0), strategy.reduce("SUM", loss, axis=0)]
        results += [one for other in others for one in strategy.experimental_local_results(other)]
    return [np.asarray(one).tolist() for one in (*results, weights.numpy(), steps.numpy())]


def trained(replicas: int) -> list[Any]:
    backend = ss.backend(OPEN, replicas=replicas, timeout_s=30.0)
    found = training(ss.Strategy.multi_worker(backend))
    backend.close()
    return found


def described() -> list[Any]:
    """Returns a backend's attributes, and the error of replicas whose requests differ."""
    backend = ss.backend(OPEN, replicas=2, timeout_s=30.0)
    strategy = ss.Strategy.multi_worker(backend)

    def step() -> Any:
        context = ss.get_replica_context()
        assert context is not None
        return context.all_reduce("SUM", np.ones(2 if os.environ["RANK"] == "0" else 3, np.float32))

    try:
        strategy.run(step)
        said = "nothing"
    except ss.errors.ReplicasDisagree as error:
        said = str(error)
    about = [backend.name, backend.capabilities.spans_processes, [list(one) for one in backend.devices]]
    return [about, len(backend.local_devices), said]


def one_dies(which: int, inside: bool) -> str:
    """Kills one process, in an exchange or inside a collective; returns the error of the other one."""
    backend = ss.backend(OPEN, replicas=2, timeout_s=30.0)
    mine = int(os.environ["RANK"]) == which
    arrays = tuple(backend.put(np.ones(4, np.float32), device) for device in backend.local_devices)
    backend.all_reduce(arrays, "SUM")
    backend.exchange(b"ready", timeout_s=None)
    if mine:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        if inside:
            backend.all_reduce(arrays, "SUM")
        else:
            backend.exchange(b"more", timeout_s=None)
    except ss.errors.PeerFailed as error:
        return str(error)
    return "nothing"


def one_hangs() -> str:
    """One process does not come to an exchange; returns the error of the other one."""
    backend = ss.backend(OPEN, replicas=1, timeout_s=30.0)
    if os.environ["RANK"] == "1":
        return "did not come"
    try:
        backend.exchange(b"ready", timeout_s=0.2)
    except ss.errors.PeerFailed as error:
        return str(error)
    return "nothing"


def late() -> str:
    """Rank 1 never comes."""
    if os.environ["RANK"] == "1":
        return "elsewhere"
    try:
        ss.backend(OPEN, timeout_s=0.3)
    except ss.errors.PeerFailed as error:
        return str(error)
    return "nothing"


def started() -> str:
    """JAX was used before."""
    import jax

    jax.devices()
    try:
        ss.backend(OPEN, timeout_s=5.0)
    except ss.errors.BackendUnavailable as error:
        return str(error)
    return "nothing"


def unequal() -> str:
    try:
        ss.backend(OPEN, replicas=1 + int(os.environ["RANK"]), timeout_s=10.0)
    except ss.errors.SimStrategyError as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def within() -> list[float]:
    """The program has joined JAX's group before."""
    import jax

    address = f"127.0.0.1:{os.environ['MASTER_PORT']}"
    jax.distributed.initialize(address, 2, int(os.environ["RANK"]), coordinator_bind_address=address)
    backend = ss.backend(OPEN, timeout_s=30.0)
    own = backend.put(np.float32([1 + int(os.environ["RANK"])]), backend.local_devices[0])
    (total,) = backend.all_reduce((own,), "SUM")
    found: list[float] = backend.get(total).tolist()
    backend.exchange(b"done", timeout_s=None)
    jax.distributed.shutdown()
    return found


def with_a_stranger(data: str) -> list[float]:
    """Another program connects to rank 0 before rank 1 does, and sends other data."""
    import socket

    address = ("127.0.0.1", int(os.environ["MASTER_PORT"]))
    stranger = None
    if os.environ["RANK"] == "1":
        while stranger is None:
            try:
                stranger = socket.create_connection(address)
            except ConnectionRefusedError:
                continue
        stranger.sendall(data.encode())
    backend = ss.backend(OPEN, timeout_s=30.0)
    own = backend.put(np.float32([1]), backend.local_devices[0])
    found: list[float] = backend.get(backend.all_reduce((own,), "SUM")[0]).tolist()
    if stranger is not None:
        stranger.close()
    return found


def one_waits_alone() -> str:
    """Rank 1 makes a second collective that rank 0 does not make; returns its error."""
    backend = ss.backend(OPEN, replicas=1, timeout_s=30.0)
    array = backend.put(np.ones(4, np.float32), backend.local_devices[0])
    backend.all_reduce((array,), "SUM")
    short = ss.backend(OPEN, replicas=1, timeout_s=0.5)
    try:
        if os.environ["RANK"] == "1":
            short.all_reduce((array,), "SUM")
        else:
            backend.exchange(b"over", timeout_s=5.0)
    except ss.errors.PeerFailed as error:
        backend.exchange(b"over", timeout_s=5.0)
        return str(error)
    return "nothing"
