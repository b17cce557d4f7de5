"""What can only be run on a machine with a GPU; without one it says so and succeeds.

    python3 ci/run.py gpu [--evidence FILE]

A program on torch, nccl and xla, beside the simulator, and the conformance kit on each: `on_gpu.py` opens them. Every
part runs in processes of its own under a hard time limit, so that a hanging GPU ends the part and nothing else. With
several NCCL ranks on one GPU, NCCL's own switch is used (2.30.3 and later), or a host id for each rank.
"""

import os
import sys
from pathlib import Path

import numpy as np
from evidence import COMMAND, Evidence, arguments, ended, versions

from simstrategy.strategy import group_of

HERE = Path(__file__).resolve().parent
LIMIT_S = 240.0
KIT_LIMIT_S = 900.0
LINES = 40


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
            results.append([group_of(strategy).backend.get(part).tolist() for part in own])
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
    from on_gpu import share_the_gpu

    import simstrategy as ss

    if name == "nccl":
        share_the_gpu(os.environ["RANK"], torch.cuda.nccl.version())
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
        if one.timed_out:
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
    yield "the kit on torch, all replicas on cuda:0", conforms("on_gpu:torch_replicas", "default")
    yield "the kit on nccl, 2 processes on one GPU", conforms("on_gpu:nccl_processes", "quick")
    look = [sys.executable, "-c", "import jax; print(jax.local_devices(backend='gpu'))"]
    code, told = ended(look, LIMIT_S, folder=HERE)
    if code != 0:
        why = "it did not answer" if code is None else (told or ["it says nothing"])[-1]
        yield "xla on the GPU", f"did not run: JAX finds no GPU here (its CUDA plug-in is not installed): {why}"
    else:
        yield "xla on the GPU", part(in_one_process, ["xla", 1, {"platform": "gpu"}], 1, simulated(1, 1))
        yield "the kit on xla, on GPUs", conforms("on_gpu:xla_replicas", "default")


def conforms(factory, profile):
    """Runs the conformance kit on a factory; returns how it went, in words."""
    path = f"{HERE}:{os.environ.get('PYTHONPATH', '')}".rstrip(":")
    command = [*COMMAND, "conform", factory, "--profile", profile]
    code, told = ended(command, KIT_LIMIT_S, folder=HERE, PYTHONPATH=path)
    if code is None:
        return f"FAILED: the kit did not end in {KIT_LIMIT_S:g} s and was killed:\n{last_lines(told)}"
    if code:
        return f"FAILED: the kit ended with code {code}:\n{last_lines(told)}"
    counts = [line for line in told if " passed" in line]
    return f"conforms, profile {profile}: {counts[-1] if counts else last_lines(told)}"


def last_lines(told):
    return "\n".join(told[-LINES:])


def main():
    import torch

    options = arguments(__doc__).parse_args()
    # What JAX would take at once is most of the GPU's memory, which others here need as well.
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    evidence = Evidence("gpu: ")
    evidence.add(versions("torch", "jax", "numpy"))
    if torch.cuda.is_available():
        names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
        nccl = ".".join(map(str, torch.cuda.nccl.version()))
        evidence.add(f"{len(names)} GPU: {', '.join(names)}; CUDA {torch.version.cuda}, NCCL {nccl}")
        for what, how in parts():
            evidence.add(f"{what}: {how}")
    else:
        reason = f"PyTorch {torch.__version__} finds no GPU on this machine. No NCCL or GPU path was run."
        evidence.add(f"skipped: {reason}")
    evidence.write(options.evidence)
    return evidence.exit_code


if __name__ == "__main__":
    sys.exit(main())
