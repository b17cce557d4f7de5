"""Recordings of all kinds in Chromium: each opens, and is walked to its end and back with the same texts."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.player import PlayedRun, as_player, read_run

pytestmark = [pytest.mark.browser, pytest.mark.slow]

context = ss.get_replica_context
HOSTILE = "</script><img src=x onerror=alert(1)>\0'\"\u202e"
STEPS_MAX = 400
"""Of one walk: a longer recording is walked so far from both of its ends."""

DDP = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.ones(2, 3) * (dist.get_rank() + step)).mean().backward()
    optimizer.step()
dist.destroy_process_group()
"""

WALK = """
async ([key, most]) => {
  const texts = [];
  const where = () => document.querySelector("output.where").textContent;
  for (let step = 0; step < most; step += 1) {
    while (document.querySelector("[aria-busy]")) await new Promise(requestIdleCallback);
    const parts = ["#caption", "#more", ".middle", "section.source"];
    texts.push(parts.map((one) => document.querySelector(one).textContent).join("|"));
    const before = where();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    if (where() === before) break;
  }
  return texts;
}
"""


def lawful(strategy):
    with strategy.scope():
        total = ss.Variable(np.float32(0.1), aggregation=ss.VariableAggregation.SUM, name="total")
    rows = ss.data.Dataset.from_tensor_slices(np.arange(9, dtype=np.float32)).batch(3)
    for part in strategy.experimental_distribute_dataset(rows):
        strategy.run(lambda part: total.assign_add(context().xp.sum(part)), args=(part,))


def means_of_means(strategy):
    def step(rows):
        return context().all_reduce("MEAN", context().xp.sum(rows) / max(rows.shape[0], 1))

    rows = ss.data.Dataset.from_tensor_slices(np.arange(10, dtype=np.float32)).batch(4)
    for part in strategy.experimental_distribute_dataset(rows):
        strategy.run(step, args=(part,))


def disagrees(strategy):
    def step():
        if context().replica_id_in_sync_group:
            context().all_reduce("SUM", np.float32(1))

    strategy.run(step)


def diverges(strategy):
    with strategy.scope():
        kept = ss.Variable(np.float32(0), name="kept")
    strategy.run(lambda: kept.assign(np.float32(context().replica_id_in_sync_group)))


def hostile(strategy):
    with strategy.scope():
        kept = ss.Variable(np.zeros(2, np.float32), name=HOSTILE)
    kept.assign(np.full(2, np.nan, np.float32))
    strategy.require_equal_after_run(HOSTILE, lambda: ss.PerReplica([np.float32(1)] * 2))
    strategy.run(lambda: context().all_reduce("SUM", np.float32(1), name=HOSTILE))


def long(strategy):
    for number in range(3_334):
        strategy.run(lambda number=number: context().all_reduce("SUM", np.float32(number)))


def dies(strategy):
    ranks = strategy.run(lambda: context().replica_id_in_sync_group)
    strategy.run(lambda: context().all_reduce("SUM", np.float32(1)))
    if strategy.experimental_local_results(ranks)[0] == 2:
        raise OSError("the worker died")
    strategy.run(lambda: context().all_reduce("SUM", np.float32(2)))


def of_cluster():
    recorder = ss.trace.Recorder()
    ss.sim.Cluster(3, 2, trace=recorder).outcomes(dies)
    recorder.close()
    return recorder.recording()


def of_torchrun(folder):
    pytest.importorskip("simstrategy_torch_distributed")
    (folder / "ddp.py").write_text(DDP)
    words = ["torchrun", "--nproc-per-node", "2", "--record", "ddp.jsonl", "ddp.py"]
    subprocess.run([sys.executable, "-m", "simstrategy", *words], cwd=folder, check=True, capture_output=True)
    return ss.trace.read(folder / "ddp.jsonl")


def walked(tab, key):
    return tab.evaluate(WALK, [key, STEPS_MAX])


def check_walk(tab):
    """Walks to the end and back; compares the texts of each stop."""
    count = int(tab.inner_text("output.where").split()[-1])
    there = walked(tab, "ArrowRight")
    assert len(there) == min(count, STEPS_MAX)
    if count > STEPS_MAX:
        tab.keyboard.press("End")
        back = walked(tab, "ArrowLeft")
        assert len(back) == STEPS_MAX
        assert tab.inner_text("output.where") == f"event {count - STEPS_MAX} of {count}"
        assert walked(tab, "ArrowRight")[1:] == back[:0:-1]
        return
    assert walked(tab, "ArrowLeft") == there[::-1]


@pytest.mark.parametrize(
    ("program", "replicas", "says"),
    [
        (lawful, 3, "The program has returned"),
        (means_of_means, 3, "The program has returned"),
        (disagrees, 3, "The program ends with ReplicasDisagree"),
        (diverges, 3, "The program has returned"),
        (lawful, 64, "The program has returned"),
        pytest.param(long, 2, "The program has returned", marks=pytest.mark.deep),
        (hostile, 2, "The program has returned"),
    ],
)
def test_a_recorded_program_is_walked_both_ways(page, opened, recwarn, program, replicas, says):
    tab = opened(page(program, replicas, title=HOSTILE, semantics=ss.Semantics.TF2))
    check_walk(tab)
    tab.keyboard.press("End")
    assert tab.inner_text("#caption").startswith(says)
    assert tab.locator("img").count() == 0


def test_a_cluster_with_a_dead_worker_an_empty_run_and_a_script_of_torchrun_are_walked_both_ways(opened, tmp_path):
    made = {"cluster": of_cluster(), "empty": ss.trace.Recorder().recording(), "torchrun": of_torchrun(tmp_path)}
    for name, recording in made.items():
        file = tmp_path / f"{name}.html"
        file.write_text(as_player(name, [read_run(recording, Path(tmp_path))]), "utf-8")
        check_walk(opened(file))


def test_a_run_that_was_cut_off_states_that_it_has_no_end(record, opened, tmp_path):
    recorder = ss.trace.Recorder(tmp_path / "a.jsonl")
    strategy = ss.Strategy.mirrored("sim", replicas=2, trace=recorder)
    lawful(strategy)
    recorder.close()
    text = (tmp_path / "a.jsonl").read_text()
    for size in (len(text) - 15, len(text) // 2):
        (tmp_path / "b.jsonl").write_text(text[:size])
        file = tmp_path / "page.html"
        file.write_text(as_player("cut", [PlayedRun("run", ss.trace.read(tmp_path / "b.jsonl"), {})]), "utf-8")
        tab = opened(file)
        check_walk(tab)
        tab.keyboard.press("End")
        assert "The recording has no end" in tab.inner_text("#more")
