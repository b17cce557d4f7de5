"""Scripts that were written for GPUs run on the CPU with --device cpu-for-cuda; what has no meaning there is refused.

Clauses: G-9, G-42, G-43, G-66, G-67, G-106.
"""

import pytest
from on_server import run_text
from typer.testing import CliRunner

from simstrategy.cli.app import app_for

pytestmark = pytest.mark.slow

TRAINING = """
import os
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

local_rank = int(os.environ["LOCAL_RANK"])
assert torch.cuda.is_available() and torch.cuda.device_count() == 2
torch.cuda.set_device(local_rank)
device = torch.device("cuda", local_rank)
dist.init_process_group("nccl", device_id=device)
torch.manual_seed(7)
torch.cuda.manual_seed_all(7)
model = DDP(torch.nn.Linear(3, 1).cuda(), device_ids=[local_rank], output_device=local_rank)
assert isinstance(model, torch.nn.parallel.DistributedDataParallel)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rows = torch.arange(12.0).reshape(4, 3).pin_memory()[2 * local_rank : 2 * local_rank + 2]
for place in (device, "cuda", f"cuda:{local_rank}", local_rank):
    optimizer.zero_grad()
    loss = model(rows.to(place, non_blocking=True) / 10).square().mean()
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()
total = torch.zeros(2, device="cuda") + torch.ones(2, device=local_rank)
dist.all_reduce(total)
assert total.tolist() == [2.0, 2.0] and total.device.type == "cpu"
with torch.cuda.device(local_rank):
    made = torch.tensor([1, 2], device=device).cuda(non_blocking=True)
dist.barrier(device_ids=[local_rank])
if local_rank == 0:
    torch.save(model.module.state_dict(), "saved.pt")
dist.barrier()
model.module.load_state_dict(torch.load("saved.pt", map_location={"cuda:0": f"cuda:{local_rank}"}))
mesh = dist.init_device_mesh("cuda", (2,))
group = dist.new_group([0, 1], backend="nccl")
dist.all_reduce(total, group=group)
assert torch.cuda.current_device() == local_rank and torch.cuda.max_memory_allocated() == 0
made = torch.Generator(device=device).manual_seed(3)
assert isinstance(made, torch.Generator) and made.device.type == "cpu"
again = torch.Generator(device="cuda:0").manual_seed(3)
assert torch.equal(torch.randn(2, generator=made), torch.randn(2, generator=again))
weights = model.module.weight.detach()
print("result", weights.flatten().tolist(), mesh.size())
dist.destroy_process_group()
"""
BY_NUMBER = """
import os
import torch, torch.distributed as dist
from torch.distributed._tensor.device_mesh import init_device_mesh as mesh_of_old_name

rank = int(os.environ["RANK"])
assert torch.accelerator.is_available() and torch.accelerator.device_count() == 2
kind = torch.accelerator.current_accelerator()
assert kind.type == "cuda" and str(torch.device(rank)) == f"cuda:{rank}"
torch.accelerator.set_device_index(rank)
assert torch.accelerator.current_device_index() == rank == torch.cuda.current_device()
dist.init_process_group(dist.get_default_backend_for_device(kind))
layer = torch.nn.Linear(2, 1).to(rank)
layer.to(device=rank, dtype=torch.float64)
layer.to(torch.float32)
with torch.device("cuda"):
    made = torch.nn.Linear(2, 1)
side, begin, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
begin.record()
with torch.cuda.stream(side):
    batch = torch.ones(4, 2).to(rank, non_blocking=True)
torch.cuda.current_stream().wait_stream(side)
batch.record_stream(torch.cuda.current_stream())
end.record()
assert begin.elapsed_time(end) >= 0 and end.query() and torch.cuda.get_device_properties(0).total_memory > 0
meshes = [mesh_of_old_name("cuda", (2,)), dist.device_mesh.DeviceMesh("cuda", [0, 1])]
assert [mesh.device_type for mesh in meshes] == ["cpu", "cpu"]
total = layer(batch).sum().detach() * 0 + 1
dist.all_reduce(total)
print("result", [total.item(), made.weight.device.type == "cpu"])
"""
BREAKING_LAWS = """
import torch, torch.distributed as dist
dist.init_process_group("nccl")
layer = torch.nn.Linear(2, 1).cuda()
for one in layer.parameters():
    dist.broadcast(one.data, 0)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
layer(torch.ones(4, 2, device="cuda") * (1 + dist.get_rank())).square().mean().backward()
dist.all_reduce(layer.bias.grad)
optimizer.step()
total = torch.ones(2, device="cuda")
work = dist.all_reduce(total, async_op=True)
half = total.to("cuda") / 2
assert half.isnan().all()
work.wait()
assert total.tolist() == [2.0, 2.0]
"""
CHECKED = """
import torch, torch.distributed as dist
dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
torch.manual_seed(7)
layer = torch.nn.Linear(2, 1, bias=False).cuda()
model = torch.nn.parallel.DistributedDataParallel(layer, device_ids=[dist.get_rank()])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rows = torch.arange(8.0).reshape(4, 2).chunk(dist.get_world_size())[dist.get_rank()].to("cuda", non_blocking=True)
model(rows).square().mean().backward()
optimizer.step()
"""
AGREE = "All runs agree: 2 values; replicas 1, 2; law of state."
ON_CPU = """
import torch
torch.manual_seed(7)
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    (model(torch.arange(12.0).reshape(4, 3) / 10)).square().mean().backward()
    optimizer.step()
print("result", model.weight.detach().flatten().tolist())
"""


def printed(report):
    """Returns the numbers that each rank printed."""
    lines = [line for one in report.ranks for line in one.output.splitlines() if line.startswith("result")]
    return [[float(number) for number in line[line.index("[") + 1 : line.index("]")].split(",")] for line in lines]


def test_a_script_for_gpus_trains_on_cpu_tensors_as_one_process_with_the_whole_batch(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = run_text(server, tmp_path, TRAINING, device="cpu-for-cuda")
    assert (report.exit_code, report.finding) == (0, None), report
    (alone,) = printed(run_text(server, tmp_path, ON_CPU, ranks=1))
    assert [pytest.approx(alone, abs=1e-6)] * 2 == printed(report)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("torch.cuda.ExternalStream(7)", "torch.cuda.ExternalStream at script.py:2 has no meaning on CPU tensors"),
        ("torch.cuda.CUDAGraph()", "torch.cuda.CUDAGraph at script.py:2 has no meaning"),
        ("torch.cuda.graph(None)", "torch.cuda.graph at script.py:2 has no meaning"),
        ("torch.accelerator.set_device_index(3)", "torch.accelerator.set_device_index at script.py:2 got device 3"),
        ("torch.cuda.set_device(2)", "torch.cuda.set_device at script.py:2 got device 2, and 2 ranks have the devices"),
        ("torch.cuda.FloatTensor([1.0])", "torch.cuda.FloatTensor"),
    ],
)
def test_what_means_nothing_on_cpu_tensors_is_refused_by_name_and_line(server, tmp_path, line, shown):
    report = run_text(server, tmp_path, f"import torch\n{line}\n", device="cpu-for-cuda")
    assert report.exit_code == 1
    assert shown in report.finding.text + "".join(one.output for one in report.ranks)


def test_devices_by_number_and_accelerators_streams_and_meshes_are_those_of_the_cpu(server, tmp_path):
    report = run_text(server, tmp_path, BY_NUMBER, device="cpu-for-cuda")
    assert (report.exit_code, report.finding) == (0, None), report
    assert all("result [2.0, True]" in one.output for one in report.ranks)
    said = "torch.cuda.Stream at script.py:18: on the CPU all work is done in the order of the lines"
    assert [one.output.count("A missing wait between streams is not found") for one in report.ranks] == [1, 1]
    assert said in report.ranks[0].output


def test_laws_inside_one_run_are_judged_under_names_of_gpus_too(server, tmp_path):
    report = run_text(server, tmp_path, BREAKING_LAWS, device="cpu-for-cuda")
    assert (report.finding, [one.kind for one in report.broken]) == (None, ["state", "late"]), report
    assert "rank 1: all_reduce SUM float32[2] at script.py:12 is used by div at script.py:13" in report.broken[1].text


def test_torch_itself_finds_no_gpu_and_another_seed_for_gpus_is_named_as_ignored(server, tmp_path):
    body = "import torch, torch.amp\ntorch.cuda.manual_seed(9)\nassert not torch.amp.GradScaler('cuda').is_enabled()\n"
    report = run_text(server, tmp_path, body, ranks=1, device="cpu-for-cuda")
    assert report.exit_code == 0
    assert "torch.cuda.manual_seed(9) at script.py:2 is ignored" in report.ranks[0].output


STATES = """
import torch
assert torch.cuda.get_device_capability() == torch.cuda.get_device_capability("cuda:0") == (8, 0)
properties = torch.cuda.get_device_properties(0)
assert (properties.major, properties.minor) == (8, 0) and torch.cuda.is_bf16_supported()
assert torch.cuda.memory_stats() == {} and torch.cuda.memory_summary() == ""
assert torch.cuda.is_initialized() and not torch.cuda.is_current_stream_capturing()
kept = torch.get_rng_state(), torch.cuda.get_rng_state_all(), torch.cuda.random.get_rng_state()
drawn = torch.rand(3)
torch.set_rng_state(kept[0])
torch.cuda.set_rng_state_all(kept[1])
torch.cuda.random.set_rng_state(kept[2], device=0)
assert torch.equal(torch.rand(3), drawn)
torch.cuda.set_rng_state(kept[2])
"""


def test_states_of_generators_for_gpus_are_the_cpus_and_restored_with_it(server, tmp_path):
    report = run_text(server, tmp_path, STATES, ranks=1, device="cpu-for-cuda")
    assert report.exit_code == 0, report
    assert report.ranks[0].output.count("the state of CUDA's generators") == 1
    assert "that is set at script.py:14 is ignored" in report.ranks[0].output


def test_without_the_option_such_a_script_ends_with_the_remedy(server, tmp_path):
    report = run_text(server, tmp_path, "import torch\ntorch.ones(2).cuda()\n")
    assert report.exit_code == 1
    assert "leave tensors and models there, or pass --device cpu-for-cuda" in report.finding.text


@pytest.mark.deep
def test_a_check_runs_a_script_for_gpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(CHECKED)
    words = ["check", "--as", "torchrun", "--device", "cpu-for-cuda", "train.py", "--replicas", "1,2"]
    ended = CliRunner().invoke(app_for(["check"]), words)
    assert (ended.exit_code, ended.output.splitlines()[-1]) == (0, AGREE), ended.output
    refused = CliRunner().invoke(app_for(["check"]), ["check", "--device", "cpu-for-cuda", "train.py"])
    assert refused.exit_code == 2
    assert "--device is for scripts: add --as torchrun, or name backends with --backends." in refused.output
