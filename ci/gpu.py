"""What can only be run on a machine with a GPU; without one it says so and succeeds.

    python3 ci/run.py gpu [--evidence FILE]

Every part runs in processes of its own under a hard time limit, so that a hanging GPU ends the part and nothing
else. With several NCCL ranks on one GPU, NCCL's own switch is used (2.30 and later), or a host id for each rank.
"""

import argparse
import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

LIMIT_S = 240.0
SHARED_GPU = {"NCCL_MULTI_RANK_GPU_ENABLE": "1", "NCCL_NVLS_ENABLE": "0", "NCCL_MAX_CTAS": "2"}
SHARED_FROM = (2, 30)


def program(strategy):
    """Trains a little; the numbers are exact in float32, so all backends come to the same bits."""
    import simstrategy as ss

    with strategy.scope():
        weights = ss.Variable(np.ones(4, np.float32), aggregation=ss.VariableAggregation.SUM)
    features = np.arange(40, dtype=np.float32).reshape(10, 4) / 16

    def step(batch):
        context = ss.get_replica_context()
        xp, rank = context.xp, context.replica_id_in_sync_group
        weights.assign_sub(xp.multiply(xp.sum(batch, axis=0), 2.0**-8))
        large = xp.full((300_000,), float(rank + 1))
        total = context.all_reduce("SUM", large)
        return [
            context.all_reduce("MEAN", xp.sum(batch, axis=0)),
            xp.stack([xp.min(total), xp.max(total)]),
            context.all_gather(xp.arange(rank + 1, dtype="float32"), axis=0),
        ]

    results = []
    for batch in strategy.experimental_distribute_dataset([features[:4], features[4:]]):
        for one in strategy.run(step, args=(batch,)):
            own = strategy.experimental_local_results(one)
            results.append([strategy.extended.engine.backend.get(part).tolist() for part in own])
    return [*results, weights.numpy().tolist()]


def in_one_process(name, replicas, options):
    """Runs the program with all replicas in this process, and gradients through a collective; for a worker."""
    import simstrategy as ss

    backend = ss.backend(name, replicas=replicas, **options)
    strategy = ss.Strategy.mirrored(backend)
    found = program(strategy)
    if name == "torch":
        found.append(gradients(strategy, options["device"]))
    strategy.close()
    backend.close()
    return found


def gradients(strategy, device):
    """Returns each replica's gradient of the total of x² over all: a backward pass meets in the middle."""
    import torch

    import simstrategy as ss

    def step():
        x = torch.tensor([1.0, 2.0], device=device, requires_grad=True)
        total = ss.get_replica_context().all_reduce("SUM", x * x)
        return torch.autograd.grad(total.sum(), x)[0]

    return [one.tolist() for one in strategy.experimental_local_results(strategy.run(step))]


def in_several(name, replicas):
    """Runs the program as one process of several, all on the first GPU where there is but one; for workers."""
    import torch

    import simstrategy as ss

    if name == "nccl":
        if torch.cuda.nccl.version() >= SHARED_FROM:
            os.environ.update(SHARED_GPU)
        else:
            os.environ.update({"NCCL_HOSTID": f"rank{os.environ['RANK']}", "NCCL_SOCKET_IFNAME": "lo"})
    backend = ss.backend(name, replicas=replicas, timeout_s=60.0)
    found = program(ss.Strategy.multi_worker(backend))
    backend.close()
    return found


def simulated(workers, replicas):
    """Returns what the simulator comes to, for each worker."""
    import simstrategy as ss

    return list(ss.sim.Cluster(workers, replicas).run(program))


def part(function, arguments, workers, expected):
    """Runs one part in processes of its own; returns how it went, in words that begin with "ran" if it did."""
    from simstrategy.launch import Launcher

    with Launcher(workers) as launcher:
        ended = launcher.run(function, arguments, timeout_s=LIMIT_S)
    for rank, (one, wanted) in enumerate(zip(ended, expected, strict=True)):
        if one.late:
            return f"FAILED: process {rank} did not end in {LIMIT_S:g} s and was killed"
        if one.error is not None:
            return f"FAILED: process {rank}: {one.error[0]}: {one.error[1]}"
        if one.code is not None:
            return f"FAILED: process {rank} ended with code {one.code}: {one.output[-2000:]}"
        if one.value[: len(wanted)] != wanted:
            return f"FAILED: process {rank} came to {one.value}, the simulator to {wanted}"
        if one.value[len(wanted) :] not in ([], [[[2.0 * arguments[1], 4.0 * arguments[1]]] * arguments[1]]):
            return f"FAILED: gradients {one.value[len(wanted) :]}"
    return "ran: equal to the simulator to the bit"


def parts():
    """Runs all parts; yields what and how it went."""
    for replicas in (1, 2, 4):
        arguments = ["torch", replicas, {"device": "cuda:0"}]
        yield f"torch, {replicas} replicas on cuda:0", part(in_one_process, arguments, 1, simulated(1, replicas))
    for workers, replicas in ((2, 1), (2, 2), (4, 1)):
        how = part(in_several, ["nccl", replicas], workers, simulated(workers, replicas))
        yield f"nccl, {workers} processes of {replicas} replicas", how
    found = subprocess.run(
        [sys.executable, "-c", "import jax; print(jax.local_devices(backend='gpu'))"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if found.returncode:
        yield "xla on the GPU", "did not run: JAX finds no GPU here (its CUDA plug-in is not installed)"
    else:
        yield "xla on the GPU", part(in_one_process, ["xla", 1, {"platform": "gpu"}], 1, simulated(1, 1))


def versions():
    """Returns what is installed that matters here."""
    found = [f"Python {platform.python_version()}"]
    for name in ("torch", "jax", "numpy"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    return ", ".join(found)


def main():
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evidence", type=Path)
    options = parser.parse_args()
    lines = [versions()]
    if torch.cuda.is_available():
        names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
        nccl = ".".join(map(str, torch.cuda.nccl.version()))
        lines.append(f"{len(names)} GPU: {', '.join(names)}; CUDA {torch.version.cuda}, NCCL {nccl}")
        print(*lines, sep="\n", flush=True)
        for what, how in parts():
            lines.append(f"{what}: {how}")
            print(lines[-1], flush=True)
    else:
        lines.append(f"skipped: PyTorch {torch.__version__} finds no GPU on this machine. No NCCL or GPU path was run.")
        print(*lines, sep="\n")
    if options.evidence:
        options.evidence.write_text("\n".join(f"gpu: {line}" for line in lines) + "\n", encoding="utf-8")
    return 1 if any("FAILED" in line for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
