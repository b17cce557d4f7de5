"""Libraries of a script are imported once for the later runs of a check, unless a rank imports them otherwise.

Clause: G-119.
"""

import os

import pytest

from simstrategy.check.scripts import check_script
from simstrategy.check.scripts.facts import ScriptSettings
from simstrategy_torch_distributed.checking.front import runner_of
from simstrategy_torch_distributed.checking.servers import IMPORTED_MIN

SCRIPT = """
import os
import sys
BEFORE
import torch
import torch.distributed as dist
import bulky

AFTER
dist.init_process_group("gloo")
assert bulky.rank in (None, os.environ["RANK"]), bulky.rank
assert bulky.taken is None or bulky.taken == os.environ["TAKEN"]
model = torch.nn.Linear(4, 1)
for one in model.parameters():
    dist.broadcast(one.data, 0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rows = torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
loader = bulky.loader_of(torch.utils.data.TensorDataset(rows), int(sys.argv[1]))
for (part,) in loader:
    optimizer.zero_grad()
    (bulky.read_late().factor * model(part).square().mean()).backward()
    for one in model.parameters():
        dist.all_reduce(one.grad)
        one.grad /= dist.get_world_size()
    optimizer.step()
"""
LIBRARY = """
import os
import threading
import random
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler
print("a library is imported", flush=True)
with open(os.environ["IMPORTS"], "a") as file:
    file.write(f"{os.getpid()}\\n")
for number in range(MODULES):
    __import__(f"bulky.part{number}")
rank = taken = None
kept = {name: os.environ[name] for name in os.environ} | dict(os.environ)
ALSO

factor = 1.0

def read_late():
    import bulky.late
    return bulky.late

def loader_of(data, size):
    sampler = DistributedSampler(data, shuffle=False)
    return DataLoader(data, batch_sampler=BatchSampler(sampler, size, drop_last=False))
"""
OTHERWISE = {
    "reads the rank": "rank = os.environ['RANK']",
    "sets a variable": "os.environ['SET'] = '1'",
    "draws": "random.random()",
    "starts a thread": "threading.Thread(target=threading.Event().wait, daemon=True).start()",
    "reads what the script sets": "taken = os.environ.get('TAKEN', 'nothing')",
    "fails in a forkserver": "assert 'MASTER_PORT' in kept",
}


@pytest.fixture
def checked(tmp_path, monkeypatch):
    """Checks a script that imports a library; returns the report and how many processes have imported the library."""

    def checked(also="", *, modules=IMPORTED_MIN, before="", after="", runs=None):
        library = tmp_path / "site-packages" / "bulky"
        library.mkdir(parents=True)
        text = LIBRARY.replace("MODULES", str(modules)).replace("ALSO", also)
        (library / "__init__.py").write_text(text, encoding="utf-8")
        for number in range(modules):
            (library / f"part{number}.py").write_text("", encoding="utf-8")
        (library / "late.py").write_text("from bulky import factor", encoding="utf-8")
        script = tmp_path / "train.py"
        script.write_text(SCRIPT.replace("BEFORE", before).replace("AFTER", after), encoding="utf-8")
        monkeypatch.setenv("PYTHONPATH", f"{library.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        monkeypatch.setenv("IMPORTS", str(tmp_path / "imports"))
        if runs is not None:
            runner = runner_of(str(script))
            runs += [runner.run(ScriptSettings(1, ("4",), "linear")) for _ in range(2)]
            runner.close()
            return None, 0
        report = check_script(runner_of, str(script), arguments=["{4//replicas}"], replicas=(1, 2))
        return report, len({*(tmp_path / "imports").read_text(encoding="utf-8").split()})

    return checked


def test_a_library_is_imported_in_the_first_run_and_by_two_forkservers(checked, capfd):
    report, imports = checked()
    assert report.verdict == "agree", str(report)
    assert "law of coverage" in str(report)  # its batches are seen, though the class was imported before any rank began
    assert imports == 3
    assert "a library is imported" not in capfd.readouterr().out


@pytest.mark.parametrize(
    "way", [*(pytest.param(one, marks=pytest.mark.deep) for one in [*OTHERWISE][1:]), next(iter(OTHERWISE))]
)
def test_what_an_import_does_otherwise_in_a_rank_is_left_to_the_ranks(way, checked):
    report, imports = checked(OTHERWISE[way], before="os.environ['TAKEN'] = 'by the script'")
    assert report.verdict == "agree", str(report)
    assert imports > 5


def test_a_library_that_is_changed_before_another_is_imported_is_left_to_the_ranks(checked):
    """Two equal runs, without libraries that are imported already and with them, have to have the same values."""
    report, imports = checked(after="bulky.factor = 0.5")
    assert report.verdict == "agree", str(report)
    assert imports > 5


@pytest.mark.deep
def test_torchs_defaults_that_the_script_changes_leave_libraries_to_the_ranks(checked):
    report, imports = checked(after="torch.set_default_dtype(torch.float64)")
    assert report.verdict == "agree", str(report)
    assert imports > 5


def test_what_libraries_print_as_they_are_imported_is_in_each_run(checked):
    runs = []
    checked(runs=runs)
    assert [run.output.count("a library is imported") for run in runs] == [1, 1]


@pytest.mark.deep
def test_few_modules_are_left_to_the_ranks(checked):
    report, imports = checked(modules=IMPORTED_MIN - 5)
    assert report.verdict == "agree", str(report)
    assert imports > 3
