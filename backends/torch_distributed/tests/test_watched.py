"""What a rank records: entries of files, values that are observed, names of parameters, and what is left out.

Clauses: G-22, G-23, G-25, G-27, G-79.
"""

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from simstrategy.check.scripts.facts import ScriptSettings
from simstrategy.cli.app import app_for
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy_torch_distributed import observe
from simstrategy_torch_distributed.checking.front import runner_of
from simstrategy_torch_distributed.checking.reading import found_in
from simstrategy_torch_distributed.watched.entries import FILE, append, read
from simstrategy_torch_distributed.watched.moving import moved, nudge


def test_entries_come_back_and_one_that_is_cut_off_is_left_out(tmp_path):
    file = tmp_path / "rank0"
    append(str(file), "step", {"step": 1}, [np.arange(6.0).reshape(2, 3), np.asarray(True)])
    append(str(file), "end", {}, [np.float32([1, 2])])
    first, last = read(file)
    assert (first.what, first.facts, last.what) == ("step", {"step": 1}, "end")
    assert [one.tolist() for one in first.arrays] == [[[0, 1, 2], [3, 4, 5]], True]
    file.write_bytes(file.read_bytes()[:-1])
    assert [one.what for one in read(file)] == ["step"]
    assert list(read(tmp_path / "none")) == []


def test_observed_values_are_those_of_each_rank_or_of_all(tmp_path, monkeypatch):
    files = [tmp_path / f"rank{rank}" for rank in range(2)]
    for rank, file in enumerate(files):
        monkeypatch.setenv(FILE, str(file))
        observe("loss", torch.tensor(0.5, requires_grad=True))
        observe("loss", 0.25)
        observe("own", np.float32([rank]))
        with pytest.raises(InvalidType, match=r"observe\('text', …\) takes a number"):
            observe("text", "hello")
        with pytest.raises(InvalidArgument, match="got the name ''"):
            observe("", 1)
    found = found_in(files, detailed=False).values
    assert [one.path for one in found] == ["observed['loss'][0]", "observed['loss'][1]", "observed['own'][0]"]
    assert [len(one.copies) for one in found] == [1, 1, 2]
    assert not any(one.is_state for one in found)


def test_parameters_that_are_too_large_are_missing_with_that_reason_unless_another_rank_has_them(tmp_path):
    """Clause: G-23: a rank of a pipeline has fewer parameters than the only rank of the reference."""
    facts = {"site": ["train.py", 3], "generators": {}, "calls": 0, "gradients": [], "terms": [], "step": 2}
    files = [tmp_path / f"rank{rank}" for rank in range(2)]
    for rank, file in enumerate(files):
        names, forms = ["mine", "last"][: 2 - rank], [{"shape": [2], "dtype": "float32"}] * (2 - rank) * rank
        step = facts | {"names": names, "after": [1] * len(names), "forms": forms}
        append(str(file), "step", step, [np.ones(2, np.float32)] * len(forms))
    found = found_in(files, detailed=False)
    assert [one.path for one in found.values] == ["after step 1['mine']"]
    assert found.missing == (("after step 1['last']", "they take more than 32 MiB"),)


def test_observe_does_nothing_without_a_check(monkeypatch):
    monkeypatch.delenv(FILE, raising=False)
    observe("", "anything")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_nudge_moves_each_number_by_one_ulp_and_keeps_zeros_and_infinities(dtype):
    given = torch.tensor([1.5, -3.0, 0.0, float("inf"), 0.1], dtype=dtype)
    for found in (moved(given, 1), given.clone()):
        if found is not given and torch.equal(found, given):
            nudge(found, 1)
        change = (found.double() - given.double()).abs()
        assert change[2] == 0
        assert torch.isinf(found[3])
        unit = torch.finfo(dtype).eps * given.double().abs()
        places = [0, 1, 4]
        assert (change[places] > 0).all()
        assert (change[places] <= unit[places] * 1.01).all()
    assert moved(torch.tensor([1, 2]), 1).tolist() == [1, 2]


SCRIPT = """
import torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (size,))
whole = distribute_tensor(torch.arange(10.0).reshape(5, 2), mesh, [Shard(0)])
sharded = torch.nn.Parameter(whole)
own = torch.nn.Parameter(torch.ones(3 + rank))
plain = torch.nn.Parameter(torch.full((2,), 1.0 + rank))
optimizer = torch.optim.SGD([sharded, own, plain], lr=1.0)
for step in range(2):
    optimizer.zero_grad()
    (sharded.full_tensor().sum() + own.sum() + plain.sum()).backward()
    optimizer.step()
"""


@pytest.mark.slow
def test_shards_are_put_together_copies_are_kept_and_names_are_numbers_without_a_module(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    runner = runner_of(str(script))
    try:
        run = runner.run(ScriptSettings(2, (), "linear"))
        nudged = runner.run(ScriptSettings(2, (), "linear", nudge=1, detailed=True))
    finally:
        runner.close()
    assert run.error is None
    values = {one.path: one for one in run.values}
    times = ("before the first step", "after step 1", "after step 2")
    assert [*values] == [f"{time}['parameter {number}']" for time in times for number in range(3)]
    (whole,) = values["before the first step['parameter 0']"].copies
    assert whole.tolist() == np.arange(10.0).reshape(5, 2).tolist()
    assert [len(one) for one in values["after step 2['parameter 1']"].copies] == [3, 4]
    assert [one.tolist() for one in values["after step 2['parameter 2']"].copies] == [[-1, -1], [0, 0]]
    assert [one.number for one in nudged.steps] == [1, 2]
    (gradient,) = {leaves[0].shape for leaves in nudged.steps[0].gradients}
    assert gradient == (5, 2)


@pytest.mark.slow
@pytest.mark.deep
def test_a_module_is_checked_as_torchrun_runs_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "parts.py").write_text("RATE = 0.5\n")
    (package / "train.py").write_text(MODULE)
    ended = CliRunner().invoke(
        app_for(["check"]), ["check", "--as", "torchrun", "-m", "package.train", "--replicas", "1,2"]
    )
    assert ended.exit_code == 0, ended.output
    assert "check of package.train" in ended.output
    wrong = CliRunner().invoke(
        app_for(["check"]), ["check", "--as", "torchrun", "-m", "package.none", "--replicas", "2"]
    )
    assert wrong.exit_code == 1
    assert "No module named package.none" in wrong.output


MODULE = """\
import torch
import torch.distributed as dist
from .parts import RATE

dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
torch.nn.init.ones_(model.weight)
optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
"""
