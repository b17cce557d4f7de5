"""The matcher, by the messages that ranks send: no process is started.

Clauses: G-1, G-2, G-3, G-4, G-6, G-8, G-10, G-60, G-62.
"""

import pytest

from simstrategy.schedules import InOrder, Seeded
from simstrategy.trace import read
from simstrategy_torch_distributed.calls import ANY, Call
from simstrategy_torch_distributed.matching import Matcher
from simstrategy_torch_distributed.record import Record

VECTOR = [[[4], "float32"]]


def call(number, kind, group=0, line=1, **fields):
    """Returns the message of one call."""
    values = {
        "number": number,
        "group": group,
        "kind": kind,
        "op": None,
        "subject": None,
        "leaves": VECTOR,
        "site": ["/home/user/train.py", line],
        "peer": None,
        "tag": 0,
        "parts": [0, 64],
        "sizes": [],
        "waits": True,
    }
    return ["call", 1, *Call(**(values | fields))]


class Ranks:
    """A matcher whose ranks have joined the group of all; later messages are given at increasing times."""

    def __init__(self, count, schedule=None, record=None, **settings):
        self.matcher = Matcher(count, schedule or InOrder(), record, **settings)
        self.now_s = 0.0
        self.numbers = [0] * count
        for rank in range(count):
            self.call(rank, "init_process_group", group=-1, leaves=[], sizes=[list(range(count))])
        self.answers()

    def call(self, rank, kind, **fields):
        self.numbers[rank] += 1
        self.matcher.receive(rank, call(self.numbers[rank], kind, **fields), self.now_s)

    def join(self, rank, name, ranks):
        subject = f"group {name} of ranks {', '.join(map(str, ranks))}"
        self.call(rank, "new_group", group=-1, leaves=[], subject=subject, sizes=[ranks])

    def end(self, rank, code=0, text="has ended"):
        self.matcher.receive(rank, ["ended", code, text, []], self.now_s)

    def answers(self):
        found, self.matcher.outgoing[:] = list(self.matcher.outgoing), []
        return found

    def found(self, after_s=0.0):
        self.now_s += after_s
        self.matcher.examine(self.now_s)
        return self.matcher.finding


def test_a_call_is_answered_when_every_member_has_made_it_with_where_each_has_put_its_data():
    ranks = Ranks(2)
    ranks.call(0, "all_reduce", op="SUM", parts=[0, 64])
    assert ranks.answers() == []
    ranks.call(1, "all_reduce", op="SUM", parts=[128, 192])
    assert ranks.answers() == [(rank, ["done", 2, [[0, 64], [128, 192]]]) for rank in (0, 1)]


def test_of_a_scatter_each_member_learns_its_own_part_alone():
    ranks = Ranks(2)
    ranks.call(0, "scatter", subject="root 0", parts=[0, 64, 128])
    ranks.call(1, "scatter", subject="root 0", parts=[])
    assert [message[2] for _, message in ranks.answers()] == [[[0, 64], []], [[0, 128], []]]


@pytest.mark.parametrize(
    "other",
    [
        {"kind": "broadcast", "op": None},
        {"op": "MAX"},
        {"subject": "root 1"},
        {"leaves": [[[4], "float64"]]},
        {"leaves": [[[5], "float32"]]},
        {"leaves": VECTOR * 2},
    ],
)
def test_calls_that_differ_in_kind_operation_root_dtype_size_or_number_end_all_ranks(other):
    ranks = Ranks(3)
    fields = {"kind": "all_reduce", "op": "SUM"}
    for rank in range(3):
        ranks.call(rank, line=10 + rank, **(fields | other if rank == 1 else fields))
    finding = ranks.matcher.finding
    assert finding.error == "ReplicasDisagree"
    assert finding.text.startswith("Ranks make different collective calls here. Make the same calls in the same order")
    assert finding.lines[0] == "rank 0: all_reduce SUM float32[4] at train.py:10"
    assert finding.lines[1].endswith(" at train.py:11")
    assert ranks.answers() == [(rank, ["failed", "ReplicasDisagree", finding.text]) for rank in range(3)]


def test_tensors_of_equal_size_and_different_shapes_are_a_remark_and_no_finding():
    ranks = Ranks(2)
    ranks.call(0, "all_reduce", op="SUM")
    ranks.call(1, "all_reduce", op="SUM", leaves=[[[2, 2], "float32"]])
    assert ranks.matcher.finding is None
    assert len(ranks.answers()) == 2
    (remark,) = ranks.matcher.remarks
    assert "different shapes in one call" in remark
    assert "float32[2,2]" in remark


def test_two_calls_that_differ_wait_a_moment_for_those_of_the_others():
    ranks = Ranks(3)
    ranks.call(0, "barrier", leaves=[])
    ranks.call(1, "all_reduce", op="SUM")
    assert ranks.found(0.5) is None
    assert ranks.found(1.0).lines[2] == "rank 2: neither waits nor has ended"


def test_a_rank_that_has_ended_is_named_to_those_that_wait_for_it():
    ranks = Ranks(3)
    ranks.end(1)
    for rank in (0, 2):
        ranks.call(rank, "all_reduce", op="SUM", line=7)
    finding = ranks.found()
    assert finding.error == "ReplicasBlocked"
    assert finding.lines == (
        "rank 0: waits in all_reduce SUM float32[4] at train.py:7 for rank 1",
        "rank 1: has ended",
        "rank 2: waits in all_reduce SUM float32[4] at train.py:7 for rank 1",
    )


def test_a_rank_that_a_signal_has_stopped_ends_the_others():
    ranks = Ranks(2)
    ranks.call(0, "barrier", leaves=[])
    ranks.matcher.stop(1)
    assert ranks.answers() == [(rank, ["failed", "PeerFailed", ranks.matcher.finding.text]) for rank in (0, 1)]
    assert "Rank 1 was stopped by a signal" in ranks.matcher.finding.text


def test_a_rank_that_fails_ends_the_others_with_its_error():
    ranks = Ranks(2)
    ranks.call(0, "barrier", leaves=[])
    ranks.end(1, 1, "ValueError(no data) raised at train.py:3")
    ranks.found()
    assert ranks.matcher.failed == 1
    assert ranks.matcher.finding.error == "PeerFailed"
    assert ranks.matcher.finding.lines[1] == "rank 1: ValueError(no data) raised at train.py:3"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_ranks_that_fail_together_the_lowest_is_named_and_all_are_shown(order):
    ranks = Ranks(2)
    for rank in order:
        assert ranks.found(0.5) is None
        ranks.end(rank, 1, f"ValueError(bad) raised at train.py:{3 + rank}")
    assert ranks.found().text.startswith("Rank 0 has failed")
    assert ranks.matcher.finding.lines == tuple(
        f"rank {rank}: ValueError(bad) raised at train.py:{3 + rank}" for rank in (0, 1)
    )


def test_a_rank_that_computes_for_longer_than_a_second_after_a_failure_is_ended_and_shown_with_its_own_error():
    ranks = Ranks(2)
    ranks.end(1, 1, "ValueError(bad) raised at train.py:3")
    assert ranks.found() is None
    assert ranks.found(1.1).text.startswith("Rank 1 has failed")
    assert ranks.answers() == [(0, ["failed", "PeerFailed", ranks.matcher.finding.text])]
    ranks.end(0, 1, "ValueError(bad) raised at train.py:4")
    assert ranks.matcher.failed == 1
    assert ranks.matcher.finding.lines[0] == "rank 0: ValueError(bad) raised at train.py:4"


def test_a_circle_over_two_groups_is_found_while_another_rank_computes():
    ranks = Ranks(3)
    for name in ("1", "2"):
        for rank in (0, 1):
            ranks.join(rank, name, [0, 1])
    ranks.answers()
    ranks.call(0, "all_reduce", op="SUM", group=1)
    assert ranks.found() is None
    ranks.call(1, "all_reduce", op="SUM", group=2)
    finding = ranks.found()
    assert finding.error == "ReplicasBlocked"
    assert "in group 1 of ranks 0, 1 for rank 1" in finding.lines[0]
    assert "in group 2 of ranks 0, 1 for rank 0" in finding.lines[1]
    assert finding.lines[2] == "rank 2: neither waits nor has ended"


def test_a_rank_with_other_threads_is_stuck_only_after_all_have_been_silent():
    ranks = Ranks(2)
    ranks.end(1)
    message = call(2, "barrier", leaves=[])
    message[1] = 3  # threads
    ranks.matcher.receive(0, message, ranks.now_s)
    assert ranks.found(1.0) is None
    assert ranks.found(3.0).error == "ReplicasBlocked"


def test_calls_that_are_not_waited_for_are_matched_in_their_order():
    ranks = Ranks(2)
    for _ in range(3):
        ranks.call(0, "all_reduce", op="SUM", waits=False)
    for _ in range(3):
        ranks.call(1, "all_reduce", op="SUM", waits=False)
    assert [message[1] for _, message in ranks.answers()] == [2, 2, 3, 3, 4, 4]


def test_a_send_and_its_receive_meet_by_member_and_tag():
    ranks = Ranks(2)
    ranks.call(0, "send", peer=1, tag=5, parts=[0, 64], subject="to rank 1")
    ranks.call(0, "send", peer=1, tag=4, parts=[128, 192], subject="to rank 1")
    ranks.call(1, "recv", peer=0, tag=4, subject="from rank 0")
    assert ranks.answers() == [(0, ["done", 3, []]), (1, ["done", 2, [0, [128, 192]]])]


def test_a_send_of_another_size_than_the_receive_is_named_on_both_sides():
    ranks = Ranks(2)
    ranks.call(0, "send", peer=1, subject="to rank 1")
    ranks.call(1, "recv", peer=0, subject="from rank 0", leaves=[[[2], "float32"]], line=9)
    assert ranks.matcher.finding.lines == (
        "rank 0: send to rank 1 float32[4] at train.py:1",
        "rank 1: recv from rank 0 float32[2] at train.py:9",
    )


def test_sends_in_a_circle_are_found():
    ranks = Ranks(3)
    for rank in range(3):
        ranks.call(rank, "send", peer=(rank + 1) % 3, subject=f"to rank {(rank + 1) % 3}")
    assert ranks.found().error == "ReplicasBlocked"


def received(schedule):
    """Returns in which order rank 0 receives what ranks 1 and 2 send."""
    ranks = Ranks(3, schedule)
    ranks.call(2, "send", peer=0, subject="to rank 0")
    ranks.call(0, "recv", peer=ANY, subject="from any rank")
    assert ranks.found() is None
    assert ranks.answers() == []  # rank 1 may still send
    ranks.call(1, "send", peer=0, subject="to rank 0")
    order = []
    for _ in range(2):
        assert ranks.found() is None
        order += [message[2][0] for rank, message in ranks.answers() if rank == 0]
        for rank in order:
            ranks.end(rank)
        ranks.call(0, "recv", peer=ANY, subject="from any rank")
    assert ranks.found().error == "ReplicasBlocked"
    return order


def test_a_receive_from_any_rank_takes_what_the_schedule_chooses_when_no_other_send_can_come():
    assert received(InOrder()) == [1, 2]
    found = {tuple(received(Seeded(seed))) for seed in range(8)}
    assert found == {(1, 2), (2, 1)}


def test_splits_that_do_not_fit_are_named_by_the_two_ranks():
    ranks = Ranks(2)
    ranks.call(0, "all_to_all", sizes=[[1, 2], [1, 1]])
    ranks.call(1, "all_to_all", sizes=[[1, 1], [1, 1]])
    assert "Rank 0 sends 2 elements to rank 1, which expects 1." in ranks.matcher.finding.text


def test_ranks_that_create_groups_in_different_order_are_found():
    ranks = Ranks(3)
    ranks.join(0, "1", [0, 1])
    ranks.join(1, "1", [1, 2])
    ranks.join(2, "2", [1, 2])
    lines = ranks.found().lines
    assert "new_group group 1 of ranks 0, 1" in lines[0]
    assert "new_group group 2 of ranks 1, 2" in lines[2]


def recorded(order):
    record = Record()
    ranks = Ranks(2, record=record)
    for rank in (0, 1):
        ranks.join(rank, str(rank + 1), [rank])
    ranks.answers()
    for rank in order:
        ranks.call(rank, "all_reduce", op="SUM", group=2 if rank else 1, line=rank + 1)
    return record.trace("/home/user").digest()


def test_a_record_does_not_depend_on_when_calls_of_different_groups_were_completed():
    assert recorded([0, 1]) == recorded([1, 0])


def test_calls_of_two_groups_that_ranks_began_in_different_orders_are_all_in_the_trace(tmp_path):
    record = Record()
    ranks = Ranks(2, record=record)
    for name in ("1", "2"):
        for rank in (0, 1):
            ranks.join(rank, name, [0, 1])
    for rank, order in ((0, (1, 2)), (1, (2, 1))):
        for group in order:
            ranks.call(rank, "all_reduce", op="SUM", group=group, line=group, waits=False)
    ranks.answers()
    assert len(record) == 5
    record.trace("/home/user").write(tmp_path / "a.jsonl")
    found = read(tmp_path / "a.jsonl").points
    assert [(one.kind, one.sites[0]) for one in found[-2:]] == [("all_reduce", f"train.py:{line}") for line in (1, 2)]
    assert len(found) == len(record)


def test_ranks_that_sleep_are_stuck_only_if_no_rank_computes_and_no_call_can_be_completed():
    ranks = Ranks(3)
    ranks.call(0, "barrier", leaves=[])
    assert ranks.matcher.running == [1, 2]
    assert ranks.matcher.stuck([1]) == set()  # rank 2 computes
    assert ranks.matcher.stuck([1, 2]) == {0, 1, 2}
    ranks.call(1, "recv", peer=ANY, subject="from any rank")
    ranks.call(2, "send", peer=1, subject="to rank 1", waits=False)
    assert ranks.matcher.stuck([2]) == set()  # rank 1 goes on, and may wake rank 2


def test_a_rank_that_sleeps_is_named_with_what_it_waits_for_and_its_call_that_is_not_complete():
    ranks = Ranks(2)
    ranks.call(0, "all_reduce", op="SUM", waits=False, line=7)
    ranks.end(1)
    ranks.matcher.block({0: "waits for a lock at train.py:8"})
    call = "all_reduce SUM float32[4] at train.py:7, which lacks rank 1"
    assert ranks.matcher.finding.lines == (
        f"rank 0: waits for a lock at train.py:8; not complete is {call}",
        "rank 1: has ended",
    )


def test_a_rank_beyond_its_limit_ends_the_run_and_the_first_finding_stays():
    ranks = Ranks(2)
    ranks.call(0, "barrier", leaves=[], line=3)
    ranks.matcher.exceed(1, 5.0, " at train.py:9")
    assert ranks.matcher.finding.error == "PeerFailed"
    assert ranks.matcher.finding.lines == (
        "rank 0: waits in barrier at train.py:3 for rank 1",
        "rank 1: neither waits nor has ended at train.py:9",
    )
    ranks.matcher.exceed(0, 5.0, "")
    assert ranks.matcher.finding.text.startswith("Rank 1 has neither called nor ended for 5 s")


def test_a_spawned_rank_that_fails_ends_no_other_one_until_one_waits_for_it():
    ranks = Ranks(3, ends_all=False)
    ranks.join(0, "1", [0, 1])
    ranks.join(1, "1", [0, 1])
    ranks.answers()
    ranks.end(2, code=3, text="called sys.exit(3)")
    assert ranks.found() is None
    for rank in (0, 1):
        ranks.call(rank, "barrier", group=1)
    assert len(ranks.answers()) == 2
    ranks.call(0, "barrier")
    finding = ranks.found()
    assert finding.error == "PeerFailed"
    assert finding.lines[1:] == ("rank 1: neither waits nor has ended", "rank 2: called sys.exit(3)")
