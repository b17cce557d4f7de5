"""Values that follow from numbers that each rank draws for itself are not judged, and no others are left out.

Clause: G-39.
"""

import random

import numpy as np
import pytest
import torch
from shares import one_in

from simstrategy.check.scripts import check_script
from simstrategy_torch_distributed.checking.front import runner_of
from simstrategy_torch_distributed.watched import seeds

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_checks")]

SCRIPT = """
import random
import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
rows = torch.randn(48, 8, generator=torch.Generator().manual_seed(4))
net = torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
model = DistributedDataParallel(net)
SEED
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for part in rows.chunk(4):
    part = part.chunk(size)[rank]
    noise = DRAW
    optimizer.zero_grad()
    loss = (model(part + 0.1 * noise) - part.sum(1, keepdim=True)).square().mean()
    (loss FACTOR).backward()
    optimizer.step()
"""
OWN = {
    "torch": ("torch.manual_seed(9 + rank)", "torch.randn(part.shape)", "torch.manual_seed"),
    "generator": (
        "own = torch.Generator().manual_seed(9 + rank)",
        "torch.randn(part.shape, generator=own)",
        "torch.Generator",
    ),
    "python": ("random.seed(9 + rank)", "random.gauss(0, 1)", "random.seed"),
    "python_by_name": ("random.seed(a=9 + rank)", "random.gauss(0, 1)", "random.seed"),
    "python_object": ("own = random.Random(f'{rank} of {size}')", "own.gauss(0, 1)", "random.Random"),
    "numpy": ("np.random.seed(9 + rank)", "torch.tensor(np.random.randn(*part.shape)).float()", "numpy.random.seed"),
    "numpy_object": (
        "own = np.random.default_rng([9, rank])",
        "torch.tensor(own.standard_normal(part.shape)).float()",
        "numpy.random.default_rng",
    ),
    "numpy_child": (
        "own = np.random.Generator(np.random.PCG64(np.random.SeedSequence(9).spawn(size)[rank]))",
        "own.normal()",
        "numpy.random.PCG64",
    ),
    "numpy_state": ("own = np.random.RandomState(seed=9 + rank)", "own.randn()", "numpy.random.RandomState"),
    "no_seed": ("", "np.random.randn()", "the global generator of NumPy"),
    "before": (
        "own = random.choices(range(9), k=4)",
        "own.pop()",
        "the global generator of Python, which no line seeds",
    ),
}
"""What each rank seeds, what it draws, and what a report names."""
SHARED = {
    "of_rows": (
        "own = np.random.default_rng(5)",
        "torch.tensor(own.standard_normal((12, 8))).float().chunk(size)[rank]",
    ),
    "of_all": ("own = torch.Generator().manual_seed(5)", "torch.randn(8, generator=own)"),
    "seeded_again": ("", "torch.randn(8, generator=torch.Generator().manual_seed(5))"),
    "not_drawn": ("np.random.seed(rank); random.seed(rank); torch.manual_seed(rank)", "0"),
}
"""Draws that are equal on all ranks, or none: every run has the same batches."""


def checked(folder, seed, draw, factor=""):
    text = SCRIPT.replace("SEED", seed).replace("DRAW", draw).replace("FACTOR", factor)
    (folder / "script.py").write_text(text, encoding="utf-8")
    return check_script(runner_of, str(folder / "script.py"), arguments=[], replicas=(1, 2))


@pytest.mark.parametrize("name", one_in(3, OWN))
def test_noise_of_each_rank_is_not_judged_and_its_source_is_named(name, tmp_path):
    seed, draw, source = OWN[name]
    report = checked(tmp_path, seed, draw)
    assert report.verdict == "undecided", str(report)
    assert "it depends on numbers that each replica draws for itself" in str(report)
    line = "" if source.startswith("the global") else f" at script.py:{1 + SCRIPT.splitlines().index('SEED')}"
    assert f"'{source}{line}" in str(report)


@pytest.mark.parametrize("name", one_in(2, SHARED))
def test_draws_that_are_equal_on_all_ranks_hide_nothing(name, tmp_path):
    assert checked(tmp_path, *SHARED[name]).verdict == "agree"
    report = checked(tmp_path, *SHARED[name], "/ size")
    assert report.verdict == "differ", str(report)
    assert [str(one.kind) for one in report.findings] == ["divided by the number of replicas once too often"]


def test_parameters_that_begin_unequal_are_no_noise(tmp_path):
    """The ranks seed the model itself, and nothing makes it equal."""
    text = SCRIPT.replace("DistributedDataParallel(net)", "net").replace("manual_seed(0)", "manual_seed(rank)")
    reduced = "for one in net.parameters():\n        dist.all_reduce(one.grad, dist.ReduceOp.AVG)\n    optimizer.step()"
    text = text.replace("optimizer.step()", reduced)
    (tmp_path / "script.py").write_text(text.replace("SEED", "").replace("DRAW", "0").replace("FACTOR", ""))
    report = check_script(runner_of, str(tmp_path / "script.py"), arguments=[], replicas=(1, 2))
    assert report.verdict == "differ", str(report)
    assert [str(one.kind) for one in report.findings] == ["different draws"]
    (cause,) = [one.cause for one in report.findings]
    assert "Seeded with other numbers on each replica: torch.manual_seed at script.py:10." in cause, cause
    assert "it may begin with" not in cause, cause


@pytest.mark.parametrize(
    "seed",
    [
        *(3, -3, True, 2**40, np.int64(3), torch.tensor(3), [3, 4], (3, 4), np.array([3, 4]), 0.5, "a"),
        np.random.SeedSequence(3),
        np.random.SeedSequence(3).spawn(2)[1],
    ],
    ids=lambda seed: type(seed).__name__,
)
def test_a_moved_seed_is_another_one_of_the_same_use(seed):
    moved = seeds._moved(seed, 7919)
    assert seeds._text_of(moved) != seeds._text_of(seed)
    if isinstance(seed, (float, str)):
        assert random.Random(moved).random() != random.Random(seed).random()
    elif isinstance(seed, torch.Tensor) or (isinstance(seed, int) and seed < 0):
        assert torch.Generator().manual_seed(moved).initial_seed() != int(seed)
    else:
        assert np.random.default_rng(moved).random() != np.random.default_rng(seed).random()


@pytest.mark.parametrize(
    "seed", [None, b"x", object(), [], np.random.SeedSequence([1, 2])], ids=lambda seed: type(seed).__name__
)
def test_a_seed_of_another_form_stays(seed):
    assert seeds._moved(seed, 7919) is seed
