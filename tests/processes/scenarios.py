"""Failures between real processes: programs that cause them, and the error that every process must raise.

Each scenario runs in three worker processes, on every backend of SUBJECTS that it applies to. Worker 1 causes the
failure unless the scenario states otherwise. The tests are in test_scenarios.py and every_scenario.py.
"""

import os
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

WORKERS = 3
TIMEOUT_S = 1.0
"""The timeout_s of the backends in all scenarios."""
WAIT_LIMIT_S = TIMEOUT_S / 4
"""The wait_limit_s of the strategies."""
SOON_S = 5.0
pause = threading.Event().wait
ONE = np.ones(2, np.float32)
LARGE = np.ones(8_000_000, np.float32)


class Subject(NamedTuple):
    """A backend whose ranks are processes."""

    module: str
    """To import before the workers start."""
    rendezvous: Callable[[str], dict[str, str]]
    """Takes "host:port"; returns the options of an opening there."""
    excluded: dict[str, str]
    """Scenarios that cannot apply, with the reason."""
    joins_once: bool
    """Whether a process can join a group once only: every scenario then needs new processes."""


SUBJECTS: dict[str, Subject] = {
    "gloo": Subject("simstrategy_torch", lambda address: {"init_method": f"tcp://{address}"}, {}, joins_once=False),
    "xla_processes": Subject(
        "simstrategy_xla",
        lambda address: {"address": address},
        {
            "other_limits": "folded_bytes_max is an option of gloo and nccl: XLA adds all sums",
            "folder_that_is_not_there": "the rendezvous is always an address: there is none through a file",
        },
        joins_once=True,
    ),
}


class Scenario(NamedTuple):
    """One failure.

    act: the function of each worker, of its rank and strategy, or, where `opens` is False, of its rank alone. errors:
    the class of the error in each worker; None: no error, an int: the exit code of the process (a signal is
    negative). said: parts of every surviving worker's message. late_s: seconds from the failure to the last error.
    """

    act: Callable[..., Any]
    errors: tuple[str | int | None, ...]
    said: tuple[str, ...]
    late_s: float
    opens: bool


SCENARIOS: dict[str, Scenario] = {}
OPENED: list[Any] = []
"""The backend of the running scenario."""
DISAGREE: tuple[str | int | None, ...] = ("ReplicasDisagree",) * WORKERS


def scenario(
    errors: tuple[str | int | None, ...], *said: str, late_s: float = SOON_S, opens: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def keep(act: Callable[..., Any]) -> Callable[..., Any]:
        SCENARIOS[act.__name__] = Scenario(act, errors, said, late_s, opens)
        return act

    return keep


def peers(one: str | int | None) -> tuple[str | int | None, ...]:
    """Worker 1 ends in this way, and the others raise PeerFailed."""
    return "PeerFailed", one, "PeerFailed"


def happened() -> None:
    """Writes the time of the failure to a file."""
    Path(os.environ["SCENARIO_FILE"]).write_text(str(time.monotonic()))


def context() -> Any:
    import simstrategy as ss

    found = ss.get_replica_context()
    assert found is not None
    return found


def in_run(act: Callable[[int, Any], Any]) -> Callable[[int, Any], Any]:
    """Returns a scenario whose replicas call `act` inside `run`."""

    def run(rank: int, strategy: Any) -> Any:
        def step() -> Any:
            context().all_reduce("SUM", ONE)
            happened()
            return act(rank, context())

        return strategy.run(step)

    run.__name__ = act.__name__
    return run


# Requests that differ: all workers raise the same error, with a line for each replica.


@scenario(DISAGREE, "replica 0: all_reduce SUM float32[2]", "replica 1: all_reduce MEAN float32[2]", "scenarios.py:")
@in_run
def another_op(rank: int, ctx: Any) -> None:
    ctx.all_reduce("MEAN" if rank == 1 else "SUM", ONE)


@scenario(DISAGREE, "replica 1: all_reduce SUM float32[3]", "replica 2: all_reduce SUM float32[2]")
@in_run
def another_order(rank: int, ctx: Any) -> None:
    for size in (3, 2) if rank == 1 else (2, 3):
        ctx.all_reduce("SUM", np.ones(size, np.float32))


@scenario(DISAGREE, "replica 0: all_reduce SUM float32[2]", "replica 1: all_reduce SUM float32[1,2]")
@in_run
def another_shape(rank: int, ctx: Any) -> None:
    ctx.all_reduce("SUM", ONE[None] if rank == 1 else ONE)


@scenario(DISAGREE, "replica 1: all_reduce SUM int32[2]")
@in_run
def another_dtype(rank: int, ctx: Any) -> None:
    ctx.all_reduce("SUM", ONE.astype(np.int32) if rank == 1 else ONE)


@scenario(DISAGREE, "replica 0: all_reduce SUM", "replica 1: all_gather")
@in_run
def another_kind(rank: int, ctx: Any) -> None:
    if rank == 1:
        ctx.all_gather(ONE, axis=0)
    else:
        ctx.all_reduce("SUM", ONE)


@scenario(DISAGREE, "replica 0: all_gather", "replica 1: all_gather")
@in_run
def another_axis(rank: int, ctx: Any) -> None:
    ctx.all_gather(np.ones((2, 2), np.float32), axis=1 if rank == 1 else 0)


@scenario(DISAGREE, "replica 1: all_gather")
@in_run
def another_rank_of_an_array(rank: int, ctx: Any) -> None:
    ctx.all_gather(np.ones((2, 1) if rank == 1 else (2,), np.float32), axis=0)


@scenario(DISAGREE, "replica 0: all_reduce SUM", "replica 1: all_reduce SUM")
@in_run
def another_structure(rank: int, ctx: Any) -> None:
    ctx.all_reduce("SUM", [ONE, ONE] if rank == 1 else (ONE, ONE))


@scenario(DISAGREE, "replica 1: all_reduce SUM", "replica 0: returned from")
@in_run
def one_call_too_many(rank: int, ctx: Any) -> None:
    if rank == 1:
        ctx.all_reduce("SUM", ONE)


@scenario(DISAGREE, "replica 1: returned from", "replica 0: all_reduce SUM float32[2]")
@in_run
def early_return(rank: int, ctx: Any) -> None:
    if rank != 1:
        ctx.all_reduce("SUM", ONE)


@scenario(DISAGREE, "replica 0: merge_call", "replica 1: merge_call")
@in_run
def another_merge_function(rank: int, ctx: Any) -> None:
    ctx.merge_call((lambda s: 1) if rank == 1 else (lambda s: 2))


@scenario(DISAGREE, "replica 0: all_reduce SUM", "replica 1: merge_call")
@in_run
def merging_instead(rank: int, ctx: Any) -> None:
    if rank == 1:
        ctx.merge_call(lambda s: 1)
    else:
        ctx.all_reduce("SUM", ONE)


@scenario(DISAGREE, "replica 1:")
def another_variable(rank: int, strategy: Any) -> None:
    import simstrategy as ss

    with strategy.scope():
        variables = [ss.Variable(ONE, aggregation=ss.VariableAggregation.SUM, name=name) for name in "ab"]

    def step() -> None:
        happened()
        variables[rank == 1].assign_add(ONE)

    strategy.run(step)


@scenario(DISAGREE, "worker 0: reduce SUM", "worker 1: reduce MEAN")
def another_op_outside(rank: int, strategy: Any) -> None:
    value = strategy.run(lambda: context().all_reduce("SUM", ONE))
    happened()
    strategy.reduce("MEAN" if rank == 1 else "SUM", value, axis=None)


@scenario(DISAGREE, "worker 0: reduce SUM", "worker 1: reduce SUM")
def another_axis_outside(rank: int, strategy: Any) -> None:
    value = strategy.run(lambda: context().xp.ones((2, 2)))
    happened()
    strategy.reduce("SUM", value, axis=1 if rank == 1 else 0)


@scenario(DISAGREE, "worker 0: reduce SUM", "worker 1: gather")
def gathering_instead(rank: int, strategy: Any) -> None:
    value = strategy.run(lambda: context().xp.ones((2,)))
    happened()
    if rank == 1:
        strategy.gather(value, axis=0)
    else:
        strategy.reduce("SUM", value, axis=None)


@scenario(DISAGREE, "replica 0: returned from", "replica 1: returned from")
def another_function(rank: int, strategy: Any) -> None:
    happened()
    strategy.run((lambda: 1) if rank == 1 else (lambda: 2))


@scenario(("ReplicasDisagree", None, "ReplicasDisagree"), "replica 1: the program ended", "all_reduce SUM float32[2]")
def one_run_too_few(rank: int, strategy: Any) -> None:
    for _ in range(1 if rank == 1 else 2):
        happened()
        strategy.run(lambda: context().all_reduce("SUM", ONE))


# Programs that raise: the others' errors state where.


@scenario(peers("ValueError"), "replica 1: ValueError(mine) raised at scenarios.py:", "all_reduce SUM float32[2]")
@in_run
def an_exception(rank: int, ctx: Any) -> None:
    if rank == 1:
        raise ValueError("mine")
    ctx.all_reduce("SUM", ONE)


@scenario(peers("ValueError"), "replica 1: ValueError(first line) raised at", "all_reduce SUM")
@in_run
def an_exception_of_many_lines(rank: int, ctx: Any) -> None:
    if rank == 1:
        raise ValueError("first line\n" + "ü\x00" * 100_000)
    ctx.all_reduce("SUM", ONE)


@scenario(peers("ValueError"), "ValueError(mine) raised at scenarios.py:")
@in_run
def an_exception_while_merging(rank: int, ctx: Any) -> None:
    def merge(strategy: Any) -> None:
        if os.environ["RANK"] == "1":  # the very same function in all
            raise ValueError("mine")
        strategy.reduce("SUM", ONE, axis=0)

    ctx.merge_call(merge)


@scenario(peers("ValueError"), "ValueError(mine) raised at scenarios.py:", "all_reduce SUM")
def an_exception_between_runs(rank: int, strategy: Any) -> None:
    happened()
    if rank == 1:
        raise ValueError("mine")
    strategy.run(lambda: context().all_reduce("SUM", ONE))


@scenario(peers("KeyboardInterrupt"), "replica 1: KeyboardInterrupt() raised at", "all_reduce SUM")
@in_run
def an_interrupt(rank: int, ctx: Any) -> None:
    if rank == 1:
        signal.raise_signal(signal.SIGINT)
    ctx.all_reduce("SUM", ONE)


@scenario(peers("KeyboardInterrupt"), "1 was interrupted", "all_reduce SUM", late_s=1.0 + SOON_S)
@in_run
def an_interrupt_while_waiting(rank: int, ctx: Any) -> None:
    if rank == 1:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        pause(0.5)
    ctx.all_reduce("SUM", ONE)


@scenario(peers("ReplicasBlocked"), "replica 1", "all_reduce SUM")
@in_run
def a_queue_that_nobody_fills(rank: int, ctx: Any) -> None:
    if rank == 1:
        queue.Queue().get()
    ctx.all_reduce("SUM", ONE)


@scenario(peers(3), "replica 1: SystemExit(3) raised at", "all_reduce SUM")
@in_run
def an_exit(rank: int, ctx: Any) -> None:
    if rank == 1:
        sys.exit(3)
    ctx.all_reduce("SUM", ONE)


@scenario(("PeerFailed", None, "PeerFailed"), "worker 1", "all_reduce SUM")
def closing_early(rank: int, strategy: Any) -> None:
    strategy.run(lambda: context().all_reduce("SUM", ONE))
    happened()
    if rank == 1:
        OPENED[-1].close()
    else:
        strategy.run(lambda: context().all_reduce("SUM", ONE))


# Processes that die.

DEAD = ("worker 1 ended or lost the connection", "all_reduce SUM float32[2]", "scenarios.py:")


def dying(how: Callable[[], Any], code: int, name: str) -> None:
    def act(rank: int, ctx: Any) -> None:
        if rank == 1:
            how()
        ctx.all_reduce("SUM", ONE)

    act.__name__ = name
    scenario(peers(code), *DEAD)(in_run(act))


def send(number: int) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


dying(send(signal.SIGKILL), -9, "killed")
dying(send(signal.SIGTERM), -15, "terminated")
dying(send(signal.SIGSEGV), -11, "crashed")
dying(os.abort, -6, "aborted")
dying(lambda: os._exit(3), 3, "gone_at_once")
dying(lambda: os._exit(0), 0, "gone_at_once_and_well")


@scenario((-9, "PeerFailed", "PeerFailed"), "worker 0 ended or lost the connection", "all_reduce SUM float32[2]")
@in_run
def the_first_killed(rank: int, ctx: Any) -> None:
    if rank == 0:
        send(signal.SIGKILL)()
    ctx.all_reduce("SUM", ONE)


@scenario((-9, -9, "PeerFailed"), "ended or lost the connection", "all_reduce SUM float32[2]")
@in_run
def two_killed(rank: int, ctx: Any) -> None:
    if rank < 2:
        send(signal.SIGKILL)()
    ctx.all_reduce("SUM", ONE)


@scenario(peers(-9), "worker 1 ended or lost the connection", "reduce SUM")
def killed_between_runs(rank: int, strategy: Any) -> None:
    value = strategy.run(lambda: context().all_reduce("SUM", ONE))
    happened()
    if rank == 1:
        send(signal.SIGKILL)()
    strategy.reduce("SUM", value, axis=0)


@scenario(peers(-9), "worker 1", "all_reduce SUM float32[8000000]", late_s=SOON_S)
@in_run
def killed_on_the_way(rank: int, ctx: Any) -> None:
    """Kills the process inside a collective."""
    if rank == 1:
        threading.Timer(0.005, os.kill, (os.getpid(), signal.SIGKILL)).start()
    for _ in range(20):
        ctx.all_reduce("SUM", LARGE)


# Processes that send nothing: the others raise after the time limit.

STOPPED = TIMEOUT_S + 2.0


@scenario(peers(-9), f"worker 1 did not come within {TIMEOUT_S:g} s", "all_reduce SUM float32[2]", late_s=STOPPED)
@in_run
def stopped(rank: int, ctx: Any) -> None:
    if rank == 1:
        send(signal.SIGSTOP)()
    ctx.all_reduce("SUM", ONE)


@scenario((-9, "PeerFailed", "PeerFailed"), f"worker 0 did not come within {TIMEOUT_S:g} s", late_s=STOPPED)
@in_run
def the_first_stopped(rank: int, ctx: Any) -> None:
    if rank == 0:
        send(signal.SIGSTOP)()
    ctx.all_reduce("SUM", ONE)


@scenario(peers(-9), "worker 1 did not", "all_reduce SUM float32[8000000]", late_s=STOPPED + 0.5)
@in_run
def stopped_on_the_way(rank: int, ctx: Any) -> None:
    if rank == 1:
        threading.Timer(0.005, os.kill, (os.getpid(), signal.SIGSTOP)).start()
    for _ in range(50):
        ctx.all_reduce("SUM", LARGE)


@scenario(("PeerFailed",) * 3, f"worker 1 did not come within {TIMEOUT_S:g} s", late_s=STOPPED)
@in_run
def too_slow(rank: int, ctx: Any) -> None:
    if rank == 1:
        pause(TIMEOUT_S + 0.3)
    ctx.all_reduce("SUM", ONE)


@scenario((None,) * 3)
@in_run
def slow_and_in_time(rank: int, ctx: Any) -> None:
    if rank == 1:
        pause(TIMEOUT_S / 4)
    assert ctx.all_reduce("SUM", ONE).tolist() == [3, 3]


# Opening.


def opened(at: str = "", **options: Any) -> None:
    """Opens the backend; at: "host:port" of the rendezvous, where it is not the environment's."""
    import simstrategy as ss

    name = os.environ["SCENARIO_BACKEND"]
    if at:
        options |= SUBJECTS[name].rendezvous(at)
    happened()
    with closing(ss.backend(name, timeout_s=TIMEOUT_S, **options)) as backend:
        backend.exchange(b"", timeout_s=None)


@scenario(("InvalidArgument",) * 3, "a different world_size", opens=False)
def another_world(rank: int) -> None:
    opened(rank=rank, world_size=3 + (rank == 1))


@scenario(("InvalidArgument",) * 3, "different numbers of replicas", opens=False)
def other_replicas(rank: int) -> None:
    opened(replicas=1 + (rank == 1))


@scenario(("InvalidArgument",) * 3, "a different folded_bytes_max", opens=False)
def other_limits(rank: int) -> None:
    opened(folded_bytes_max=1 + (rank == 1))


@scenario(("PeerFailed", None, "PeerFailed"), "rank 1 did not come", opens=False)
def one_missing(rank: int) -> None:
    if rank != 1:
        opened()


@scenario(("PeerFailed", "PeerFailed", "PeerFailed"), "did not come", opens=False)
def one_rank_twice(rank: int) -> None:
    opened(rank=min(rank, 1), world_size=3)


@scenario(("BackendUnavailable",) * 3, "no other program has the port", opens=False)
def port_of_a_stranger(rank: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        opened(rank=rank, world_size=3, at=f"127.0.0.1:{stranger.getsockname()[1]}")


@scenario(("BackendUnavailable",) * 3, "no other program has the port", opens=False)
def port_of_a_stranger_that_talks(rank: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:

        def talk() -> None:
            while True:
                try:
                    stranger.accept()[0].sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                except OSError:
                    return

        threading.Thread(target=talk, daemon=True).start()
        try:
            opened(rank=rank, world_size=3, at=f"127.0.0.1:{stranger.getsockname()[1]}")
        finally:
            stranger.shutdown(socket.SHUT_RDWR)


@scenario((None, "BackendUnavailable", "BackendUnavailable"), "cannot reach the others at 192.0.2.1:29500", opens=False)
def unreachable_address(rank: int) -> None:
    if rank:
        opened(rank=rank, world_size=3, at="192.0.2.1:29500")


@scenario(("BackendUnavailable",) * 3, "cannot reach the others at nowhere.invalid:29500", opens=False)
def unknown_host(rank: int) -> None:
    opened(rank=rank, world_size=3, at="nowhere.invalid:29500")


@scenario(("PeerFailed", -9, "PeerFailed"), "rank 1 did not come", opens=False)
def killed_before_it_opens(rank: int) -> None:
    if rank == 1:
        send(signal.SIGKILL)()
    opened()


@scenario(("BackendUnavailable",) * 3, "there is no folder for the file /nowhere/at/all", opens=False)
def folder_that_is_not_there(rank: int) -> None:
    opened(rank=rank, world_size=3, init_method="file:///nowhere/at/all")


@scenario(
    (-9, "BackendUnavailable", "BackendUnavailable"), "it did not answer within", late_s=STOPPED + 0.5, opens=False
)
def the_first_stopped_before_all_have_come(rank: int) -> None:
    if rank == 0:
        threading.Thread(target=stop_when_listening).start()
        opened()
    wait_until_listening()
    pause(0.6)
    opened()


def stop_when_listening() -> None:
    wait_until_listening()
    pause(0.3)
    os.kill(os.getpid(), signal.SIGSTOP)


def wait_until_listening() -> None:
    """Waits until the first worker's port is open, without a connection to it."""
    port = f":{int(os.environ['MASTER_PORT']):04X} "
    tables = [Path("/proc/net/tcp"), Path("/proc/net/tcp6")]
    while not any(port in line and " 0A " in line for one in tables for line in one.read_text().splitlines()[1:]):
        pause(0.02)


@scenario(("InvalidArgument",) * 3, "MASTER_PORT", opens=False)
def no_rendezvous(rank: int) -> None:
    del os.environ["MASTER_PORT"]
    opened()
