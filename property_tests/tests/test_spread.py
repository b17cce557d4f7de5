"""Tasks on this machine and on a Ray cluster: order, retries, what is lost, and nodes that are not alike."""

import os
import secrets
import subprocess
import sys
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from simstrategy.errors import BackendUnavailable, InvalidArgument, PeerFailed
from simstrategy.peers import free_port
from simstrategy_conformance.spread import results, spread_over

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def environment():
    """Variables with which Ray listens on 127.0.0.1 alone, and leaves no file of a token."""
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    left_out = ("RAY_ADDRESS", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER")
    return {name: value for name, value in os.environ.items() if name not in left_out} | token


def run(environment, folder, code):
    """Runs a script of tasks on a cluster of its own; returns what it printed."""
    (folder / "tasks_here.py").write_text(TASKS, "utf-8")
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=200
    )
    return done.stdout, done.stderr


TASKS = """
import os, time
from pathlib import Path

def late_if_even(number):
    time.sleep(0.3 if number % 2 == 0 else 0)
    return number * number

def dies_once(mark):
    if not Path(mark).exists():
        Path(mark).touch()
        os._exit(3)
    return "came back"

def dies(number):
    if number == 1:
        os._exit(3)
    return number
"""
BEGIN = """
from pathlib import Path
import tasks_here
from simstrategy_conformance.spread import Lost, results, spread_over
from simstrategy_conformance.spread import on_ray
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_endlessly_many_arguments(jobs):
    with spread_over("here", jobs=jobs) as here:
        assert list(islice(results(here, abs, (-number for number in count())), 20)) == [*range(20)]


@pytest.mark.parametrize("place", ["", "there", "ray:", "ray://", "Ray"])
def test_a_word_that_names_no_place_is_refused(place):
    with pytest.raises(InvalidArgument, match=r"Tasks run on here, ray or ray://HOST:PORT, got"), spread_over(place):
        pass


def test_without_ray_the_error_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BackendUnavailable, match=r"pip install 'simstrategy-conformance\[ray\]'"), spread_over("ray"):
        pass


@pytest.mark.deep
def test_a_task_whose_process_ends_is_tried_again_and_one_that_always_ends_it_is_lost(environment, tmp_path):
    code = f"""{BEGIN}
with spread_over("ray", jobs=2, folder=Path.cwd()) as place:
    print([*results(place, tasks_here.late_if_even, range(6))])
    print([*results(place, tasks_here.dies_once, [{str(tmp_path / "mark")!r}])])
    first, lost, last = results(place, tasks_here.dies, range(3))
    print(first, last, isinstance(lost, Lost), lost.argument, lost.text[:38])
"""
    printed, errors = run(environment, tmp_path, code)
    # Ray's own messages come between, in their time, and some of them with an empty line.
    assert [line for line in printed.splitlines() if line.strip() and "raylet" not in line][-3:] == [
        "[0, 1, 4, 9, 16, 25]",
        "['came back']",
        "0 2 True 1 its process ended in each of 5 tries: ",
    ], printed + errors


@pytest.mark.deep
def test_a_cluster_is_reached_by_its_client_server(environment, tmp_path):
    environment = environment | {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    port = free_port("127.0.0.1")
    with TemporaryDirectory(prefix="ray") as folder:  # Ray's sockets are in it, and their paths have to be short
        command = [sys.executable, str(ROOT / "ci/campaigns/ray_nodes.py"), folder, str(port)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        with subprocess.Popen(command, env=environment, **pipes) as nodes:
            try:
                assert nodes.stdout.readline().startswith("127.0.0.1:")
                code = f"""{BEGIN}
with spread_over("ray://127.0.0.1:{port}", folder=Path.cwd()) as place:
    print(place.workers, [*results(place, tasks_here.late_if_even, range(4))])
"""
                printed, errors = run(environment, tmp_path, code)
            finally:
                nodes.stdin.close()
    assert printed.strip().splitlines()[-1:] == ["2 [0, 1, 4, 9]"], printed + errors


@pytest.mark.deep
def test_a_node_with_other_versions_is_refused_by_name(environment, tmp_path):
    code = f"""{BEGIN}
with spread_over("ray", jobs=1, folder=Path.cwd()) as place:
    place._versions |= {{"hypothesis": "1.0"}}
    [*results(place, tasks_here.dies, [0])]
"""
    _, errors = run(environment, tmp_path, code)
    last = errors.strip().splitlines()[-1]
    assert "InvalidArgument: The node" in last, errors
    assert "in place of 1.0: install the same versions on all nodes." in last


@pytest.mark.parametrize("variable", [None, "127.0.0.1:1"])
def test_a_cluster_that_does_not_answer_is_an_error(monkeypatch, variable):
    place = "ray://127.0.0.1:1"
    if variable is not None:
        monkeypatch.setenv("RAY_ADDRESS", variable)
        place = "ray"
    with pytest.raises(PeerFailed, match=r"No Ray cluster answers at (ray://)?127\.0\.0\.1:1: "), spread_over(place):
        pass


@pytest.mark.deep
def test_the_kit_on_a_cluster_writes_the_report_that_it_writes_here(environment, tmp_path):
    written = []
    for name, options in (("here", []), ("ray", ["--on", "ray"])):
        file = tmp_path / f"{name}.json"
        command = [sys.executable, "-m", "simstrategy", "conform", "template", "--profile", "quick", *options]
        command += ["--clauses", "B-9,B-11,R-2", "--seed", "3", "--json", str(file)]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=250
        )
        assert done.returncode == 0, done.stdout + done.stderr
        written.append(file.read_bytes())
    assert written[0] == written[1]
    assert b'"examples": 12' in written[0]


@pytest.mark.deep
def test_a_backend_that_breaks_a_clause_breaks_it_on_a_cluster_too(environment, tmp_path):
    (tmp_path / "acme.py").write_text(ACME, "utf-8")
    command = [sys.executable, "-m", "simstrategy", "conform", "acme:opened", "--profile", "quick"]
    command += ["--clauses", "B-8,R-2", "--on", "ray"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=250
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "acme:opened breaks B-8" in done.stdout


ACME = """
from simstrategy.device import open_backend
from simstrategy.device.wrapper import Wrapper

class Acme(Wrapper):
    def all_reduce(self, arrays, op):
        return self._inner.all_reduce(arrays[:1] + arrays[:-1], op)

def opened(*, replicas=None):
    return Acme(open_backend("sim", replicas=replicas))
"""


def test_jobs_are_refused_on_a_cluster(tmp_path):
    command = [sys.executable, "-m", "simstrategy", "conform", "sim", "--on", "ray", "--jobs", "2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "the tests run on a cluster" in done.stderr + done.stdout


@pytest.mark.deep
def test_a_campaign_whose_node_is_killed_half_way_writes_the_same_report():
    command = [sys.executable, str(ROOT / "ci/campaigns/on_cluster.py"), "--programs", "200"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the second node was killed after " in done.stdout
    assert "the report without Ray, in two processes: the same bytes" in done.stdout
