"""The scripts of docs/pytorch.md end as the guide shows.

Clauses: G-48.
"""

import re
import shlex
from pathlib import Path

import pytest
from commanded import torchrun

from simstrategy.check.scripts import check_script
from simstrategy_torch_distributed.checking.front import judge_faults, runner_of
from simstrategy_torch_distributed.settings import Settings

CHECKED, FOR_GPUS, HANGS, LAWS, FAULTS = range(5)
"""The guide's scripts in their order: checked, for GPUs, that hangs, that breaks laws inside one run, with faults."""
GUIDE = Path(__file__).resolve().parents[3] / "docs" / "pytorch.md"


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "ranks"), [(HANGS, 4), (LAWS, 2)])
def test_a_script_of_the_guide_ends_as_it_shows(tmp_path, number, ranks):
    run = torchrun(tmp_path, blocks("python")[number], name="train.py", ranks=ranks)
    assert run.code == 1
    assert blocks("text")[number] in run.err.replace(f"{tmp_path}/", "")


@pytest.mark.slow
@pytest.mark.usefixtures("warm_checks")
@pytest.mark.deep
def test_the_script_with_faults_of_the_guide_is_reported_as_it_shows(tmp_path, monkeypatch):
    script, shown = blocks("python")[FAULTS], blocks("text")[FAULTS]
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(script)
    text = " ".join(str(judge_faults(Settings("train.py", ranks=2), ["input", "kill"])).split())
    parts = [" ".join(part.split()) for line in shown.splitlines() for part in line.split("…")]
    assert all(part in text for part in parts), text
    Path("train.py").write_text(script.replace("    if not", "    dist.all_reduce(model.weight.grad)\n    if not"))
    assert judge_faults(Settings("train.py", ranks=2), ["input"]).agrees


@pytest.mark.slow
@pytest.mark.usefixtures("warm_checks")
def test_the_checked_script_of_the_guide_is_reported_as_it_shows(tmp_path):
    script, shown = blocks("python")[CHECKED], blocks("text")[CHECKED]
    file = tmp_path / "train.py"
    file.write_text(script)
    command = r"^simstrategy check --as torchrun train.py --replicas 1,2 -- (.+)$"
    (given,) = re.findall(command, GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    arguments = shlex.split(given)
    report = check_script(runner_of, str(file), arguments=arguments, replicas=[1, 2])
    text = " ".join(str(report).split())
    parts = [" ".join(part.split()) for part in re.split("…", shown)]
    assert all(part in text for part in parts), text
    file.write_text(script.replace(" / dist.get_world_size()", ""))
    assert check_script(runner_of, str(file), arguments=arguments, replicas=[1, 2]).agrees


@pytest.mark.slow
def test_the_script_for_gpus_of_the_guide_prints_what_it_shows(tmp_path):
    script, shown = blocks("python")[FOR_GPUS], blocks("text")[FOR_GPUS]
    run = torchrun(tmp_path, script, "--device", "cpu-for-cuda", name="train.py")
    assert (run.code, run.out) == (0, shown), run.err
