"""An argument of a script may be the number of its rank.  Clauses: G-116."""

import pytest

from simstrategy.check.scripts import check_script
from simstrategy.errors import InvalidArgument
from simstrategy_torch_distributed.checking.front import runner_of, spawning_runner_of

SCRIPT = """\
import argparse, torch, torch.distributed as dist
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, required=True)
parser.add_argument("--name")
given = parser.parse_args()
dist.init_process_group("gloo")
assert given.local_rank == dist.get_rank()
assert given.name == f"log-{given.local_rank}.txt {{rank}}"
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
model(torch.ones(4, 2)).mean().backward()
torch.optim.SGD(model.parameters(), lr=0.1).step()
"""


@pytest.mark.slow
def test_each_rank_gets_its_number(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(f"import torch\ntorch.manual_seed(0)\n{SCRIPT}")
    given = ["--local_rank={rank}", "--name", "log-{rank}.txt {{rank}}"]
    report = check_script(runner_of, str(file), arguments=given, replicas=[1, 2])
    assert report.verdict == "agree", str(report)


def test_a_script_that_spawns_its_ranks_has_no_rank_itself(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(SCRIPT)
    with pytest.raises(InvalidArgument, match="the name 'rank', and the names here are replicas"):
        check_script(spawning_runner_of, str(file), arguments=["{rank}"], replicas=[2])
