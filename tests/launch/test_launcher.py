"""Kept workers: their jobs, how jobs end, and that no process or file is left whichever process dies.  Clauses: K-5."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jobs
import pytest

from simstrategy.errors import BackendUnavailable, InvalidArgument
from simstrategy.launch import Launcher, reserved_port
from simstrategy.launch import server as serving
from simstrategy.launch.channel import Closed

LIMIT_S = 10.0
STARTING = Path(__file__).with_name("starting.py")


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher(2) as opened:
        yield opened


def gone(processes: Sequence[int]) -> bool:
    """Waits until processes have ended; they need not be this one's children."""
    for process in processes:
        try:
            handle = os.pidfd_open(process)
        except ProcessLookupError:
            continue
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        ended = poll.poll(LIMIT_S * 1000)
        os.close(handle)
        if not ended:
            return False
    return True


@pytest.mark.slow
def test_workers_answer_in_rank_order_and_stay(launcher: Launcher) -> None:
    first, second = launcher.run(jobs.hello, [1, "ü"]), launcher.run(jobs.hello)
    assert [one.value[1:] for one in first] == [["0", 1, "ü"], ["1", 1, "ü"]]
    assert [one.output for one in second] == ["hello from 0\n", "hello from 1\n"]
    assert [one.value[0] for one in first] == [one.value[0] for one in second]
    assert all(one.ok for one in first)


@pytest.mark.slow
def test_renewed_workers_are_others(launcher: Launcher) -> None:
    first = launcher.run(jobs.hello)
    launcher.restart_workers()
    second = launcher.run(jobs.hello)
    assert not {one.value[0] for one in first} & {one.value[0] for one in second}
    assert gone([one.value[0] for one in first])


@pytest.mark.slow
def test_a_job_finds_its_place_in_the_environment_and_leaves_it_as_it_was(launcher: Launcher) -> None:
    names = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR"]
    found = launcher.run(jobs.environment, [names])
    assert [one.value for one in found] == [[rank, rank, "2", "2", "127.0.0.1"] for rank in "01"]
    launcher.run(jobs.set_variable, ["LEFT_BY_A_JOB"])
    found = launcher.run(jobs.environment, [["LEFT_BY_A_JOB", "OURS", "HOME"]], environment={"OURS": "x", "HOME": None})
    assert [one.value for one in found] == [[None, "x", None]] * 2
    assert [one.value for one in launcher.run(jobs.rank_at_import)] == ["0", "1"]


@pytest.mark.slow
def test_every_job_has_a_port_of_its_own_that_nobody_else_is_given(launcher: Launcher) -> None:
    ports = [launcher.run(jobs.environment, [["MASTER_PORT"]])[0].value[0] for _ in range(3)]
    assert all(0 < int(port) < 65536 for port in ports)
    with reserved_port() as port:
        with socket.socket() as careless, pytest.raises(OSError, match="in use"):
            careless.bind(("127.0.0.1", port))
        with socket.create_server(("127.0.0.1", port)) as server:
            assert server.getsockname()[1] == port


@pytest.mark.slow
def test_forked_workers_do_not_share_their_chance(launcher: Launcher) -> None:
    launcher.restart_workers()
    drawn = [one.value for one in launcher.run(jobs.chance)]
    assert drawn[0][0] != drawn[1][0]
    assert drawn[0][1] != drawn[1][1]


@pytest.mark.slow
def test_an_error_comes_with_its_traceback_and_the_worker_goes_on(launcher: Launcher) -> None:
    before = launcher.run(jobs.hello)
    first, second = launcher.run(jobs.fails)
    assert first.ok
    assert not second.ok
    assert second.error is not None
    assert second.error[:2] == ("KeyError", "'mine'")
    assert "jobs.py" in second.error[2]
    assert [one.value[0] for one in launcher.run(jobs.hello)] == [one.value[0] for one in before]


@pytest.mark.slow
def test_what_json_has_not_is_an_error(launcher: Launcher) -> None:
    assert [one.error and one.error[0] for one in launcher.run(jobs.nothing_json)] == ["TypeError"] * 2


@pytest.mark.slow
@pytest.mark.parametrize(("how", "code", "output"), [("exit", 7, ""), ("text", 1, "that was all\n"), ("9", -9, "")])
def test_a_worker_that_ends_is_told_and_replaced(launcher: Launcher, how: str, code: int, output: str) -> None:
    before = launcher.run(jobs.hello)
    first, second = launcher.run(jobs.ends, [how])
    assert first.ok
    assert (second.code, second.timed_out, second.output) == (code, False, output)
    after = launcher.run(jobs.hello)
    assert [one.ok for one in after] == [True, True]
    assert [a.value[0] == b.value[0] for a, b in zip(before, after, strict=True)] == [True, False]


@pytest.mark.slow
def test_a_worker_that_ended_between_jobs_is_replaced(launcher: Launcher) -> None:
    _, second = launcher.run(jobs.hello)
    os.kill(second.value[0], signal.SIGKILL)
    assert all(one.ok for one in launcher.run(jobs.hello))


@pytest.mark.slow
@pytest.mark.parametrize("job", [jobs.waits, jobs.stops_itself])
def test_late_workers_are_killed_stopped_ones_too(launcher: Launcher, job: Any) -> None:
    workers = [one.value[0] for one in launcher.run(jobs.hello)]
    ended = launcher.run(job, timeout_s=0.1)
    assert [(one.code, one.timed_out) for one in ended] == [(-9, True)] * 2
    assert gone(workers)


@pytest.mark.slow
def test_once_one_has_failed_the_others_get_a_short_time_only(launcher: Launcher) -> None:
    first, second = launcher.run(jobs.fails_or_waits, timeout_s=60.0, grace_s=0.1)
    assert (first.code, first.timed_out) == (-9, True)
    assert first.seconds < 60.0
    assert second.error is not None


@pytest.mark.slow
def test_closing_leaves_nothing_and_may_be_repeated() -> None:
    with Launcher(2) as launcher:
        children = [one.value for one in launcher.run(jobs.starts_a_process)]
        processes, folder = launcher.processes, launcher.folder
        assert folder.is_dir()
        assert folder.stat().st_mode & 0o77 == 0
    launcher.close()
    assert gone([*processes, *children])
    assert not folder.exists()
    with pytest.raises(BackendUnavailable, match="was closed"):
        launcher.run(jobs.hello)


def started_by(launcher: Launcher, job: Any, **limits: float) -> list[int]:
    """Runs a job that prints the numbers of the processes it started, and returns them."""
    ended = launcher.run(job, **limits)
    assert [one.code for one in ended] == [-9, -9]
    return [number for one in ended for number in json.loads(one.output)]


@pytest.mark.slow
def test_every_process_that_a_job_started_ends_with_the_launcher_however_it_was_started() -> None:
    with Launcher(2) as launcher:
        started = [number for one in launcher.run(jobs.starts_everything) for number in one.value]
        assert len(started) == 2 * len(jobs.STARTS)
        # They stay as long as their worker does.
        assert all(one.ok for one in launcher.run(jobs.hello))
        assert all(Path(f"/proc/{number}").exists() for number in started)
    assert gone(started)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("job", "limits"),
    [
        (jobs.starts_everything_and_ends, {}),
        (jobs.starts_everything_and_waits, {"timeout_s": 3.0}),
        (jobs.kills_its_parent, {"timeout_s": 3.0}),
    ],
    ids=["the worker ends", "the time limit", "the worker kills its parent"],
)
def test_every_process_that_a_job_started_ends_with_its_worker(
    launcher: Launcher, job: Any, limits: dict[str, float]
) -> None:
    """A worker's end is noticed at once, although a forked process has its open files, unless it killed its keeper."""
    begun = time.monotonic()
    assert gone(started_by(launcher, job, **limits))
    assert time.monotonic() - begun < LIMIT_S
    assert all(one.ok for one in launcher.run(jobs.hello))


@pytest.mark.slow
def test_what_other_workers_have_started_stays(launcher: Launcher) -> None:
    launcher.restart_workers()
    started = [one.value for one in launcher.run(jobs.starts_everything)]
    _, second = launcher.run(jobs.ends, ["9"])
    assert second.code == -9
    assert gone(started[1])
    assert all(Path(f"/proc/{number}").exists() for number in started[0])


@pytest.mark.slow
def test_a_killed_forkserver_ends_its_workers_and_is_named() -> None:
    with Launcher(2) as launcher:
        launcher.run(jobs.hello)
        processes, folder = launcher.processes, launcher.folder
        started = [number for one in launcher.run(jobs.starts_everything) for number in one.value]
        os.kill(processes[0], signal.SIGKILL)
        assert gone([*processes[1:], *started])
        with pytest.raises(BackendUnavailable, match="forkserver was killed or stopped"):
            launcher.run(jobs.hello)
    assert not folder.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "stopped"),
    [
        (signal.SIGKILL, False),
        (signal.SIGTERM, False),
        (signal.SIGINT, False),
        (signal.SIGKILL, True),
    ],
    ids=["killed", "terminated", "interrupted", "killed while workers are stopped"],
)
def test_however_the_launching_process_ends_nothing_is_left(number: int, stopped: bool) -> None:
    command = [sys.executable, str(STARTING), *(["stopped"] if stopped else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        started = json.loads(process.stdout.readline())
        process.send_signal(number)
        assert process.wait(LIMIT_S) != 0
    assert len(started["processes"]) == 3 + 2 * len(jobs.STARTS)
    assert gone(started["processes"])
    assert not Path(started["folder"]).exists()


@pytest.mark.slow
def test_a_module_that_starts_threads_is_imported_by_each_worker_itself(tmp_path: Path) -> None:
    (tmp_path / "threaded.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    before = os.environ.get("PYTHONPATH")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{before or ''}")
        with Launcher(1, preload=["threaded"]) as launcher:
            assert launcher.problem is None
            assert launcher.run(jobs.hello)[0].ok


@pytest.mark.slow
@pytest.mark.parametrize(("preload", "code"), [(["finalized"], 3), ([], 4)], ids=["preloaded", "imported"])
def test_what_an_import_leaves_for_the_end_is_of_the_process_that_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, preload: list[str], code: int
) -> None:
    (tmp_path / "finalized.py").write_text(
        "import weakref\nclass Kept: pass\nkept = Kept()\nend = weakref.finalize(kept, print)\n"
        "def main(channel, output): return 3 + end.atexit\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    server = serving.Server(preload)
    try:
        worker = server.start("finalized:main")
        with pytest.raises(Closed):
            worker.channel.receive(within_s=LIMIT_S)
        assert server.end(worker) == code
    finally:
        server.close()


@pytest.mark.slow
def test_a_module_that_cannot_be_imported_is_a_problem_of_those_who_use_it() -> None:
    with Launcher(1, preload=["no_such_module"]) as launcher:
        assert launcher.problem == "no_such_module: No module named 'no_such_module'"
        assert launcher.run(jobs.hello)[0].ok


@pytest.mark.slow
def test_a_forkserver_that_does_not_answer_is_waited_for_until_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "never_imported.py").write_text("import threading\nthreading.Event().wait()\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setattr(serving, "_ANSWER_S", 0.5)
    monkeypatch.setattr(serving, "_GRACE_S", 0.5)
    with pytest.raises(BackendUnavailable, match=r"could not start .* It did not answer within 0\.5 s"):
        Launcher(1, preload=["never_imported"])


@pytest.mark.parametrize("workers", [0, -1, True, 1.0, "2"])
def test_impossible_numbers_of_workers_are_refused(workers: Any) -> None:
    with pytest.raises(InvalidArgument, match="at least 1"):
        Launcher(workers)


@pytest.mark.slow
def test_what_cannot_be_called_elsewhere_is_refused(launcher: Launcher) -> None:
    for function in (lambda: 1, print, "jobs", "jobs:a.b"):
        with pytest.raises(InvalidArgument, match=r"top level of a file|module:name"):
            launcher.run(function)
    with pytest.raises(InvalidArgument, match="Time limits"):
        launcher.run(jobs.hello, timeout_s=0.0)
