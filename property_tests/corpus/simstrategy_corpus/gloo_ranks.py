"""Runs a script on ranks of gloo: real processes in the environment that torchrun gives them.

They are forked from one process that has imported torch, so a run takes a second where torchrun takes ten. Nothing of
torch is replaced. As under torchrun, a rank that fails ends the others.
"""

import contextlib
import multiprocessing
import os
import runpy
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from io import TextIOWrapper
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from simstrategy_corpus.processes import Ran

SECONDS_IDLE = 10.0
"""Ranks that use no processor for so long wait for each other for good, however busy the machine is."""
TICKS_IDLE = 5
"""What gloo's threads use of a processor in that time, in clock ticks for each rank, while a rank waits."""
_PRELOADED = ("torch", "torch.nn.parallel", "torch.distributed.fsdp", "torch.distributed.nn.functional")
_KEPT: list[dict[str, Any]] = []
"""In a rank: what its script defined, which lives as long as the process, as that of a main program does."""


def run_ranks(
    script: Path, replicas: int, arguments: Sequence[str], limit: float, settings: Mapping[str, str] | None = None
) -> Ran:
    """Runs a script on `replicas` ranks in an empty folder, for `limit` seconds at most after they were started.

    It ends earlier, as at the limit, where no rank has computed for SECONDS_IDLE.  settings: more variables of the
    ranks' environment.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOADED))
    here, there = context.Pipe()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as printed:
        output = f"/proc/{os.getpid()}/fd/{printed.fileno()}"
        store = context.Process(target=_store, args=(there, replicas))
        processes: list[ForkServerProcess] = []
        try:
            store.start()
            there.close()
            port = here.recv()
            began = time.monotonic()
            for rank in range(replicas):
                environment = {**_environment(rank, replicas, port), **(settings or {})}
                one = context.Process(target=_rank, args=(script, arguments, environment, folder, output))
                processes.append(one)
                one.start()
            code = _code(processes, began + limit)
            seconds = time.monotonic() - began
        finally:
            for process in (*processes, store):
                _end(process)
        return Ran(code, os.pread(printed.fileno(), 10**7, 0).decode("utf-8", "replace"), seconds)


def _environment(rank: int, world: int, port: int) -> dict[str, str]:
    """Returns the variables that torchrun sets for a rank."""
    numbers = {
        **dict.fromkeys(("RANK", "LOCAL_RANK", "ROLE_RANK"), rank),
        **dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE", "ROLE_WORLD_SIZE"), world),
        **dict.fromkeys(("GROUP_RANK", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS"), 0),
        "GROUP_WORLD_SIZE": 1,
        "OMP_NUM_THREADS": 1,
        "MASTER_PORT": port,
    }
    texts = {name: str(number) for name, number in numbers.items()}
    return {**texts, "MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_USE_AGENT_STORE": "True", "GLOO_SOCKET_IFNAME": "lo"}


def _store(channel: Connection, world: int) -> None:
    """Keeps the store through which the ranks find each other, and sends its port."""
    store = import_module("torch.distributed").TCPStore("127.0.0.1", 0, world, is_master=True, wait_for_workers=False)
    channel.send(store.port)
    while True:
        signal.pause()


def _rank(script: Path, arguments: Sequence[str], environment: Mapping[str, str], folder: str, output: str) -> None:
    """Is a rank: it runs the script as Python's command line would."""
    os.setsid()
    with open(output, "ab", buffering=0) as printed:
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
    assert isinstance(sys.stdout, TextIOWrapper)
    sys.stdout.reconfigure(line_buffering=True, write_through=False)  # one write for each line
    os.environ.update(environment)
    import_module("torch").set_num_threads(1)  # torch read both variables when it was preloaded
    import_module("torch.distributed").set_debug_level_from_env()
    os.chdir(folder)
    sys.argv[:] = [str(script), *arguments]
    sys.path.insert(0, str(script.parent))
    try:
        _KEPT.append(runpy.run_path(str(script), run_name="__main__"))
    finally:
        sys.stdout.flush()


def _code(processes: Sequence[ForkServerProcess], until: float) -> int | None:
    """Returns 0 when all ranks have ended well, the code of the first that failed, or None where they do not end."""
    left, computed, last = list(processes), -1, time.monotonic()
    while left:
        ended = wait([one.sentinel for one in left], 0.5)
        for one in [one for one in left if one.sentinel in ended]:
            one.join()
            left.remove(one)
            if one.exitcode:
                wait([another.sentinel for another in left], 0.5)  # others may still print why they end
                return one.exitcode
        now, ticks = time.monotonic(), sum(_ticks(one) for one in left)
        if ended or ticks > computed + TICKS_IDLE * len(left):
            computed, last = ticks, now
        if now > min(until, last + SECONDS_IDLE):
            return None
    return 0


def _ticks(process: ForkServerProcess) -> int:
    """Returns how much processor time a process has used, its ended children's included, in clock ticks."""
    try:
        after_name = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):  # it has ended, before or while its file is read
        return 0
    return sum(map(int, after_name[11:15]))


def _end(process: ForkServerProcess) -> None:
    """Ends a process and all that it started, whether it runs or not."""
    if process.pid is None:
        return
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(process.pid, signal.SIGKILL)
    process.join()
