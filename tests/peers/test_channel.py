"""The notes between processes: who is missing has a name, whatever is cut off, silent, or told at second hand."""

import os
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from simstrategy.errors import PeerFailed
from simstrategy_torch.mesh import Mesh


class Others:
    """The far ends of rank 1's connections, held by the test."""

    def __init__(self, size: int) -> None:
        pairs = {rank: socket.socketpair() for rank in range(size) if rank != 1}
        self.ends = {rank: pair[1] for rank, pair in pairs.items()}
        self.mesh = Mesh(1, {rank: pair[0] for rank, pair in pairs.items()})

    def says(self, rank: int, kind: bytes, data: bytes) -> None:
        self.ends[rank].sendall(kind + len(data).to_bytes(8) + data)

    def heard(self, rank: int) -> bytes:
        return self.ends[rank].recv(1 << 20)

    def close(self) -> None:
        self.mesh.close()
        for end in self.ends.values():
            end.close()


@pytest.fixture
def others() -> Iterator[Others]:
    made = Others(3)
    yield made
    made.close()


def failure(mesh: Mesh, timeout_s: float = 0.01) -> str:
    with pytest.raises(PeerFailed) as caught:
        mesh.exchange(b"mine", timeout_s)
    return str(caught.value)


def test_notes_come_in_rank_order_and_every_process_gets_ours(others: Others) -> None:
    others.says(2, b"n", b"two")
    others.says(0, b"n", b"")
    assert others.mesh.exchange(b"one", 1.0) == (b"", b"one", b"two")
    assert others.heard(0) == others.heard(2) == b"n" + (3).to_bytes(8) + b"one"


def test_a_process_may_be_one_exchange_ahead(others: Others) -> None:
    for rank in (0, 2):
        others.says(rank, b"n", b"first")
    others.says(2, b"n", b"second")
    assert others.mesh.exchange(b"", 1.0) == (b"first", b"", b"first")
    others.says(0, b"n", b"last")
    assert others.mesh.exchange(b"", 1.0) == (b"last", b"", b"second")


def test_alone_one_hears_oneself() -> None:
    mesh = Mesh(0, {})
    assert mesh.exchange(b"x", 0.0) == (b"x",)
    mesh.close()


def test_notes_larger_than_every_buffer_pass_each_other() -> None:
    one, two = socket.socketpair()
    meshes = Mesh(0, {1: one}), Mesh(1, {0: two})
    notes = os.urandom(5_000_000), os.urandom(4_000_000)
    got: list[Any] = []
    thread = threading.Thread(target=lambda: got.append(meshes[1].exchange(notes[1], 10.0)))
    thread.start()
    assert meshes[0].exchange(notes[0], 10.0) == notes
    thread.join()
    assert got == [notes]
    for mesh in meshes:
        mesh.close()


def test_who_ended_is_named_and_the_others_are_told(others: Others) -> None:
    others.says(2, b"n", b"here")
    others.ends[0].close()
    assert failure(others.mesh, 1.0) == "worker 0 ended or lost the connection"
    assert others.heard(2).endswith(b"0:worker 0 ended or lost the connection")


def test_a_note_that_arrived_counts_although_its_sender_has_ended(others: Others) -> None:
    for rank in (0, 2):
        others.says(rank, b"n", b"last words")
        others.ends[rank].close()
    assert others.mesh.exchange(b"", 1.0) == (b"last words", b"", b"last words")
    assert failure(others.mesh) == "workers 0, 2 ended or lost the connection"


def test_who_is_silent_is_named_when_the_time_is_over(others: Others) -> None:
    others.says(0, b"n", b"here")
    assert failure(others.mesh) == "worker 2 did not come within 0.01 s"


def test_half_a_note_is_none(others: Others) -> None:
    others.says(0, b"n", b"here")
    others.ends[2].sendall(b"n" + (100).to_bytes(8) + b"half")
    assert failure(others.mesh) == "worker 2 did not come within 0.01 s"


def test_what_another_found_out_reads_the_same_here(others: Others) -> None:
    others.says(0, b"f", b"2:worker 2 did not come within 60 s")
    assert failure(others.mesh, 60.0) == "worker 2 did not come within 60 s"
    assert others.heard(2).endswith(b"2:worker 2 did not come within 60 s")


def test_a_failure_is_told_again_at_once_to_whoever_asks(others: Others) -> None:
    first = failure(others.mesh)
    assert failure(others.mesh, 60.0) == first
    assert others.mesh.roll_call("anything") == first


def test_a_roll_call_finds_who_ended(others: Others) -> None:
    others.ends[2].close()
    said = others.mesh.roll_call("all_reduce ended with: closed")
    assert said == "worker 2 ended or lost the connection; all_reduce ended with: closed"


def test_a_roll_call_finds_who_is_silent(others: Others) -> None:
    others.says(0, b"f", b"")
    assert others.mesh.roll_call("all_reduce ended with: time").startswith("worker 2 did not answer; ")


def test_a_roll_call_that_all_answer_blames_nobody(others: Others) -> None:
    others.says(0, b"f", b"")
    others.says(2, b"f", b"")
    assert others.mesh.roll_call("it").startswith("all processes answered; it")


def test_looking_does_not_wait(others: Others) -> None:
    assert others.mesh.look() is None
    others.ends[0].close()
    assert others.mesh.look() == "worker 0 ended or lost the connection"


@pytest.mark.parametrize(
    "garbage", [b"GET / HTTP/1.1\r\n\r\n" * 10, b"f" + (3).to_bytes(8) + b"\xff\xfe\xfd", b"\x80\x04"]
)
def test_what_is_no_note_is_never_executed_and_harms_nobody(others: Others, garbage: bytes) -> None:
    others.says(0, b"n", b"here")
    others.ends[2].sendall(garbage)
    assert failure(others.mesh) in ("worker 2 did not come within 0.01 s", "worker 2 sent what is no note")


def test_closing_twice_and_asking_afterwards_are_harmless(others: Others) -> None:
    others.mesh.close()
    others.mesh.close()
    assert failure(others.mesh) == "the backend was closed"
