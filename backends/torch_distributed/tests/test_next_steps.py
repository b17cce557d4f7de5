"""What the command names to do next: for a run of one rank, and for the cause of what it found."""

import json

import forks
import pytest
from commanded import LIMIT_S, torchrun

from simstrategy_torch_distributed.next_steps import ALONE, command_for_cause
from simstrategy_torch_distributed.settings import Settings

JOINED = 'import torch.distributed as dist\ndist.init_process_group("gloo")\n'
UNEQUAL = """\
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(1, 1)).sum().backward()
if dist.get_rank():
    model.module.weight.grad.zero_()
optimizer.step()
"""
UNCOVERED = """\
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
dist.init_process_group("gloo")
rows = torch.arange(8.0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for row in DataLoader(rows, batch_size=2, sampler=DistributedSampler(rows, num_replicas=2, rank=0)):
    model(row[:, None]).sum().backward()
    optimizer.step()
"""


def alone(folder, text, *options):
    """Returns exit code, the output for errors and the report's remarks of a run without a number of ranks."""
    (folder / "script.py").write_text(text)
    ended = forks.torchrun([*options, "--json", "report.json", "script.py"], folder, LIMIT_S)
    return ended.returncode, ended.stderr, json.loads((folder / "report.json").read_text())["remarks"]


@pytest.mark.slow
def test_one_rank_by_default_is_a_remark_where_the_script_has_joined_and_all_is_well(tmp_path):
    assert alone(tmp_path, JOINED) == (0, f"simstrategy: Remark: {ALONE}.\n", [ALONE])
    assert alone(tmp_path, JOINED, "--nproc-per-node", "1") == (0, "", [])
    assert alone(tmp_path, "print(1)\n") == (0, "", [])
    code, shown, remarks = alone(tmp_path, f"{JOINED}raise SystemExit(3)\n")
    assert (code, remarks) == (3, [])
    assert ALONE not in shown


@pytest.mark.slow
def test_parameters_that_are_not_equal_lead_to_the_command_that_looks_for_the_cause(tmp_path):
    run = torchrun(tmp_path, UNEQUAL, ranks=2, arguments=("--name", "{a b}"))
    assert run.code == 1
    last = run.err.splitlines()[-1]
    assert last == (
        f"To look for the cause: simstrategy check --as torchrun --replicas 1,2 {tmp_path / 'script.py'} "
        "-- --name '{{a b}}'"
    )


@pytest.mark.slow
def test_what_names_its_own_cause_leads_nowhere_else(tmp_path):
    run = torchrun(tmp_path, UNCOVERED, ranks=2)
    assert [one["kind"] for one in run.report["broken_laws"]] == ["coverage"]
    assert "To look for the cause" not in run.err


def test_the_command_for_a_cause_has_what_changes_the_run():
    settings = Settings("pack.train", is_module=True, ranks=8, device="cpu-for-cuda", order="ring")
    given = "--device cpu-for-cuda --order ring --replicas 1,8 -m pack.train"
    assert command_for_cause(settings) == f"simstrategy check --as torchrun {given}"
