"""What test_gloo_processes.py runs in each process: programs, whose answers go to a file as JSON.

    python gloo_worker.py SCENARIO FILE

Importable without PyTorch, so that the same programs run on a simulated cluster.
"""

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import simstrategy as ss
from simstrategy.strategy import group_of

RANK = int(os.environ.get("RANK", "0"))


def replica() -> ss.ReplicaContext:
    context = ss.get_replica_context()
    assert context is not None
    return context


# Programs: the same on gloo and on the simulator.


def training(strategy: ss.Strategy) -> list[Any]:
    """Trains on partial batches: run, merge_call, reduce with an axis, an aggregating variable."""
    features = np.arange(20, dtype=np.float32).reshape(10, 2) / 8
    with strategy.scope():
        weights = ss.Variable(np.ones(2, np.float32), aggregation=ss.VariableAggregation.SUM)
        steps = ss.Variable(np.int64(0), aggregation=ss.VariableAggregation.ONLY_FIRST_REPLICA)

    def total(merging: ss.Strategy, value: Any) -> Any:
        return merging.reduce(ss.ReduceOp.SUM, value)

    def step(batch: Any) -> Any:
        context, xp = replica(), replica().xp
        loss = xp.square(xp.matmul(batch, weights.value()))
        gradient = xp.sum(xp.multiply(batch, xp.reshape(loss, (-1, 1))), axis=0)
        weights.assign_sub(xp.multiply(gradient, 2.0**-10))
        steps.assign_add(np.int64(context.replica_id_in_sync_group + 1))
        merged = context.merge_call(total, args=(xp.sum(loss),))
        return loss, merged, context.all_reduce("MEAN", gradient), context.all_gather(loss, axis=0)

    results: list[Any] = []
    for batch in strategy.experimental_distribute_dataset([features[:3], features[3:7], features[7:]]):
        loss, *others = strategy.run(step, args=(batch,))
        results += [strategy.reduce("MEAN", loss, axis=0), strategy.reduce("SUM", loss, axis=0)]
        results += others
    return [*results, weights.numpy(), steps.numpy()]


def dtypes(strategy: ss.Strategy) -> list[Any]:
    """Sums and gathers, unevenly, arrays of every dtype, small and large."""

    def step() -> Any:
        context = replica()
        rank = context.replica_id_in_sync_group
        results = []
        for dtype in ("int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64", "complex64"):
            small = np.arange(1, 7).reshape(2, 3).astype(dtype) * (100 if dtype != "complex64" else 1j) / 1
            small = small.astype(dtype) + np.asarray(rank, dtype)
            large = (np.arange(300_000) % 50 + rank).astype(dtype)  # beyond what is folded here
            results += [context.all_reduce("SUM", small), context.all_gather(small[: 2 - rank], axis=0)]
            results += [context.all_gather(small[:, : 3 * rank], axis=1), context.all_reduce("SUM", large)[::9999]]
        results.append(context.all_gather(np.full((1 + rank,), rank == 0), axis=0))
        results.append(context.all_gather(np.zeros((0, 2), np.float32), axis=0))
        results.append(context.all_reduce("MEAN", np.int16(rank)))
        return results

    results: list[Any] = strategy.run(step)
    return results


def other_op(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: replica().all_reduce(("SUM", "MEAN")[replica().replica_id_in_sync_group], np.ones(2)))


def other_shape(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: replica().all_reduce("SUM", np.ones(2 + replica().replica_id_in_sync_group)))


def other_dtype(strategy: ss.Strategy) -> Any:
    names = ("float32", "float64")
    return strategy.run(lambda: replica().all_reduce("SUM", np.ones(2, names[replica().replica_id_in_sync_group])))


def other_kind(strategy: ss.Strategy) -> Any:
    def step() -> Any:
        if replica().replica_id_in_sync_group:
            return replica().all_gather(np.ones(2), axis=0)
        return replica().all_reduce("SUM", np.ones(2))

    return strategy.run(step)


def early_return(strategy: ss.Strategy) -> Any:
    def step() -> Any:
        if replica().replica_id_in_sync_group == 0:
            return np.ones(2)
        return replica().all_reduce("SUM", np.ones(2))

    return strategy.run(step)


def one_raises(strategy: ss.Strategy) -> Any:
    def step() -> Any:
        if replica().replica_id_in_sync_group == 1:
            raise KeyError("only here")
        return replica().all_reduce("SUM", np.ones(2))

    return strategy.run(step)


def long_notes(strategy: ss.Strategy) -> Any:
    """Compares a structure whose description is longer than one note's first round."""
    nest = {f"{'name' * 25}{index}": np.full(2, index, np.float32) for index in range(60)}
    return list(strategy.run(lambda: replica().all_reduce("SUM", nest)).values())


PROGRAMS: dict[str, Callable[[ss.Strategy], Any]] = {
    function.__name__: function
    for function in (
        training,
        other_op,
        dtypes,
        other_shape,
        other_dtype,
        other_kind,
        early_return,
        one_raises,
        long_notes,
    )
}


def run(program: Callable[[ss.Strategy], Any], strategy: ss.Strategy) -> dict[str, Any]:
    """Returns a program's arrays, with dtypes, or its error."""
    get, types = group_of(strategy).backend.get, group_of(strategy).array_types
    try:
        result = program(strategy)
    except Exception as error:  # noqa: BLE001 - an answer like any other, compared with the simulator's
        return {"error": type(error).__name__, "message": str(error)}
    arrays = [get(one) if isinstance(one, types) else np.asarray(one) for one in result]
    return {"arrays": [[one.dtype.name, one.shape, one.tobytes().hex()] for one in arrays]}


# Scenarios: what only processes can show.


def gradients(strategy: ss.Strategy) -> dict[str, Any]:
    import torch

    def step() -> Any:
        context, rank = replica(), replica().replica_id_in_sync_group
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        own = torch.ones((rank + 1, 2), requires_grad=True)
        mean = context.all_reduce("MEAN", context.all_reduce("SUM", {"x": x * x, "n": torch.tensor(rank)})["x"])
        whole = context.all_gather(own, axis=0)
        loss = (rank + 1.0) * mean.sum() + (whole[[0, 1, 2]] * torch.arange(6.0).reshape(3, 2)).sum()
        loss.backward()
        return x.grad, own.grad

    return {"gradients": [one.tolist() for one in strategy.run(step)]}


def listening_addresses() -> list[str]:
    """Returns the addresses, in the kernel's hexadecimal form, at which this process listens."""
    own = set()
    for link in Path("/proc/self/fd").iterdir():
        try:
            own.add(os.readlink(link))
        except OSError:  # the folder's own descriptor
            continue
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return sorted(row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own)


def threads() -> int:
    """Counts threads of this process, without the watch over waiting replicas, which ends a while after a run."""
    return len(os.listdir("/proc/self/task")) - sum(one.name == "simstrategy watch" for one in threading.enumerate())


def agreeing() -> dict[str, Any]:
    """Opens, runs every program, and opens again and again."""
    import torch
    from torch import distributed

    warm = ss.backend("gloo", rank=0, world_size=1)
    warm.exchange(b"", timeout_s=None)
    warm.close()
    threads_before = threads()
    backend = ss.backend("gloo")
    answers: dict[str, Any] = {"listening": listening_addresses()}
    for name, program in PROGRAMS.items():
        answers[name] = run(program, ss.Strategy.multi_worker(backend))
    answers["gradients"] = gradients(ss.Strategy.multi_worker(backend))
    second = ss.backend("gloo")
    notes = [second.exchange(b"%d" % RANK, timeout_s=5.0), backend.exchange(b"x" * (5000 * RANK), timeout_s=None)]
    backend.close()
    answers["notes"] = [[len(note) for note in one] for one in notes]
    second.close()
    reopen_while_rank_0_is_late()
    for _ in range(5):
        again = ss.backend("gloo")
        again.exchange(b"", timeout_s=None)
        again.close()
    backend.close()
    answers["threads left"] = threads() - threads_before
    answers["listening left"] = listening_addresses()
    folder = Path(sys.argv[2]).parent
    # Before the program's own group, beside it, and instead of an environment: with it.
    distributed.init_process_group("gloo", init_method=f"file://{folder / 'own'}", rank=RANK, world_size=2)
    beside = ss.backend("gloo", init_method=f"file://{folder / 'beside'}")
    answers["file left"] = (folder / "beside").exists()
    within = ss.backend("gloo")
    totals = [one.all_reduce((torch.ones(2),), "SUM")[0].tolist() for one in (beside, within)]
    large = within.all_reduce((torch.ones(200_000),), "SUM")[0]
    beside.close()
    within.close()
    own = torch.ones(1)
    distributed.all_reduce(own)
    distributed.destroy_process_group()
    answers["beside and within"] = [totals, large.unique().tolist(), own.tolist()]
    return answers


def reopen_while_rank_0_is_late() -> None:
    """Rank 1 opens again before rank 0 has closed: it meets nobody there, and must go on to the next meeting place."""
    from torch.distributed import TCPStore

    first = ss.backend("gloo")
    if RANK == 0:
        store = TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
        store.wait(["simstrategy/0/2/here/1"])
        first.close()
    second = ss.backend("gloo")
    second.exchange(b"", timeout_s=None)
    first.close()
    second.close()


def dying() -> dict[str, Any]:
    """Rank 1 comes late once, then dies: rank 0 hears of both.  Rank 1 ends when its input does."""
    from simstrategy.errors import PeerFailed

    warm = ss.backend("gloo", rank=0, world_size=1)
    warm.close()
    threads_before = threads()
    late, dead = ss.backend("gloo"), ss.backend("gloo")
    answers: dict[str, Any] = {}
    heard = []
    if RANK == 1:
        sys.stdin.read()
        os._exit(0)
    try:
        late.exchange(b"", timeout_s=0.2)
    except PeerFailed as error:
        answers["late"] = str(error)
        heard.append(error)
    sys.stdout.write("heard\n")
    sys.stdout.flush()
    strategy = ss.Strategy.multi_worker(dead)
    try:
        strategy.run(lambda: replica().all_reduce("SUM", np.ones(2)))
    except PeerFailed as error:
        answers["dead"] = str(error)
        heard.append(error)
    late.close()
    dead.close()
    # Also while somebody keeps the errors, whose tracebacks hold every frame.
    answers["threads left"] = threads() - threads_before
    return answers


if __name__ == "__main__":
    scenario, target = sys.argv[1:]
    found = {"agreeing": agreeing, "dying": dying}[scenario]()
    Path(target).write_text(json.dumps(found))
