"""The plugin and the command, each in a process of its own, as strangers use them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from shares import one_in

import simstrategy_conformance
from simstrategy_conformance.matrix.columns import column_of
from simstrategy_conformance.matrix.schema import unlike

SCHEMA = json.loads((Path(simstrategy_conformance.__file__).parent / "report.schema.json").read_text())
WRONG = """
import os, time
import simstrategy as ss
from simstrategy.device.wrapper import Wrapper

class Wrong(Wrapper):
    examined = False

    def {}:
        {}

def open_wrong(*, replicas=None):
    return Wrong(ss.backend("sim", replicas=replicas))
"""
EXCHANGE = "exchange(self, note, *, timeout_s)"
BACKEND = WRONG.format(EXCHANGE, "return (note[:7],)")
SLEEPING = WRONG.format(EXCHANGE, "time.sleep(60)")
ENDING = WRONG.format(EXCHANGE, "os._exit(3)")
UNCLOSED = WRONG.format(
    EXCHANGE,
    """Wrong.examined = True
        return self._inner.exchange(note, timeout_s=timeout_s)

    def close(self):
        if Wrong.examined:
            {}""",
)
EXCEPTION = '[[exception]]\nclause = "{}"\nkind = "missing"\nreason = "Not yet."\nlink = ""\n'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "acme.py").write_text(BACKEND)
    (tmp_path / "pytest.ini").write_text("[pytest]\nthis = is nobody's setting\n")
    return tmp_path


def conform(folder, *options, clauses="B-8,B-15", backend="acme:open_wrong", **settings):
    command = ["conform", backend, "--profile=quick", f"--clauses={clauses}", *options]
    script = Path(sys.executable).with_name("simstrategy")
    code = [str(script)] if script.exists() else [sys.executable, "-m", "simstrategy"]
    environment = {**os.environ, **settings}
    return subprocess.run(
        [*code, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def verdicts(report):
    """Returns the verdict of each clause that ran."""
    return {one["clause"]: one["verdict"] for one in report["clauses"] if one["tests"]}


@pytest.mark.slow
def test_a_broken_backend_is_told_by_clause_in_every_form_of_report(folder):
    done = conform(folder, "--json=r.json", "--markdown=r.md", "--junit=r.xml", clauses="B-8,B-15,K-1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "acme:open_wrong breaks B-15." in done.stdout
    assert "test_a_large_note_arrives_whole" in done.stdout
    assert re.search(r"A combination that fails: \(\d, \(.*b'\\x00\\x01\\x02\\x03", done.stdout)
    report = json.loads((folder / "r.json").read_text())
    assert unlike(report, SCHEMA) is None
    assert verdicts(report) == {"B-8": "passed", "B-15": "failed", "K-1": "skipped"}
    found = {one["clause"]: one for one in report["clauses"]}
    assert found["B-8"]["tests"][0]["examples"] > 10
    assert found["B-1"]["verdict"] == "not run"
    assert found["B-15"]["repeat"] == "simstrategy conform acme:open_wrong --profile quick --seed 0 --clauses B-15"
    page = (folder / "r.md").read_text()
    assert "| B-15 | failed |" in page
    (why,) = re.findall(r"^skipped: K-1 test_\w+(?:; K-1 test_\w+)*: (.+)$", done.stdout, re.MULTILINE)
    assert f"| {why} |" in page
    properties = {one.get("name") for one in Xml.parse(folder / "r.xml").iter("property")}
    assert {"clauses", "examples"} <= properties


@pytest.mark.slow
def test_a_test_that_takes_too_long_has_failed_and_shows_where_it_is(tmp_path):
    (tmp_path / "acme.py").write_text(SLEEPING)
    done = conform(tmp_path, "--limit-s=2", "--json=r.json", clauses="B-6,B-15")
    assert done.returncode == 1, done.stdout + done.stderr
    assert 'acme.py", line 10 in exchange' in done.stderr
    assert re.search(r'clauses/test_\w+\.py", line \d+ in test_\w+', done.stderr), done.stderr
    report = json.loads((tmp_path / "r.json").read_text())
    assert verdicts(report) == {"B-6": "passed", "B-15": "failed"}
    (late, _) = next(one["tests"] for one in report["clauses"] if one["clause"] == "B-15")
    assert late["failure"].startswith("The process of this test ended: it took longer than 2 s, or the backend")


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf"])
def test_a_limit_that_is_none_is_refused(tmp_path, limit):
    done = conform(tmp_path, f"--limit-s={limit}", "--json=r.json", clauses="B-15", backend="sim")
    assert done.returncode == 2
    assert f"The limit of a test is {limit} s: give one above 0" in done.stderr
    assert not (tmp_path / "r.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("is_excepted", [False, pytest.param(True, marks=pytest.mark.deep)])
def test_a_test_whose_process_the_backend_ends_has_failed(tmp_path, is_excepted):
    (tmp_path / "acme.py").write_text(ENDING)
    (tmp_path / "conformance.toml").write_text(EXCEPTION.format("B-15") if is_excepted else "")
    done = conform(tmp_path, "--jobs=2", "--json=r.json", clauses="B-6,B-15")
    assert "acme:open_wrong breaks B-15." in done.stdout or is_excepted, done.stdout + done.stderr
    report = json.loads((tmp_path / "r.json").read_text())
    assert unlike(report, SCHEMA) is None
    assert verdicts(report) == {"B-6": "passed", "B-15": "excepted" if is_excepted else "failed"}
    assert report["conforms"] is is_excepted
    alone = conform(tmp_path, clauses="B-15")
    assert alone.returncode == 2
    assert "ended this process by os._exit(3), so nothing was judged" in alone.stderr


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.deep), 2])
@pytest.mark.parametrize("mistake", one_in(3, ["raise OSError('busy')", "os._exit(3)", "time.sleep(60)"]))
def test_what_fails_where_backends_are_closed_is_no_fault_of_the_last_test(tmp_path, mistake, jobs):
    (tmp_path / "acme.py").write_text(UNCLOSED.format(mistake))
    limit = ["--limit-s=2"] if "sleep" in mistake else []
    done = conform(tmp_path, f"--jobs={jobs}", "--json=r.json", *limit, clauses="B-15")
    if jobs == 1 and "_exit" in mistake:
        assert (done.returncode, (tmp_path / "r.json").exists()) == (2, False)
        assert "ended this process by os._exit(3)" in done.stderr
        return
    assert done.returncode == 1, done.stdout + done.stderr
    report = json.loads((tmp_path / "r.json").read_text())
    assert unlike(report, SCHEMA) is None
    assert (verdicts(report), report["conforms"]) == ({"B-15": "passed"}, False)
    told = "B-16: closing what the tests have opened raised OSError." if "OSError" in mistake else "outside of tests"
    assert told in done.stdout
    assert "acme:open_wrong does not conform." in done.stdout


UNMOVED = """
import types
import simstrategy as ss
from simstrategy.device.wrapper import Wrapper

class Wrong(Wrapper):
    def __init__(self, inner):
        super().__init__(inner)
        functions = {name: getattr(inner.xp, name) for name in ss.device.NAMES}
        broken = {name: lambda x, *more, axis=None: inner.xp.positive(x) for name in ("flip", "roll")}
        self.xp = types.SimpleNamespace(**{**functions, **broken})

def open_wrong(*, replicas=None):
    return Wrong(ss.backend("sim", replicas=replicas))
"""
OF_ONE_CASE = EXCEPTION.format("B-18") + 'test = "test_an_array_function_is_numpys[{}]"\nprofiles = ["quick"]\n'


@pytest.mark.slow
@pytest.mark.parametrize("case", ["flip", *[pytest.param(one, marks=pytest.mark.deep) for one in ("sqrt", "flop")]])
def test_an_exception_of_one_case_leaves_the_others(tmp_path, case):
    (tmp_path / "acme.py").write_text(UNMOVED)
    (tmp_path / "conformance.toml").write_text(OF_ONE_CASE.format(case))
    done = conform(tmp_path, "--json=r.json", clauses="B-18")
    assert done.returncode == 1, done.stdout + done.stderr
    report = json.loads((tmp_path / "r.json").read_text())
    assert unlike(report, SCHEMA) is None
    reasons = column_of(report).cells["B-18"].reasons
    assert [one.what for one in reasons if one.what.startswith("exception")] == (
        ["exception (missing) of test_an_array_function_is_numpys[flip]"] if case == "flip" else []
    )
    tests = [one for clause in report["clauses"] if clause["clause"] == "B-18" for one in clause["tests"]]
    found = {one["name"]: one["verdict"] for one in tests}
    assert found["test_an_array_function_is_numpys[flip]"] == ("excepted" if case == "flip" else "failed")
    assert found["test_an_array_function_is_numpys[roll]"] == "failed"
    wrong = {"flip": "", "sqrt": "B-18 is excepted and passes: take the exception out", "flop": "has no case [flop]"}
    assert wrong[case] in done.stdout
    assert (
        "flip(float32[2, 3], axis=2) has to raise InvalidArgument or InvalidType, and gave float32[2, 3]" in done.stdout
    )


FORGETFUL = """
import simstrategy as ss
from simstrategy.device.wrapper import Wrapper

class Wrong(Wrapper):
    def all_reduce(self, arrays, op):
        return self._inner.all_reduce(arrays[:2] + arrays[:1] * (len(arrays) - 2), op)

def open_wrong(*, replicas=None):
    return Wrong(ss.backend("sim", replicas=replicas))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "code"), [("sim", 0), pytest.param("acme:open_wrong", 1, marks=pytest.mark.deep)])
def test_the_same_seed_gives_the_same_reports_to_the_byte_in_every_process(folder, backend, code):
    (folder / "acme.py").write_text(FORGETFUL)
    reports = []
    for number in ("1", "77"):
        files = ["--json=r.json", "--markdown=r.md"]
        done = conform(folder, *files, clauses="B-8,E-1,V-1", backend=backend, PYTHONHASHSEED=number)
        assert done.returncode == code, done.stdout + done.stderr
        reports.append([(folder / name).read_bytes() for name in ("r.json", "r.md")])
    assert reports[0] == reports[1]
    told = json.loads(reports[0][0])
    assert told["conforms"] is (code == 0)
    assert told["programs"]["collectives_median"] > 0
    if code:
        failures = [test["failure"] for one in told["clauses"] for test in one["tests"] if "failure" in test]
        assert any("3 ranks of float32[1]" in text for text in failures), failures


@pytest.mark.slow
def test_exceptions_are_strict_both_ways(folder):
    (folder / "conformance.toml").write_text(EXCEPTION.format("B-15"))
    excused = conform(folder)
    assert excused.returncode == 0, excused.stdout + excused.stderr
    assert "acme:open_wrong conforms in" in excused.stdout
    (folder / "conformance.toml").write_text(EXCEPTION.format("B-15") + EXCEPTION.format("B-8"))
    passing = conform(folder)
    assert passing.returncode == 1, passing.stdout + passing.stderr
    assert "B-8 is excepted and passes" in passing.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--profile=enormous",), "'enormous'"),
        (("--exceptions=none.toml",), "cannot be read"),
        (("--clauses=Z-1",), "no tests of Z-1"),
        (("--json=none/r.json",), "no folder to write none/r.json to"),
    ],
)
def test_what_cannot_be_run_ends_with_2(folder, options, told):
    done = conform(folder, *options)
    assert done.returncode == 2, done.stdout + done.stderr
    assert told in done.stdout + done.stderr
    assert "passed" not in done.stdout
    assert "Warning" not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_backend_that_is_not_there_is_told_in_one_line():
    done = subprocess.run(
        [sys.executable, "-m", "simstrategy", "conform", "nobody"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("BackendNotFound: No backend named 'nobody'.")


MINE = """
import numpy as np
import pytest
import simstrategy as ss

@pytest.mark.replicas(1, 3)
def test_sum(strategy):
    ctx = ss.get_replica_context
    found = strategy.run(lambda: ctx().all_reduce("SUM", np.float32(1)))
    assert float(strategy.experimental_local_results(found)[0]) == strategy.num_replicas_in_sync

def test_default(strategy):
    assert strategy.num_replicas_in_sync == 2
"""


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [(), ("-n", "2")])
def test_everyones_tests_get_strategies_of_as_many_replicas_as_they_name(tmp_path, parallel):
    (tmp_path / "test_mine.py").write_text(MINE)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *parallel]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert "3 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_the_kit_runs_in_several_processes_and_counts_in_one(folder):
    done = conform(folder, "--jobs=2", "--json=r.json")
    assert done.returncode == 1, done.stdout + done.stderr
    report = json.loads((folder / "r.json").read_text())
    assert verdicts(report) == {"B-8": "passed", "B-15": "failed"}


@pytest.mark.slow
def test_the_plugin_brings_nothing_heavy_into_a_session():
    code = (
        "import sys, pytest; before = set(sys.modules); import simstrategy_conformance.plugin; "
        "print(sorted(set(sys.modules) - before - {'faulthandler'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == "['simstrategy_conformance', 'simstrategy_conformance.plugin']"


@pytest.mark.slow
def test_a_backend_that_cannot_be_opened_does_not_conform(tmp_path):
    (tmp_path / "acme.py").write_text("def open_none(*, replicas=None):\n    raise OSError('no such device')\n")
    command = [
        "--pyargs",
        "simstrategy_conformance",
        "--simstrategy-backend=acme:open_none",
        "--simstrategy-clauses=B-8",
    ]
    code = "import sys, pytest; sys.path.insert(0, '.'); sys.exit(pytest.main(sys.argv[1:]))"
    whole = [sys.executable, "-c", code, "-q", "--tb=line", *command]
    done = subprocess.run(whole, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "acme:open_none breaks B-8." in done.stdout
