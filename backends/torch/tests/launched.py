"""What test_launched.py runs in the processes that launchers start: opens gloo as the environment says, and adds up.

python launched.py FOLDER     as torchrun starts it
"""

import json
import os
import pickle
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from simstrategy.strategy import group_of

LAUNCHERS = ("torchrun", "tensorflow", "slurm", "open_mpi")


def environment_of(launcher: str, rank: int, size: int, port: str) -> dict[str, str]:
    """Returns what a launcher would set for this process of one machine."""
    own, all_ = str(rank), str(size)
    addresses = [f"127.0.0.1:{port}", *(f"127.0.0.1:{1 + one}" for one in range(1, size))]
    config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": rank}}
    return {
        "torchrun": {"RANK": own, "WORLD_SIZE": all_, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port},
        "tensorflow": {"TF_CONFIG": json.dumps(config)},
        "slurm": {
            "SLURM_PROCID": own,
            "SLURM_STEP_NUM_TASKS": all_,
            "SLURM_LOCALID": own,
            "SLURM_STEP_NODELIST": "localhost",
            "MASTER_PORT": port,
        },
        "open_mpi": {
            "OMPI_COMM_WORLD_RANK": own,
            "OMPI_COMM_WORLD_SIZE": all_,
            "OMPI_COMM_WORLD_LOCAL_RANK": own,
            "OMPI_COMM_WORLD_LOCAL_SIZE": all_,
            "MASTER_PORT": port,
        },
    }[launcher]


def adds_up() -> list[Any]:
    """Opens gloo as the environment says; returns the worker, the number of replicas and a total of their ranks."""
    import simstrategy as ss

    with closing(ss.backend("gloo", timeout_s=30.0)) as backend:
        strategy = ss.Strategy.multi_worker(backend)

        def step() -> Any:
            context = ss.get_replica_context()
            assert context is not None
            return context.all_reduce("SUM", np.int64(context.replica_id_in_sync_group + 1))

        total = strategy.run(step)
        return [backend.local_devices[0].process, strategy.num_replicas_in_sync, int(total)]


def as_launched_by(launcher: str) -> list[Any]:
    """Does so with another launcher's environment than the one it was started with."""
    rank, size, port = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), os.environ["MASTER_PORT"]
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        del os.environ[name]
    os.environ.update(environment_of(launcher, rank, size, port))
    return adds_up()


def audited() -> list[str]:
    """Adds up under watch; returns every class that anything was about to make of a pickle."""
    seen: list[str] = []
    # A hook cannot be taken away again, but the list that it fills is this call's.
    sys.addaudithook(lambda event, arguments: seen.append(str(arguments)) if event == "pickle.find_class" else None)
    adds_up()
    collected_before = len(seen)
    pickle.loads(pickle.dumps(Path()))
    assert len(seen) > collected_before, "the hook sees pickles"
    return seen[:collected_before]


def trained(replicas: int) -> list[Any]:
    """Runs the programs of gloo_worker.py with several replicas in this process."""
    import gloo_worker

    import simstrategy as ss

    with closing(ss.backend("gloo", replicas=replicas, timeout_s=30.0)) as backend:
        return [collected(one, ss.Strategy.multi_worker(backend)) for one in (gloo_worker.training, halves)]


def collected(program: Any, strategy: Any) -> list[Any]:
    """Returns what a program returns, every local replica's part of it, with dtypes and shapes."""
    get, types = group_of(strategy).backend.get, group_of(strategy).array_types
    parts = [part for one in program(strategy) for part in strategy.experimental_local_results(one)]
    arrays = [get(part) if isinstance(part, types) else np.asarray(part) for part in parts]
    return [[one.dtype.name, list(one.shape), one.tobytes().hex()] for one in arrays]


def halves(strategy: Any) -> list[Any]:
    """Adds and gathers float16 and bfloat16, small and large; the numbers are exact in both."""

    def step() -> Any:
        import simstrategy as ss

        context = ss.get_replica_context()
        assert context is not None
        xp, rank, results = context.xp, context.replica_id_in_sync_group, []
        for dtype in ("float16", "bfloat16"):
            for size in (6, 300_000):
                array = xp.astype(xp.asarray(np.arange(size, dtype=np.float32) % 8 + rank), dtype)
                totals = [context.all_reduce(op, array)[::997] for op in ("SUM", "MEAN")]
                gathered = context.all_gather(array[: rank + 1], axis=0)
                results += [xp.astype(one, "float32") for one in (*totals, gathered)]
        return results

    parts = strategy.experimental_local_results(strategy.run(step))
    return [one for part in parts for one in part]


if __name__ == "__main__":
    found = adds_up()
    Path(sys.argv[1], f"answer{found[0]}").write_text(json.dumps(found))
