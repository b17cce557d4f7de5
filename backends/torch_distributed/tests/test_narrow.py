"""Scripts that compute in bfloat16 or float16 are judged by the rounding of these.  Clause: G-94."""

import pytest
import torch
from shares import DEEP

from simstrategy.check.scripts import check_script
from simstrategy.device.perturbed import LeftSums
from simstrategy_torch_distributed.checking.front import runner_of
from simstrategy_torch_distributed.watched.moving import Moves, Narrow, nudge, nudge_sums

SCRIPT = """
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
rows, targets = torch.randn(4, 12, 4), torch.randn(4, 12, 1)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
torch.nn.init.ones_(net[2].bias)


def hooked(net):
    model = DistributedDataParallel(net)
    model.register_comm_hook(None, fp16_compress_hook)
    return model


policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
model = MODEL
rate, decay = RATE, DECAY
optimizer = torch.optim.SGD(net.parameters(), lr=rate, weight_decay=decay)
for batch, target in zip(rows, targets):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=AUTOCAST):
        loss = torch.nn.functional.mse_loss(model(batch[rank::size]).float(), target[rank::size])
    (SCALE * loss).backward()
    for parameter in SUMMED:
        dist.all_reduce(parameter.grad)
        parameter.grad /= DIVISOR
    optimizer.step()
"""

LAWFUL = {
    "MODEL": "DistributedDataParallel(net)",
    "RATE": "0.02",
    "DECAY": "0.0",
    "AUTOCAST": "True",
    "SCALE": "1.0",
    "SUMMED": "()",
    "DIVISOR": "size",
}
BY_HAND = {"MODEL": "net", "SUMMED": "net.parameters()"}
HOOKED = {"MODEL": "hooked(net)", "AUTOCAST": "False"}
SHARDED = {"MODEL": "fully_shard(net, mp_policy=policy)", "AUTOCAST": "False"}


def checked(folder, changes):
    """Returns the report on the script with these parts in place of lawful ones."""
    text = SCRIPT
    for name, value in {**LAWFUL, **changes}.items():
        text = text.replace(name, value)
    (folder / "narrow.py").write_text(text, encoding="utf-8")
    return check_script(runner_of, str(folder / "narrow.py"), replicas=(1, 2))


@pytest.mark.slow
@pytest.mark.usefixtures("warm_checks")
@pytest.mark.parametrize(
    ("changes", "verdict", "dtype"),
    [
        pytest.param({}, "agree", "bfloat16", id="autocast", marks=DEEP),
        pytest.param(BY_HAND | {"RATE": "0.5"}, "undecided", "bfloat16", id="a large rate"),
        pytest.param(SHARDED, "agree", "bfloat16", id="fully_shard", marks=DEEP),
        pytest.param(HOOKED, "agree", "float16", id="a hook of float16"),
    ],
)
def test_a_lawful_script_that_computes_in_a_narrow_dtype_is_not_accused(tmp_path, changes, verdict, dtype):
    report = checked(tmp_path, changes)
    assert report.verdict == verdict, str(report)
    assert f"The script computes in {dtype}, so what rounding may explain is measured by units of it" in str(report)


@pytest.mark.slow
@pytest.mark.usefixtures("warm_checks")
@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        pytest.param({"RATE": "0.02 * size"}, "other learning rate", id="rate"),
        pytest.param(SHARDED | {"RATE": "0.02 * size"}, "other learning rate", id="rate of fully_shard", marks=DEEP),
        pytest.param(BY_HAND | {"DIVISOR": "1"}, "sum of means", id="sum"),
        pytest.param({"SCALE": "(1 / size)"}, "divided by the number of replicas", id="divided twice", marks=DEEP),
        pytest.param(BY_HAND | {"SUMMED": "()"}, "missing reduction", id="no reduction", marks=DEEP),
        pytest.param(
            BY_HAND | {"SUMMED": "[*net.parameters()][:3]"}, "missing reduction", id="one bias is not reduced"
        ),
        pytest.param({"DECAY": "0.5 * size"}, "update of '0.weight'", id="decay", marks=DEEP),
    ],
)
def test_a_mistake_in_a_script_that_computes_in_a_narrow_dtype_is_found(tmp_path, changes, cause):
    report = checked(tmp_path, changes)
    assert report.verdict == "differ", str(report)
    (finding,) = [one for one in report.findings if one.law == "replicas"]
    assert cause in finding.cause, str(report)


def test_a_cast_in_a_function_of_the_script_is_seen_and_float32_is_not_narrow():
    narrow = Narrow()
    with narrow:
        value = torch.ones(3).double().sum() + torch.ones(3)
        assert not narrow.found
        (value.to(torch.bfloat16) * 2).float()
    assert narrow.found == {"bfloat16"}


@pytest.mark.parametrize("sums", [None, LeftSums(), LeftSums(("w",))], ids=["none", "all", "but true ones"])
def test_without_a_narrow_dtype_gradients_and_inputs_move_as_they_did(sums):
    gradients = [torch.tensor([1.0, -2.0, 3e-9]), torch.tensor([0.5], dtype=torch.bfloat16)]
    moved, expected = [[one.clone() for one in gradients] for _ in range(2)]
    moves = Moves(2, sums=sums, narrow=None)
    for _ in range(2):
        moves.gradients([("w", one) for one in moved])
        if sums is not None:
            nudge_sums(expected, 2, [None if sums.true else 0.0] * 2)
        for one in expected if sums is None else ():
            nudge(one, 2)
    small = [one[0][2].item() for one in (moved, gradients)]
    assert (abs(small[0] - small[1]) > 1e-9) == (sums == LeftSums())
    assert all(torch.equal(one, other) for one, other in zip(moved, expected, strict=True))
    named = {"x": gradients[0], "factor": 2.0}
    (moved_one,) = moves.inputs(torch.nn.Linear(1, 1), (gradients[0],), {})
    assert torch.equal(moved_one, moves.inputs(torch.nn.Linear(1, 1), (gradients[0],), named)[0])
    assert torch.equal(named["x"], moved_one)
    assert not torch.equal(named["x"], gradients[0])


@pytest.mark.parametrize(
    ("inputs", "has_parameters", "moving"),
    [
        ([[0.5, 2.0], [0.0, 1.0], [-1.0, 1.0]], False, [True, False, False]),
        ([[0.0, 1.0]], False, [True]),
        ([[0.0, 1.0]], True, [False]),
        ([[1.0, float("nan")], [1.0, 2.0]], True, [True, True]),
    ],
)
def test_zeros_and_ones_stay_where_something_else_moves(inputs, has_parameters, moving):
    given = tuple([torch.tensor(one) for one in inputs])
    named = {"mask": torch.zeros(2, dtype=torch.long), "parts": [1.0]}
    module = torch.nn.Linear(1, 1) if has_parameters else torch.nn.Identity()
    found = Moves(1, sums=None, narrow=None).inputs(module, given, named)
    same = [torch.equal(one.nan_to_num(), other.nan_to_num()) for one, other in zip(given, found, strict=True)]
    assert same == [not one for one in moving]
    assert named["mask"].tolist() == [0, 0]


def test_with_a_narrow_dtype_gradients_move_by_its_unit_and_each_step_in_another_pattern():
    moves = Moves(1, sums=None, narrow="bfloat16")
    steps = []
    for _ in range(2):
        gradient = torch.full((64,), 1.5)
        moves.gradients([("w", gradient)])
        steps.append((gradient - 1.5).tolist())
    assert {abs(one) for one in (*steps[0], *steps[1])} == {2.0**-7}
    assert steps[0] != steps[1]
    narrow = torch.full((64,), 1.5, dtype=torch.bfloat16)
    moves.gradients([("w", narrow)])
    assert {abs(one) for one in (narrow.float() - 1.5).tolist()} == {2.0**-7}
