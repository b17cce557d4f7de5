"""The notes that processes exchange: on the wire, in every combination of statuses, and what is made of exceptions."""

import itertools
import json
from pathlib import Path

import pytest

from simstrategy import tree
from simstrategy.errors import PeerFailed, ReplicasDisagree
from simstrategy.run import StatusMessage, function_key
from simstrategy.run.status import compare_messages, disagreement, fingerprint, raised_where, read_replies, stated_site
from simstrategy.trace import Request

STATUSES = ("request", "returned", "disagree", "failed", "left")
REQUEST = Request("all_reduce", "SUM", None, None, None, (((2,), "float32"),))


def note(status, worker, request="same", sizes=()):
    return StatusMessage(status, request, (f"replica {worker}: {status} {request}",), sizes)


@pytest.mark.parametrize("status", STATUSES)
def test_a_note_is_json_and_comes_back_equal(status):
    sent = StatusMessage(status, "all_reduce SUM float32[2] é", ("replica 0: ü", "replica 1: x"), (3, 0))
    assert StatusMessage.decode(sent.encode()) == sent
    assert json.loads(sent.encode()) == [status, sent.request, list(sent.lines), [3, 0]]
    assert StatusMessage.decode(StatusMessage("left", "", (), ()).encode()) == StatusMessage("left", "", (), ())


def test_equal_notes_are_equal_bytes():
    assert note("request", 0, sizes=(1,)).encode() == note("request", 0, sizes=(1,)).encode()


@pytest.mark.parametrize("worker", [0, 1])
@pytest.mark.parametrize("statuses", list(itertools.product(STATUSES, STATUSES)), ids="-".join)
def test_every_pair_of_statuses_means_one_thing(statuses, worker):
    notes = [note(status, i, sizes=(i + 1,)) for i, status in enumerate(statuses)]
    mine, other = statuses[worker], statuses[1 - worker]
    if other == "failed":
        with pytest.raises(PeerFailed) as raised:
            compare_messages(notes, worker)
        text = str(raised.value)
        assert f"replica {1 - worker}: failed" in text
        assert text.index("This process was at:") < text.index(f"replica {worker}: {mine}")
        assert text.endswith("Fix that failure first; the output of that process has the traceback.")
    elif mine == other != "disagree":
        assert compare_messages(notes, worker) == (1, 2)
    else:
        with pytest.raises(ReplicasDisagree) as raised:
            compare_messages(notes, worker)
        assert str(raised.value).splitlines()[1:] == [f"  replica {i}: {s} same" for i, s in enumerate(statuses)]


def test_different_requests_are_told_alike_in_every_process():
    notes = [note("request", 0), note("request", 1, "other"), note("request", 2)]
    messages = set()
    for worker in range(3):
        with pytest.raises(ReplicasDisagree) as raised:
            compare_messages(notes, worker)
        messages.add(str(raised.value))
    assert messages == {
        (
            "Replicas make different collective calls here. Make the same calls in the same order in all replicas:\n"
            "  replica 0: request same\n  replica 1: request other\n  replica 2: request same"
        )
    }


def test_a_failure_is_told_before_a_disagreement_and_every_failure_is_named():
    notes = [note("request", 0), note("failed", 1), note("disagree", 2), note("failed", 3)]
    with pytest.raises(PeerFailed) as raised:
        compare_messages(notes, 0)
    assert "replica 1: failed" in str(raised.value)
    assert "replica 3: failed" in str(raised.value)
    assert "replica 2" not in str(raised.value)


def test_sizes_of_all_ranks_come_in_rank_order():
    assert compare_messages([note("request", 0, sizes=(1, 2)), note("request", 1, sizes=(3, 0))], 0) == (1, 2, 3, 0)
    assert compare_messages([note("request", 0)], 0) == ()


def test_a_fingerprint_tells_everything_of_a_request_apart():
    nest, flat = tree.flatten({"a": 0})[1], tree.flatten([0])[1]
    requests = [
        REQUEST,
        REQUEST._replace(kind="reduce"),
        REQUEST._replace(op="MEAN"),
        REQUEST._replace(axis=0),
        REQUEST._replace(structure=nest),
        REQUEST._replace(structure=flat),
        REQUEST._replace(leaves=(((3,), "float32"),)),
        REQUEST._replace(leaves=(((2,), "float64"),)),
        REQUEST._replace(leaves=(((None,), "float32"),)),
        REQUEST._replace(subject=function_key(len)),
        REQUEST._replace(subject=function_key(lambda: 1)),
        REQUEST._replace(subject="a variable"),
    ]
    assert len({fingerprint(request) for request in requests}) == len(requests)
    assert fingerprint(REQUEST) == fingerprint(Request(*REQUEST))


def test_empty_containers_of_different_kinds_have_different_fingerprints():
    forms = [tree.flatten(nest)[1] for nest in ([], (), {}, [[]], [()])]
    assert len({fingerprint(Request("merge_call", None, None, None, form, ())) for form in forms}) == len(forms)


def test_a_disagreement_has_one_line_per_replica():
    assert disagreement(["replica 0: x", "replica 1: y"]).splitlines()[1:] == ["  replica 0: x", "  replica 1: y"]


def test_an_exception_is_told_with_type_first_line_and_the_users_line():
    def users_line():
        raise ValueError("first\nsecond")

    with pytest.raises(ValueError, match="first") as raised:
        users_line()
    line = users_line.__code__.co_firstlineno + 1
    assert raised_where(raised.value) == f"ValueError(first) raised at test_status.py:{line}"
    assert raised_where(KeyError()) == "KeyError()"


def test_an_exception_from_inside_the_library_is_told_at_the_users_line():
    from simstrategy.schedules import Seeded

    with pytest.raises(ValueError, match="Seeded") as raised:
        Seeded("x")
    assert "raised at test_status.py:" in raised_where(raised.value)


def test_an_exception_with_an_empty_first_line_can_be_told():
    assert raised_where(ValueError("\nsecond")) == "ValueError()"
    assert raised_where(ValueError("")) == "ValueError()"


@pytest.mark.parametrize(
    ("statuses", "requests", "sizes"),
    [
        (("request", "request"), ("r", "r"), (1, 2)),
        (("request", "request"), ("r", "other"), None),
        (("request", "returned"), ("r", "r"), None),
        (("failed", "failed"), ("", ""), None),
        (("disagree", "disagree"), ("", ""), None),
    ],
)
def test_sizes_are_read_of_processes_that_sent_the_same_alone(statuses, requests, sizes):
    notes = [
        StatusMessage(status, request, (f"replica {rank}: r at a.py:{rank}",), (rank + 1,))
        for rank, (status, request) in enumerate(zip(statuses, requests, strict=True))
    ]
    read = read_replies(tuple(note.encode() for note in notes))
    assert read.messages == tuple(notes)
    assert read.sizes == sizes
    assert read.lines == ("replica 0: r at a.py:0", "replica 1: r at a.py:1")


@pytest.mark.parametrize(("lines", "alike"), [((7, 7), True), ((7, 8), False)])
def test_replies_state_whether_all_calls_are_of_one_line(lines, alike):
    notes = [StatusMessage("request", "r", (f"replica 0: all_reduce at a.py:{line}",), ()) for line in lines]
    assert read_replies(tuple(note.encode() for note in notes)).one_site is alike


@pytest.mark.parametrize("name", ["train.py", "a b.py", "/home/user/my file.py"])
def test_a_line_of_a_file_is_read_whatever_its_name(name):
    texts = ["rank 0: returned", f"rank 1: ValueError(bad) raised at {name}:31; rank 2 waits at other.py:3"]
    assert stated_site(texts, Path("/home")) == (str(Path("/home") / name), 31)
