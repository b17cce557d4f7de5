"""Plays scenarios on a launcher's workers, and judges what came back and what is left.  The scenarios are elsewhere."""

import json
import os
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from scenarios import SCENARIOS, TIMEOUT_S

from simstrategy.strategy import group_of

LISTENING = "0A"
GRACE_S = 8.0
"""What the others get once one process has ended: longer than anything may take to be noticed."""
STOPPED_GRACE_S = 2.0
LIMIT_S = 20.0
SETTLED_S = 3.0
"""PyTorch tries an address that nobody answers at for as long again before its thread ends."""


class Found(Exception):
    """What a worker found, in place of a value."""


def play(name: str, file: str) -> dict[str, Any]:
    """Runs one scenario as this worker; returns how it ended, when, and what is left of it here."""
    import simstrategy as ss

    played, rank = SCENARIOS[name], int(os.environ["RANK"])
    os.environ["SCENARIO_FILE"] = f"{file}{rank}"
    warm = ss.backend("gloo", rank=0, world_size=1)
    warm.close()
    before = held()
    told: list[str] = ["", ""]
    try:
        if played.opens:
            with closing(ss.backend("gloo", timeout_s=TIMEOUT_S)) as backend:
                strategy = ss.Strategy.multi_worker(backend)
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
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - what a scenario ends with is its result
        told = [type(error).__name__, str(error)]
    at = time.monotonic()
    while (left := [one for one in held() if one not in before]) and time.monotonic() < at + SETTLED_S:
        threading.Event().wait(0.01)  # a thread that was joined may not have left the system's list yet
    found = {"error": told, "at": at, "left": left}
    if "stopped" in name:
        raise Found(json.dumps(found))  # so that the launcher does not wait for who was stopped
    return found


def held() -> list[str]:
    """Returns this process's sockets and threads by name."""
    own = []
    for descriptor in sorted(os.listdir("/proc/self/fd"), key=int):
        try:
            own.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        except FileNotFoundError:
            continue
    sockets = [one for one in own if one.startswith("socket:")]
    return [*sockets, *(f"thread {one}" for one in os.listdir("/proc/self/task"))]


def judge(launcher: Any, name: str, folder: Path) -> None:
    """Plays a scenario and asserts what its description says of every worker."""
    played = SCENARIOS[name]
    grace_s = STOPPED_GRACE_S if "stopped" in name else GRACE_S
    ended = launcher.run(play, [name, str(folder / "when")], timeout_s=LIMIT_S, grace_s=grace_s)
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
        assert len(dict.fromkeys(messages)) == 1, "all hear the same"
    assert not [file for file in os.listdir(launcher.folder) if not file.startswith("output")]
