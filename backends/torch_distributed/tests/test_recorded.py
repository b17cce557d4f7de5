"""Recordings of scripts for the page of a check: calls with tensors, steps, names, and the call that failed."""

import pytest
from on_server import BEGIN

from simstrategy.player import as_player, opening_stop, own_run
from simstrategy.player.captions import caption
from simstrategy.player.stops import events_of, stops_of
from simstrategy.trace.recording import EventAt
from simstrategy_torch_distributed.checking.recorded import recorded_run
from simstrategy_torch_distributed.running import run_on
from simstrategy_torch_distributed.settings import Settings, Watching

TRAINS = """
half = dist.new_group([1, 2])
torch.manual_seed(0)
layer = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
for step in range(2):
    loss = (layer(torch.full((1, 1), 1.0 + rank)) ** 2).mean()
    loss.backward()
    for one in layer.parameters():
        dist.all_reduce(one.grad, op=dist.ReduceOp.AVG)
    optimizer.step()
    optimizer.zero_grad()
if rank:
    part = torch.tensor([10.0 * rank, 0.1])
    dist.all_reduce(part, group=half)
if rank == 0:
    dist.send(torch.tensor([7.0]), 2)
elif rank == 2:
    given = torch.zeros(1)
    dist.recv(given, 0)
print("rank", rank)
"""

DISAGREES = """
kept = torch.full((2,), 1.5)
if rank:
    dist.all_reduce(kept)
else:
    dist.broadcast(kept, 0)
"""

RAISES = """
if rank:
    raise OSError("the disk is full")
dist.all_reduce(torch.ones(1))
"""


@pytest.fixture
def record(server, tmp_path):
    """Runs the text of a script with all that a page needs; returns its recording."""

    def make(text, ranks):
        script = tmp_path / "train.py"
        script.write_text(BEGIN + text)
        files = [tmp_path / f"rank{rank}" for rank in range(ranks)]
        watching = Watching(tuple(map(str, files)), None, detailed=True, shared=True)
        settings = Settings(str(script), ranks=ranks, record=True, watching=watching)
        report = run_on([server], settings)
        return recorded_run(settings, report, files, None)

    return make


def line_of(text, part):
    lines = (BEGIN + text).splitlines()
    (number,) = [number for number, line in enumerate(lines, 1) if part in line]
    return f"train.py:{number}"


@pytest.mark.slow
def test_a_recording_has_calls_with_their_tensors_steps_with_gradients_and_what_names_hold(record, tmp_path):
    found = record(TRAINS, 3)
    kinds = [point.kind for point in found.points]
    assert kinds.count("optimizer_step") == 2
    assert kinds[:2] == ["init_process_group", "new_group"]
    mean = next(point for point in found.points if point.kind == "all_reduce")
    brought = [row[0].array.item() for row in mean.inputs]
    assert len({*brought}) == 3
    assert [row[0].array.item() for row in mean.outputs] == pytest.approx([sum(brought) / 3] * 3)
    part = next(point for point in found.points if point.replicas == (1, 2) and point.kind == "all_reduce")
    assert [row[0].array.tolist()[0] for row in part.inputs] == [10, 20]
    assert part.sites == (line_of(TRAINS, "group=half"),) * 2
    send = next(point for point in found.points if point.kind == "send")
    assert ([len(row) for row in send.inputs], [len(row) for row in send.outputs]) == ([1, 0], [0, 1])
    assert send.outputs[1][0].array.item() == 7
    weights = [one for one in found.writes if one.variable == "weight" and one.operation == "step"]
    assert [one.step for one in weights] == [1, 2]
    assert weights[1].before[0].digest == weights[0].after[0].digest
    assert len({value.digest for value in weights[1].after}) == 1
    losses = [one for one in found.writes if one.variable == "loss"]
    assert [(one.step, one.replica, len(one.after)) for one in losses] == [(1, None, 3), (2, None, 3)]
    alone = [one for one in found.writes if one.variable == "given"]
    assert {one.replica for one in alone} == {2}
    assert sorted(one.text for one in found.prints) == [f"rank {rank}\n" for rank in range(3)]
    assert found.complete

    at = opening_stop(found, at=EventAt(line_of(TRAINS, "loss = "), 2, "loss", 0, 1))
    event = events_of(found)[stops_of(events_of(found))[at].event]
    assert event == losses[1]
    page = as_player("train.py", [own_run(found, tmp_path)])
    assert page == as_player("train.py", [own_run(found, tmp_path)])


@pytest.mark.slow
def test_the_call_in_which_ranks_differ_is_the_last_event_with_what_each_was_doing(record):
    found = record(DISAGREES, 2)
    point = found.points[-1]
    assert point.error[0] == "ReplicasDisagree"
    assert point.requests == (
        f"rank 0: broadcast root 0 float32[2] at {line_of(DISAGREES, 'broadcast')}",
        f"rank 1: all_reduce SUM float32[2] at {line_of(DISAGREES, 'all_reduce')}",
    )
    assert [row[0].array.tolist() for row in point.inputs] == [[1.5, 1.5]] * 2
    events = events_of(found)
    stop = stops_of(events)[opening_stop(found)]
    assert events[stop.event] == point
    assert "do not all make the same call" in caption(point, stop.phase, replicas=2, workers=1)


@pytest.mark.slow
def test_a_rank_that_raises_is_named_where_the_others_wait(record):
    found = record(RAISES, 2)
    point = found.points[-1]
    assert (point.kind, point.replicas, point.error[0]) == ("all_reduce", (0,), "PeerFailed")
    assert "OSError" in point.requests[1]
    assert "the disk is full" in point.requests[1]
