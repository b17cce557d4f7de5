"""The control channel of three processes, of which the test plays two: notes, faults, limits.  Clause: K-3."""

import os
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from simstrategy.errors import BackendUnavailable, InvalidArgument, PeerFailed
from simstrategy.peers import ControlChannel
from simstrategy.peers.connection import FAULT_BYTES_MAX, NOTE_BYTES_MAX


class Others:
    """The far ends of rank 1's connections, held by the test."""

    def __init__(self, size: int) -> None:
        pairs = {rank: socket.socketpair() for rank in range(size) if rank != 1}
        self.ends = {rank: pair[1] for rank, pair in pairs.items()}
        self.channel = ControlChannel("some", 1, {rank: pair[0] for rank, pair in pairs.items()})

    def sends(self, rank: int, kind: bytes, data: bytes) -> None:
        self.ends[rank].sendall(kind + len(data).to_bytes(8) + data)

    def received(self, rank: int) -> bytes:
        return self.ends[rank].recv(1 << 20)

    def close(self) -> None:
        self.channel.close()
        for end in self.ends.values():
            end.close()


@pytest.fixture
def others() -> Iterator[Others]:
    made = Others(3)
    yield made
    made.close()


def failure(channel: ControlChannel, timeout_s: float = 0.01) -> str:
    with pytest.raises(PeerFailed) as caught:
        channel.exchange(b"mine", timeout_s)
    text = str(caught.value)
    assert text.startswith("Backend 'some', exchange in worker 1 of 3: ")
    assert text.endswith("open the backend with a larger timeout_s.")
    return text.removeprefix("Backend 'some', exchange in worker 1 of 3: ").partition(". Read")[0]


def test_notes_come_in_rank_order_and_every_process_gets_ours(others: Others) -> None:
    others.sends(2, b"n", b"two")
    others.sends(0, b"n", b"")
    assert others.channel.exchange(b"one", 1.0) == (b"", b"one", b"two")
    assert others.received(0) == others.received(2) == b"n" + (3).to_bytes(8) + b"one"


def test_a_process_may_be_one_exchange_ahead(others: Others) -> None:
    for rank in (0, 2):
        others.sends(rank, b"n", b"first")
    others.sends(2, b"n", b"second")
    assert others.channel.exchange(b"", 1.0) == (b"first", b"", b"first")
    others.sends(0, b"n", b"last")
    assert others.channel.exchange(b"", 1.0) == (b"last", b"", b"second")


def test_a_group_of_one_process_returns_its_own_note() -> None:
    channel = ControlChannel("some", 0, {})
    assert channel.exchange(b"x", 0.0) == (b"x",)
    channel.close()


def test_notes_larger_than_every_buffer_pass_each_other() -> None:
    one, two = socket.socketpair()
    channels = ControlChannel("some", 0, {1: one}), ControlChannel("some", 1, {0: two})
    notes = os.urandom(5_000_000), os.urandom(4_000_000)
    got: list[Any] = []
    thread = threading.Thread(target=lambda: got.append(channels[1].exchange(notes[1], 10.0)))
    thread.start()
    assert channels[0].exchange(notes[0], 10.0) == notes
    thread.join()
    assert got == [notes]
    for channel in channels:
        channel.close()


def test_a_rank_that_ended_is_named_and_reported_to_the_others(others: Others) -> None:
    others.sends(2, b"n", b"here")
    others.ends[0].close()
    assert failure(others.channel, 1.0) == "worker 0 ended or lost the connection"
    assert others.received(2).endswith(b"0:worker 0 ended or lost the connection")


def test_a_note_that_arrived_counts_although_its_sender_has_ended(others: Others) -> None:
    for rank in (0, 2):
        others.sends(rank, b"n", b"last words")
        others.ends[rank].close()
    assert others.channel.exchange(b"", 1.0) == (b"last words", b"", b"last words")
    assert failure(others.channel) == "workers 0, 2 ended or lost the connection"


def test_a_rank_that_sends_nothing_is_named_after_the_time_limit(others: Others) -> None:
    others.sends(0, b"n", b"here")
    assert failure(others.channel) == "worker 2 did not come within 0.01 s"


def test_half_a_note_counts_as_missing(others: Others) -> None:
    others.sends(0, b"n", b"here")
    others.ends[2].sendall(b"n" + (100).to_bytes(8) + b"half")
    assert failure(others.channel) == "worker 2 did not come within 0.01 s"


def test_a_fault_that_another_rank_reports_has_the_same_text_here(others: Others) -> None:
    others.sends(0, b"f", b"2:worker 2 did not come within 60 s")
    assert failure(others.channel, 60.0) == "worker 2 did not come within 60 s"
    assert others.received(2).endswith(b"2:worker 2 did not come within 60 s")


def test_every_later_call_raises_the_same_fault_at_once(others: Others) -> None:
    first = failure(others.channel)
    assert failure(others.channel, 60.0) == first
    assert others.channel.probe_peers("all_reduce", "anything") == first
    assert others.channel.find_fault() == first
    with pytest.raises(PeerFailed, match=first):
        others.channel.require_alive("all_reduce")
    others.channel.report_fault("another", (0,))
    assert others.channel.failure == first


def test_a_probe_finds_the_rank_that_ended(others: Others) -> None:
    others.ends[2].close()
    said = others.channel.probe_peers("all_reduce", "closed")
    assert said == "worker 2 ended or lost the connection; all_reduce ended with: closed"


@pytest.mark.slow
def test_a_probe_finds_the_rank_that_does_not_answer(others: Others) -> None:
    others.sends(0, b"f", b"")
    assert others.channel.probe_peers("all_reduce", "time").startswith("worker 2 did not answer; ")


def test_a_probe_that_all_answer_names_no_rank(others: Others) -> None:
    others.sends(0, b"f", b"")
    others.sends(2, b"f", b"")
    assert others.channel.probe_peers("it", "time") == "all processes answered; it ended with: time"


def test_find_fault_does_not_wait(others: Others) -> None:
    assert others.channel.find_fault() is None
    others.ends[0].close()
    assert others.channel.find_fault() == "worker 0 ended or lost the connection"


GARBAGE = {
    "text": (b"GET / HTTP/1.1\r\n\r\n" * 10, "worker 2 sent a message of an unknown kind"),
    "brackets": (b"[" * 60_000, "worker 2 sent a message of an unknown kind"),
    "a pickle": (b"\x80\x04" * 9, "worker 2 sent a message of an unknown kind"),
    "half a head": (b"n\x00\x00", "worker 2 did not come within 0.01 s"),
    "no fault": (b"f" + (3).to_bytes(8) + b"\xff\xfe\xfd", "worker 2 sent an invalid message"),
    "a rank too high": (b"f" + (5).to_bytes(8) + b"3:why", "worker 2 sent an invalid message"),
    "a rank too long": (b"f" + (5003).to_bytes(8) + b"9" * 5000 + b":no", "worker 2 sent an invalid message"),
    "a note too long": (
        b"n" + (NOTE_BYTES_MAX + 1).to_bytes(8),
        f"worker 2 sent a message of {NOTE_BYTES_MAX + 1} bytes, and {NOTE_BYTES_MAX} are allowed",
    ),
    "a fault too long": (
        b"f" + (2**64 - 1).to_bytes(8),
        f"worker 2 sent a message of {2**64 - 1} bytes, and {FAULT_BYTES_MAX} are allowed",
    ),
}


@pytest.mark.parametrize(("garbage", "reason"), GARBAGE.values(), ids=GARBAGE)
def test_what_is_no_message_is_never_executed_and_its_rank_is_named_everywhere(
    others: Others, garbage: bytes, reason: str
) -> None:
    others.sends(0, b"n", b"here")
    others.ends[2].sendall(garbage)
    assert failure(others.channel, 0.01 if reason.endswith("0.01 s") else 10.0) == reason
    assert others.received(0).endswith(b"2:" + reason.encode())


def test_a_rank_may_not_be_two_exchanges_ahead(others: Others) -> None:
    others.ends[2].sendall((b"n" + bytes(8)) * 3)
    assert failure(others.channel, 10.0) == "worker 2 sent a note too many"


def test_a_rank_that_ends_in_the_middle_of_a_message_is_named(others: Others) -> None:
    others.sends(0, b"n", b"here")
    others.ends[2].sendall(b"n" + (100).to_bytes(8) + b"half")
    others.ends[2].close()
    assert failure(others.channel, 10.0) == "worker 2 ended or lost the connection"
    assert others.received(0).endswith(b"2:worker 2 ended or lost the connection")


def test_a_rank_that_sends_slowly_is_in_time(others: Others) -> None:
    others.sends(0, b"n", b"here")
    message = b"n" + (3).to_bytes(8) + b"two"

    def send() -> None:
        for one in message:
            threading.Event().wait(0.002)
            others.ends[2].sendall(bytes([one]))

    thread = threading.Thread(target=send)
    thread.start()
    assert others.channel.exchange(b"one", 10.0) == (b"here", b"one", b"two")
    thread.join()


def test_a_fault_keeps_its_first_reason_and_a_long_one_is_cut(others: Others) -> None:
    others.sends(0, b"f", b"2:first")
    others.sends(0, b"f", b"0:second")
    assert failure(others.channel, 10.0) == "first"
    others.received(2)
    channel = others.channel
    channel.failure = None
    channel.report_fault("é" * FAULT_BYTES_MAX, (1,))
    message = others.received(2)
    assert int.from_bytes(message[1:9]) == len(message) - 9 == FAULT_BYTES_MAX
    assert message.endswith(" …".encode())


def test_an_interrupt_while_waiting_is_reported_to_the_others(others: Others, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "sched_yield", interrupted)
    monkeypatch.setattr("simstrategy.peers.channel._SPIN_S", 10.0)  # a busy machine uses up 50 µs before it
    with pytest.raises(KeyboardInterrupt):
        others.channel.exchange(b"mine", 10.0)
    for rank in (0, 2):
        assert others.received(rank).endswith(b"1:worker 1 was interrupted by KeyboardInterrupt")


def test_a_fault_that_has_arrived_stops_the_next_call_of_the_framework(others: Others) -> None:
    others.channel.require_no_fault("all_reduce")
    others.sends(0, b"n", b"")
    others.sends(0, b"f", b"0:worker 0 was interrupted")
    with pytest.raises(PeerFailed, match="all_reduce in worker 1 of 3: worker 0 was interrupted"):
        others.channel.require_no_fault("all_reduce")
    assert others.received(2).endswith(b"0:worker 0 was interrupted")


def test_a_note_above_the_limit_is_refused_before_it_is_sent(others: Others) -> None:
    with pytest.raises(InvalidArgument, match=f"at most {NOTE_BYTES_MAX} bytes, got {NOTE_BYTES_MAX + 1}"):
        others.channel.exchange(bytes(NOTE_BYTES_MAX + 1), 10.0)
    assert others.channel.failure is None


def test_closing_twice_is_harmless_and_later_calls_are_refused(others: Others) -> None:
    others.channel.close()
    others.channel.close()
    for call in (lambda: others.channel.exchange(b"", 1.0), lambda: others.channel.require_alive("it")):
        with pytest.raises(BackendUnavailable, match="This backend 'some' was closed"):
            call()
    assert others.channel.find_fault() is None
    assert others.ends[0].recv(1) == b""
