"""Scripts checked as they are: mistakes are found with step, parameter and line; lawful ones are not accused.

Clauses: G-20 to G-28, G-39.
"""

import pytest
from judged_scripts import accusations, faults, is_slow, judged, name_of, report_of
from shares import one_in

from simstrategy.check.scripts import check_script
from simstrategy_corpus.cases import PROGRAMS
from simstrategy_torch_distributed.checking.front import runner_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_checks")]


WRONG, LAWFUL = judged(wrong=True), judged(wrong=False)


@pytest.mark.parametrize("script", one_in(4, WRONG, deep=filter(is_slow, WRONG)), ids=name_of)
def test_a_mistake_is_found_with_its_step_parameter_and_line(script):
    report = report_of(script)
    assert faults(script, report) == [], str(report)


@pytest.mark.parametrize("script", one_in(4, LAWFUL, deep=filter(is_slow, LAWFUL)), ids=name_of)
def test_a_lawful_script_agrees_and_something_was_compared(script):
    report = report_of(script)
    assert accusations(script, report) == [], str(report)


DRAWN_BEFORE = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rows = torch.arange(24.0).reshape(12, 2).chunk(dist.get_world_size())[dist.get_rank()] / 24
for step in range(3):
    optimizer.zero_grad()
    model(torch.nn.functional.dropout(rows)).square().mean().backward()
    optimizer.step()
"""


def test_numbers_that_each_rank_draws_before_a_module_is_called_are_not_judged(tmp_path):
    """Clause: G-39."""
    (tmp_path / "drawn.py").write_text(DRAWN_BEFORE, encoding="utf-8")
    report = check_script(runner_of, str(tmp_path / "drawn.py"), arguments=[], replicas=(2, 3))
    assert report.verdict == "undecided", str(report)
    assert "each replica draws numbers of its own" in str(report)


OF_TEXTS = """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(0)
rows = TensorDataset(torch.randn(12, 3))
model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
named = dict(model.named_parameters())
sampler = DistributedSampler(rows, seed=SEED)
for (part,) in DataLoader(rows, batch_size=12 // dist.get_world_size(), sampler=sampler):
    optimizer.zero_grad()
    model(part).square().mean().backward()
    for name in NAMES:
        dist.all_reduce(named[name].grad)
        named[name].grad /= dist.get_world_size()
    optimizer.step()
dist.destroy_process_group()
"""


@pytest.mark.parametrize(
    ("seed", "names", "found"),
    [
        ("0", "sorted({*named})", ""),
        ("0", "{*named}", "Ranks make different collective calls here"),
        pytest.param("hash('experiment') % 1000", "named", "samples are drawn by no rank", marks=pytest.mark.deep),
    ],
    ids=["sorted", "set", "seed"],
)
def test_what_depends_on_hashes_of_texts_differs_between_ranks_as_between_processes(seed, names, found, tmp_path):
    """Clause: G-53."""
    file = tmp_path / "texts.py"
    file.write_text(OF_TEXTS.replace("SEED", seed).replace("NAMES", names), encoding="utf-8")
    reports = [str(check_script(runner_of, str(file), arguments=[], replicas=(1, 2))) for _ in range(2)]
    assert reports[0] == reports[1]
    assert ("All runs agree" in reports[0]) == (not found)
    assert found in reports[0]


OBSERVED = """
import torch
import torch.distributed as dist
from simstrategy_torch_distributed import observe

dist.init_process_group("gloo")
torch.manual_seed(0)
rows = torch.randn(12, 2).chunk(dist.get_world_size())[dist.get_rank()]
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(rows).square().mean()
loss.backward()
for parameter in model.parameters():
    dist.all_reduce(parameter.grad)
    parameter.grad /= dist.get_world_size()
optimizer.step()
total = loss.detach().clone()
dist.all_reduce(total)
observe("seen", SEEN)
"""


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        ("total / dist.get_world_size()", "agree"),
        ("model(rows)", "agree"),
        ("loss", "undecided"),
        ("loss.reshape(1)", "undecided"),
    ],
    ids=["reduced", "rows", "number", "one row"],
)
def test_an_observed_number_that_ranks_do_not_have_in_common_is_not_judged(seen, verdict, tmp_path):
    """Clause: G-25."""
    (tmp_path / "observed.py").write_text(OBSERVED.replace("SEEN", seen), encoding="utf-8")
    report = check_script(runner_of, str(tmp_path / "observed.py"), arguments=[], replicas=(1, 2, 3))
    assert report.verdict == verdict, str(report)
    why = "NOT JUDGED: each replica has a value of its own"
    assert (why in str(report)) == (verdict == "undecided")


OWN_CLASSES = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

class Rate(torch.optim.lr_scheduler.LRScheduler):
    def __init__(self, optimizer, factor):
        self.factor = factor
        super().__init__(optimizer)
    def get_lr(self):
        return [group["lr"] * self.factor for group in self.optimizer.param_groups]

class Descent(torch.optim.SGD):
    def __init__(self, parameters, rate):
        rate = rate * 1.0
        super().__init__(parameters, lr=rate)

class Parallel(DistributedDataParallel):
    def __init__(self, module):
        self.number = 1
        super().__init__(module)

class Sampler(DistributedSampler):
    def __init__(self, dataset):
        self.number = 1
        super().__init__(dataset, shuffle=False)

dist.init_process_group("gloo")
torch.manual_seed(0)
rows = TensorDataset(torch.randn(12, 3))
model = Parallel(torch.nn.Linear(3, 2))
optimizer = Descent(model.parameters(), 0.1)
rate = Rate(optimizer, 0.9)
for (part,) in DataLoader(rows, batch_size=6 // dist.get_world_size(), sampler=Sampler(rows)):
    optimizer.zero_grad()
    loss = model(part).square().mean() / dist.get_world_size()
    loss.backward()
    optimizer.step()
    rate.step()
dist.destroy_process_group()
"""


def test_classes_of_the_script_that_are_made_from_torchs_hide_no_cause(tmp_path):
    """While such an object is made it has no attributes yet.  Clause: G-28."""
    file = tmp_path / "own_classes.py"
    file.write_text(OWN_CLASSES, encoding="utf-8")
    report = check_script(runner_of, str(file), arguments=[], replicas=(1, 2))
    (finding,) = report.findings
    assert finding.kind == "divided by the number of replicas once too often", str(report)
    assert "In the script it begins with 'loss'" in str(report)


SAMPLED = """
import sys
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(0)
rows = torch.randn(24, 4, generator=torch.Generator().manual_seed(1))
sampler = DistributedSampler(TensorDataset(rows), shuffle=True, seed=2)
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for (part,) in DataLoader(TensorDataset(rows), batch_size=int(sys.argv[1]), sampler=sampler):
    optimizer.zero_grad()
    for small in part.chunk(2):
        loss = model(small).square().mean() / dist.get_world_size() / 2
        (loss + DECAY).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
"""
DECAYING = "0.05 * sum(one.square().sum() for one in model.parameters())"


@pytest.mark.parametrize("decay", one_in(2, ["0", DECAYING]))
def test_ranks_with_a_batch_size_of_their_own_are_not_judged_unless_an_argument_states_one_batch(decay, tmp_path):
    """Clauses: G-39, J-27."""
    file = tmp_path / "sampled.py"
    file.write_text(SAMPLED.replace("DECAY", decay), encoding="utf-8")
    alone = check_script(runner_of, str(file), arguments=["4"], replicas=(1, 2))
    assert alone.verdict == "undecided", str(alone)
    assert "the runs have other global batches" in str(alone)
    report = check_script(runner_of, str(file), arguments=["{12//replicas}"], replicas=(1, 2, 3))
    if decay == "0":
        assert report.verdict == "agree", str(report)
        return
    causes = [row.cause for row in report.findings]
    assert all("The kind is added on every replica" in cause for cause in causes), causes
    assert "2 times 0.2 × the variable itself besides" in causes[1]


def test_a_sum_that_is_made_after_each_micro_batch_is_named_with_its_line(tmp_path):
    """Clause: G-36."""
    of_loop = ("    for parameter", "        dist.all_reduce")
    inside = "\n".join(f"    {line}" if line.startswith(of_loop) else line for line in SAMPLED.splitlines())
    (tmp_path / "again.py").write_text(inside.replace("DECAY", "0"), encoding="utf-8")
    report = check_script(runner_of, str(tmp_path / "again.py"), arguments=["{12//replicas}"], replicas=(1, 2, 3))
    line = 1 + inside.splitlines().index("            dist.all_reduce(parameter.grad)")
    texts = [f"all_reduce at again.py:{line} is made 2 times before the update", "counts {} times then"]
    for count, row in zip((2, 3), report.findings, strict=True):
        assert "The kind is combined again" in row.cause, row.cause
        assert all(text.format(count) in row.cause for text in texts), row.cause


def test_numbers_that_each_rank_draws_are_not_judged():
    """Dropout differs on each rank, as it should, and so do the runs.  Clause: G-39."""
    file = PROGRAMS / "healthy" / "dropout_per_rank" / "program.py"
    report = check_script(runner_of, str(file), arguments=[], replicas=(2, 3), same_output="^result ")
    assert report.verdict == "undecided", str(report)
    assert "each replica draws numbers of its own" in str(report)


def test_seeds_of_epochs_that_some_ranks_begin_earlier_are_no_draws_of_their_own():
    """Ranks shuffle by the same seeds, and some of them more often: what differs is judged.  Clause: G-39."""
    file = PROGRAMS / "bugs" / "megatron_bridge_5944" / "wrong.py"
    report = check_script(runner_of, str(file), arguments=[], replicas=(1, 3), same_output="^result ")
    assert [one.kind for one in report.findings] == ["duplicated samples"], str(report)


def test_ranks_that_join_early_and_make_more_steps_with_more_ranks_are_not_accused():
    """Clause: G-39."""
    file = PROGRAMS / "healthy" / "uneven_inputs_joined" / "program.py"
    report = check_script(runner_of, str(file), arguments=[], replicas=(2, 3), same_output="^result ")
    assert report.verdict == "undecided", str(report)
    assert "with 2 replicas there are 4 steps, and with 3 replicas 5" in str(report)


BETWEEN = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
HOOK
model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
rows = torch.randn(24, 4, generator=torch.Generator().manual_seed(1))
for step in range(3):
    part = rows[8 * step : 8 * step + 8][rank::size]
    loss = (model(part) - part.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"loss {loss.item():.4f}")
"""
REDUCED_BY_MAX = """
import torch
import torch.distributed as dist
from simstrategy_torch_distributed import observe

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
rows = torch.randn(30, generator=torch.Generator().manual_seed(4))
worst = torch.tensor(0.0)
for part in rows[rank::size].split(4):
    worst = torch.maximum(worst, part.abs().max())
part = rows[rank::size] ** 3
share = part.sum() / len(part)
dist.all_reduce(share)
share /= size
dist.all_reduce(worst, op=dist.ReduceOp.MAX)
observe("share", share)
observe("worst", worst)
"""


def test_a_value_that_is_reduced_by_max_is_not_accused_of_what_another_one_does(tmp_path):
    script = tmp_path / "metric.py"
    script.write_text(REDUCED_BY_MAX)
    (first, *_) = check_script(runner_of, str(script), replicas=(1, 4)).findings
    assert (first.kind, first.site) == ("mean of means", "metric.py:13"), str(first)


ROUNDED = "model.weight.register_hook(lambda gradient: gradient.round(decimals=1))"


@pytest.mark.parametrize(
    ("hook", "rate", "text"),
    [
        (
            ROUNDED,
            "0.1",
            "The loss of this step agrees, taken as the mean or the sum over its replicas, and its gradients do not",
        ),
        ("", "0.1 * size", "Set it as it is with one replica"),
    ],
    ids=["gradient", "rate"],
)
def test_the_loss_of_each_replica_is_not_accused_of_what_its_gradients_or_the_rate_do(tmp_path, hook, rate, text):
    script = tmp_path / "between.py"
    script.write_text(BETWEEN.replace("HOOK", hook).replace("RATE", rate))
    report = check_script(runner_of, str(script), replicas=(1, 2))
    assert report.verdict == "differ", str(report)
    assert text in str(report)
    assert "missing reduction" not in str(report)


FITTED = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rows = torch.randn(24, 4, generator=torch.Generator().manual_seed(1))
rows = rows * torch.linspace(0.1, 4, 24)[:, None]
own = rows[rank::size]
mean, deviation = own.mean(0), own.std(0)
for step in range(3):
    part = (own - mean) / deviation
    loss = (model(part) - own.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_beside_a_loss_of_no_known_kind_stands_the_value_before_it_that_may_begin_it(tmp_path):
    (tmp_path / "fitted.py").write_text(FITTED, encoding="utf-8")
    report = check_script(runner_of, str(tmp_path / "fitted.py"), arguments=[], replicas=(1, 2))
    (found, *_) = report.findings
    assert found.kind is None, str(report)
    assert "In the script 'deviation' at fitted.py:14 is neither the reference's value" in found.cause, found.cause
    assert "it may begin there. It shows with 'loss' at fitted.py:17" in found.cause, found.cause
    assert (found.earlier, found.source) == ("fitted.py:14", "fitted.py:17")


CONTRASTIVE = """
import torch
import torch.distributed as dist
import torch.distributed.nn.functional as with_gradients
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
module = torch.nn.Linear(4, 3)
HOOK
model = DistributedDataParallel(module)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
rows = torch.randn(24, 4, generator=torch.Generator().manual_seed(1))


def gathered(part):
    parts = [torch.empty_like(part) for _ in range(size)]
    GATHER
    return torch.cat(parts)


for step in range(3):
    own = rows[8 * step : 8 * step + 8].chunk(size)[rank]
    part = model(own)
    labels = torch.arange(len(part)) + rank * len(part)
    loss = cross_entropy(part @ gathered(part).T, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ALONE = "dist.all_gather(parts, part); parts[rank] = part"


@pytest.mark.parametrize(
    ("hook", "gather", "is_named"),
    [
        ("", ALONE, True),
        (ROUNDED.replace("model", "module"), "parts = with_gradients.all_gather(part)", False),
    ],
    ids=["without", "with"],
)
def test_a_gather_that_passes_no_gradient_on_is_named_and_one_that_does_is_not(tmp_path, hook, gather, is_named):
    script = tmp_path / "pairs.py"
    script.write_text(CONTRASTIVE.replace("HOOK", hook).replace("GATHER", gather))
    (found, *_) = check_script(runner_of, str(script), replicas=(1, 2)).findings
    assert "what differs is between them" in found.cause, found.cause
    assert ("all_gather at pairs.py:20 (called from pairs.py:28) is called with" in found.cause) is is_named, (
        found.cause
    )
    assert (found.source == "pairs.py:20") is is_named
