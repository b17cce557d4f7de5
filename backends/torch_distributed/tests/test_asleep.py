"""Waits outside of calls: those that no rank can end any more end the run, others do not.

Clauses: G-51, G-60, G-61, G-62.
"""

import time

import pytest
from on_server import BEGIN, run_text
from shares import one_in

pytestmark = pytest.mark.slow

WAITS = """
if rank == 0:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()
elif rank == 1:
    dist.distributed_c10d._get_default_store().get("never")
elif rank == 2:
    torch.futures.Future().wait()
dist.barrier()
"""


def test_ranks_that_wait_for_a_lock_a_key_and_a_future_end_the_run_with_their_lines(server, tmp_path, capsys):
    report = run_text(server, tmp_path, BEGIN + WAITS, ranks=4)
    assert report.exit_code == 1
    assert report.finding.kind == "blocked"
    assert report.finding.lines == (
        "rank 0: waits for a lock, a condition or a future at script.py:9",
        "rank 1: waits for a key of the store at script.py:11",
        "rank 2: waits for a lock, a condition or a future at script.py:13",
        "rank 3: waits in barrier at script.py:14 for ranks 0, 1, 2",
    )
    shown = capsys.readouterr().err
    assert shown.count("It is at:\n") == 3
    assert "forkserver" not in shown


GRADIENTS = """
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
for step in range(2 + (rank == 0)):
    model(torch.ones(1, 2)).sum().backward()
"""


def test_a_future_that_ddp_awaits_in_c_is_named_with_its_call_and_the_rank_that_lacks(server, tmp_path, capsys):
    report = run_text(server, tmp_path, BEGIN + GRADIENTS)
    shown = capsys.readouterr().err
    assert shown.count("Current thread") == 1
    assert "\nThread " not in shown  # those that exchange the rank's messages
    waits = "rank 0: waits for a lock, a condition or a future at script.py:8"
    assert report.finding.lines == (
        f"{waits}; not complete is all_reduce SUM float32[3] at script.py:8, which lacks rank 1",
        "rank 1: has ended",
    )


ELSEWHERE = """\
import os, torch.distributed as dist
dist.init_process_group("gloo", "tcp://127.0.0.1:1", rank=int(os.environ["RANK"]), world_size=2)
"""


def test_ranks_that_wait_for_another_store_are_shown_once_and_end_at_the_limit(server, tmp_path, capsys):
    report = run_text(server, tmp_path, ELSEWHERE, busy_s=0.5, limit_s=1.5)
    assert (report.exit_code, report.finding.kind) == (1, "overdue")
    assert report.finding.lines[0] == "rank 0: neither waits nor has ended at script.py:2"
    shown = capsys.readouterr().err
    assert shown.count("has neither called nor ended for 0.5 s. It is at:\n") == 2
    assert shown.count("has neither called nor ended for 1.5 s. It is at:\n") == 1
    assert "rank 1 waits for the store that its init_process_group names" in shown
    assert "leave it out: the environment has the address" in shown


LOCK = "lock = threading.Lock()\nlock.acquire()\n"
SOCKETS = "import socket\none, two = socket.socketpair()\n"
STORE = "store = dist.distributed_c10d._get_default_store()\nfrom datetime import timedelta\n"
ENDING = {
    "time": "time.sleep(5)",
    "process": "os.waitpid(os.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', '5'), 0)",
    "timed lock": LOCK + "lock.acquire(timeout=5)",
    "timer": LOCK + "threading.Timer(5, lock.release).start()\nlock.acquire()",
    "timed key": STORE + "try:\n    store.wait(['no'], timedelta(seconds=5))\nexcept dist.DistStoreError:\n    pass",
    "socket": SOCKETS + "os.fork() or (time.sleep(5), two.send(b'x'), os._exit(0))\none.recv(1)",
    "alarm": LOCK + "import signal\nsignal.signal(14, lambda *_: lock.release())\nsignal.alarm(5)\nlock.acquire()",
}
"""What rank 0 waits for, by a name, each longer than a rank has to sleep before it is looked at."""


@pytest.mark.parametrize("name", one_in(3, ENDING))
def test_a_wait_that_something_else_will_end_is_not_accused(server, tmp_path, name):
    lines = ENDING[name].replace("\n", "\n    ")
    report = run_text(server, tmp_path, f"{BEGIN}if rank == 0:\n    {lines}\ndist.barrier()\n")
    assert (report.exit_code, report.finding) == (0, None)


def test_a_rank_that_is_silent_for_longer_than_the_limit_ends_the_run_at_its_line(server, tmp_path, capsys):
    began = time.monotonic()
    report = run_text(server, tmp_path, f"{BEGIN}while rank == 1:\n    pass\ndist.barrier()\n", limit_s=2.0)
    assert report.finding.kind == "overdue"
    assert report.finding.text.startswith("Rank 1 has neither called nor ended for 2 s, the limit of --limit-seconds.")
    assert report.finding.lines[1].startswith("rank 1: neither waits nor has ended at script.py:")
    assert time.monotonic() > began + 2.0
    assert "rank 1 has neither called nor ended for 2 s. It is at:" in capsys.readouterr().err


def test_a_rank_that_calls_again_and_again_is_not_silent(server, tmp_path):
    """It is the last to call each time, so it never waits for long."""
    body = "for _ in range(8):\n    time.sleep(0.5 * rank)\n    dist.barrier()\n"
    report = run_text(server, tmp_path, BEGIN + body, limit_s=2.5)
    assert (report.exit_code, report.finding) == (0, None)
