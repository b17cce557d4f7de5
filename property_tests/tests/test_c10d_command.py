"""The command `simstrategy conform c10d:NAME`, as a vendor calls it: codes, words and files; and the vendors' page."""

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from simstrategy_conformance.c10d.subject import C10dSubject
from simstrategy_conformance.exceptions import exceptions_of
from simstrategy_conformance.index import by_clause, entries, failure_of
from simstrategy_conformance.profiles import Profile

dist = pytest.importorskip("torch.distributed")
pytestmark = pytest.mark.slow

VENDOR = Path(__file__).parent / "c10d_vendor"
PAGE = Path(__file__).parent.parent.parent / "docs" / "vendors.md"


def conform(name: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "simstrategy", "conform", name, "--profile=quick", *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    return subprocess.run(
        command, cwd=VENDOR, env=environment, capture_output=True, text=True, check=False, timeout=200
    )


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("c10d:nonsense", "torch .* has no backend 'nonsense'; here it has gloo"),
    ],
)
def test_what_cannot_be_examined_ends_with_code_2_and_the_reason(name: str, words: str) -> None:
    done = conform(name)
    assert done.returncode == 2, done.stdout + done.stderr
    assert re.search(words, done.stdout + done.stderr)
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.deep
def test_a_fault_ends_with_code_1_and_a_report_that_states_what_did_the_work(tmp_path: Path) -> None:
    files = [f"--json={tmp_path / 'r.json'}", f"--markdown={tmp_path / 'r.md'}"]
    done = conform("c10d:fake", "--clauses=W-1,W-2,W-13", *files)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "c10d:fake breaks W-13." in done.stdout
    assert re.search(r"barrier, rank \d of \d: left before rank \d had entered", done.stdout)
    report = json.loads((tmp_path / "r.json").read_text())
    notes = {one["kind"]: one["text"] for one in report["notes"]}
    assert "FakeProcessGroup" in notes["done by"]
    assert notes["tried"] == "worlds of 1, 2, 3, 5 ranks"
    assert "| done by |" in (tmp_path / "r.md").read_text()


@pytest.fixture
def acme(tmp_path: Path) -> Iterator[Path]:
    """Returns the file of the page's backend, in a folder from which ranks import."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "acme.py").write_text(block)
    sys.path.insert(0, str(tmp_path))
    yield tmp_path / "acme.py"
    sys.path.remove(str(tmp_path))


@pytest.mark.deep
def test_the_backend_of_the_vendors_page_is_wrong_as_the_page_has_it(acme: Path) -> None:
    tests = {entry.name: entry for entry in entries("c10d:acme:acme")}
    few = Profile("few", 2, replicas_max=4, triples=False)
    found = []
    for text in (acme.read_text(), acme.read_text().replace("[:2])", ")")):
        acme.write_text(text)
        subject = C10dSubject("c10d:acme:acme", profile=few, limit_s=8.0)
        found.append(failure_of(tests["test_all_reduce"], subject))
        assert failure_of(tests["test_broadcast"], subject) is None
        subject.close()
    assert "Row(ranks=3" in " ".join(found[0].__notes__)  # type: ignore[union-attr]  # of an error
    assert found[1] is None


def test_a_backend_without_sends_is_not_accused_of_them(acme: Path) -> None:
    tests = {entry.name: entry for entry in entries("c10d:acme:acme")}
    acme.write_text(acme.read_text().replace("[:2])", ")"))
    subject = C10dSubject("c10d:acme:acme", profile=Profile("few", 2, replicas_max=3, triples=False), limit_s=8.0)
    sends = [entry for name, entry in tests.items() if "W-11" in entry.clauses]
    assert sends
    assert [failure_of(entry, subject) for entry in sends] == [None] * len(sends)
    subject.close()


def test_exceptions_of_backends_of_torch_name_tests_of_the_kit() -> None:
    found = exceptions_of("c10d:gloo", by_clause("c10d:gloo"))
    assert {one.clause for one in found} == {"W-8", "W-14", "W-16"}
    assert exceptions_of("c10d:nccl", by_clause("c10d:nccl")) == ()
    assert exceptions_of("c10d:json:acme", by_clause("c10d:acme")) == ()


def test_the_pages_methods_of_a_group_are_those_that_torch_calls() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("| call | method of the group |")[2].partition("\n\n")[0]
    rows = [re.findall(r"`(\w+)`", line) for line in table.splitlines()[2:]]
    assert len(rows) == 16
    for call, *_, method in rows:
        assert re.search(rf"group\.{method}\(", inspect.getsource(vars(dist)[call])), (call, method)
