"""Plays scenarios on a launcher's workers, and checks their errors and what they leave behind."""

import json
import os
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from scenarios import OPENED, SCENARIOS, SUBJECTS, TIMEOUT_S, WAIT_LIMIT_S

from simstrategy.strategy import group_of

LISTENING = "0A"
GRACE_S = 8.0
"""How long the other workers may run once one process has ended; longer than every `late_s`."""
STOPPED_GRACE_S = 2.0
LIMIT_S = 20.0
SETTLED_S = 3.0
"""A thread of PyTorch that connects to an address without a listener ends so much later at most."""
JOIN_S = 30.0


class Found(Exception):
    """The result of a worker, raised in place of a return."""


def play(name: str, backend_name: str, file: str) -> dict[str, Any]:
    """Runs one scenario as this worker; returns its error, the time of it, and what it left behind in this process."""
    import simstrategy as ss

    played, rank = SCENARIOS[name], int(os.environ["RANK"])
    os.environ["SCENARIO_FILE"] = f"{file}{rank}"
    os.environ["SCENARIO_BACKEND"] = backend_name
    warm(backend_name, played.opens)
    before = held(backend_name)
    raised: list[str] = ["", ""]
    try:
        if played.opens:
            with closing(ss.backend(backend_name, timeout_s=TIMEOUT_S)) as backend:
                OPENED[:] = [backend]
                strategy = ss.Strategy.multi_worker(backend, wait_limit_s=WAIT_LIMIT_S)
                with closing(strategy):
                    room = group_of(strategy).coordinator
                    try:
                        played.act(rank, strategy)
                        room.disconnect()
                    except BaseException as error:
                        room.disconnect(error)
                        raise
        else:
            played.act(rank)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the error is the result of a scenario
        raised = [type(error).__name__, str(error)]
    at = time.monotonic()
    while (left := [one for one in held(backend_name) if one not in before]) and time.monotonic() < at + SETTLED_S:
        threading.Event().wait(0.01)  # a thread that was joined may not have left the system's list yet
    found = {"error": raised, "at": at, "left": left}
    if "stopped" in name:
        raise Found(json.dumps(found))  # so that the launcher does not wait for the stopped worker
    return found


def warm(name: str, opens: bool) -> None:
    """Makes what the framework makes once and keeps until the process ends."""
    import simstrategy as ss

    if opens:  # all of them together, so that no slow start uses up the time limit of the opening that follows
        with closing(ss.backend(name, timeout_s=JOIN_S)) as backend, closing(ss.Strategy.multi_worker(backend)) as made:
            made.run(lambda: None)
            backend.exchange(b"", timeout_s=JOIN_S)
    elif not SUBJECTS[name].joins_once:
        ss.backend(name, rank=0, world_size=1).close()


def held(name: str) -> list[str]:
    """Returns this process's sockets and threads by name.

    Where the framework keeps its group until the process ends, threads are Python's alone: XLA's and gRPC's pools
    start threads when they need more.
    """
    own = []
    for descriptor in sorted(os.listdir("/proc/self/fd"), key=int):
        try:
            own.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        except FileNotFoundError:
            continue
    sockets = [one for one in own if one.startswith("socket:")]
    if SUBJECTS[name].joins_once:
        return [*sockets, *(f"thread {one.name}" for one in threading.enumerate())]
    return [*sockets, *(f"thread {one}" for one in os.listdir("/proc/self/task"))]


def judge(launcher: Any, name: str, backend: str, folder: Path) -> None:
    """Plays a scenario on a backend and compares every worker's error with the scenario's description."""
    played = SCENARIOS[name]
    if SUBJECTS[backend].joins_once:
        launcher.restart_workers()
    grace_s = STOPPED_GRACE_S if "stopped" in name else GRACE_S
    ended = launcher.run(play, [name, backend, str(folder / "when")], timeout_s=LIMIT_S, grace_s=grace_s)
    times = [float(file.read_text()) for file in folder.iterdir()]
    messages = []
    for rank, (one, expected) in enumerate(zip(ended, played.errors, strict=True)):
        who = f"{name}, worker {rank}: {one}"
        assert one.error is None or one.error[0] == "Found", who
        if isinstance(expected, int):
            assert one.code == expected, who
            continue
        assert one.code is None, who
        found = json.loads(one.error[1]) if one.error is not None else one.value
        kind, text = found["error"]
        assert kind == (expected or ""), who
        assert found["left"] == [], who
        if expected in ("PeerFailed", "ReplicasDisagree", "InvalidArgument", "BackendUnavailable"):
            messages.append(text)
            assert all(part in text for part in played.said), who
            assert found["at"] - max(times, default=found["at"]) < played.late_s, who
    if played.errors[0] == "ReplicasDisagree":
        assert len(dict.fromkeys(messages)) == 1, "all messages are equal"
    assert not [file for file in os.listdir(launcher.folder) if not file.startswith("output")]
