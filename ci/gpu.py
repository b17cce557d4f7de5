"""What can only be run on a machine with a GPU; without one it says so and succeeds.

    python3 ci/run.py gpu [WORD …] [--evidence FILE]

WORD: only the parts whose names have one of these words. There are a program on torch, nccl and xla, beside the
simulator, and the conformance kit on each: `on_gpu.py` opens them. Every part runs in processes of its own under a hard
time limit, so that a hanging GPU ends the part and nothing else. With several NCCL ranks on one GPU, NCCL's own switch
is used (2.30.3 and later), or a host id for each rank.
"""

import os
import re
import sys
import tempfile
import time
from functools import partial
from json import loads
from pathlib import Path

import numpy as np
from evidence import COMMAND, Evidence, arguments, ended, failures, versions

from simstrategy.strategy import group_of

HERE = Path(__file__).resolve().parent
LIMIT_S = 240.0
KIT_LIMIT_S = 900.0
LINES = 40
ERRORS = 3
"""So many tests are named that end with the same error."""
RANKS = 3
"""So many ranks of c10d:nccl have one GPU."""


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
    import simstrategy as ss
    from simstrategy_conformance.c10d.ranks.joining import share_gpus

    if name == "nccl":
        share_gpus(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
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
    """Returns what can be run: by its name, a function that returns how it went."""
    found = {}
    for replicas in (1, 2, 4):
        given = (in_one_process, ["torch", replicas, {"device": "cuda:0"}], 1)
        found[f"torch, {replicas} replicas on cuda:0"] = partial(beside, given, (1, replicas))
    for workers, replicas in ((2, 1), (2, 2), (4, 1)):
        given = (in_several, ["nccl", replicas], workers)
        found[f"nccl, {workers} processes of {replicas} replicas"] = partial(beside, given, (workers, replicas))
    found["xla, one replica on the GPU"] = on_xla
    found["the kit on nccl, 2 processes on one GPU"] = partial(conforms, "on_gpu:nccl_processes", "quick")
    found["the kit on xla, on GPUs"] = partial(conforms, "on_gpu:xla_replicas", "quick")
    found["the kit on torch, all replicas on cuda:0"] = partial(conforms, "on_gpu:torch_replicas", "default")
    found[f"the kit on c10d:nccl, {RANKS} ranks on a GPU"] = partial(conforms, "c10d:nccl", "quick")
    return found


def beside(given, cluster):
    """Runs a part beside the simulator's workers and replicas."""
    return part(*given, simulated(*cluster))


def on_xla():
    """Runs the program on XLA, where JAX finds a GPU."""
    code, told = ended(
        [sys.executable, "-c", "import jax; print(jax.local_devices(backend='gpu'))"], LIMIT_S, folder=HERE
    )
    if code == 0:
        return beside((in_one_process, ["xla", 1, {"platform": "gpu"}], 1), (1, 1))
    why = "it did not answer" if code is None else (told or ["it says nothing"])[-1]
    return f"did not run: JAX finds no GPU here (its CUDA plug-in is not installed): {why}"


def conforms(factory, profile):
    """Runs the conformance kit on a factory; returns how it went, in words."""
    path = f"{HERE}:{os.environ.get('PYTHONPATH', '')}".rstrip(":")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        command = [*COMMAND, "conform", factory, "--profile", profile, f"--json={file}"]
        code, told = ended(command, KIT_LIMIT_S, folder=HERE, PYTHONPATH=path, SIMSTRATEGY_RANKS_PER_GPU=str(RANKS))
        report = loads(file.read_text()) if file.exists() else None
    if code is None:
        return f"FAILED: the kit did not end in {KIT_LIMIT_S:g} s and was killed:\n{last_lines(told)}"
    if code:
        found = last_lines(told) if report is None else "\n".join([*errors_of(report), told[-1]])
        return f"FAILED: the kit ended with code {code}:\n{found}"
    counts = [line for line in told if re.match(r"\d+ passed", line)]
    kept = [line for line in told if re.match(r"skipped: |excepted: |differs: |done by: |not offered: ", line)]
    return "\n  ".join([f"conforms, profile {profile}: {counts[-1] if counts else last_lines(told)}", *kept])


def errors_of(report):
    """Yields each error of a report once, with the tests that it ended."""
    tests = {}
    for line in failures(report):
        where, _, error = line.partition(": ")
        tests.setdefault(error, []).append(where)
    for error, where in tests.items():
        more = f" and {len(where) - ERRORS} more" if len(where) > ERRORS else ""
        yield f"  {', '.join(where[:ERRORS])}{more}: {error}"


def last_lines(told):
    return "\n".join(told[-LINES:])


def main():
    import torch

    parser = arguments(__doc__)
    parser.add_argument("words", nargs="*", metavar="WORD", help="run only the parts that have one of these words")
    options = parser.parse_args()
    chosen = {what: run for what, run in parts().items() if not options.words or any(w in what for w in options.words)}
    if not chosen:
        parser.error(f"no part has one of these words; there are {'; '.join(parts())}")
    # What JAX would take at once is most of the GPU's memory, which others here need as well.
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    evidence = Evidence("gpu: ")
    evidence.add(versions("torch", "jax", "numpy"))
    if torch.cuda.is_available():
        names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
        nccl = ".".join(map(str, torch.cuda.nccl.version()))
        evidence.add(f"{len(names)} GPU: {', '.join(names)}; CUDA {torch.version.cuda}, NCCL {nccl}")
        for what, run in chosen.items():
            began = time.monotonic()
            evidence.add(f"{what}: {run()} ({time.monotonic() - began:.0f} s)")
    else:
        reason = f"PyTorch {torch.__version__} finds no GPU on this machine. No NCCL or GPU path was run."
        evidence.add(f"skipped: {reason}")
    evidence.write(options.evidence)
    return evidence.exit_code


if __name__ == "__main__":
    sys.exit(main())
