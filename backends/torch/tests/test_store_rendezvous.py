"""The rendezvous in a store, with other programs' values in it and another job's token.  Clauses: K-3, K-4, K-6."""

import threading
import time
from typing import Any

import pytest
from torch import distributed

from simstrategy.errors import BackendUnavailable, InvalidArgument, PeerFailed
from simstrategy.peers import LOOPBACK, ControlChannel, Hello, Opening
from simstrategy_torch import rendezvous
from simstrategy_torch.store_rendezvous import rendezvous_in_store
from simstrategy_torch.transports import GLOO

TIMEOUT_S = 0.2


def opening(rank: int) -> Opening:
    settings: dict[str, str | int] = {"a different world_size": 2}
    return Opening("gloo", rank, 2, "127.0.0.1:1", settings, TIMEOUT_S, time.monotonic() + TIMEOUT_S)


def open_rank(store: Any, rank: int) -> ControlChannel:
    return rendezvous_in_store(store, opening(rank), LOOPBACK, is_file=True)


GARBAGE = {
    "text": b"nonsense",
    "another JSON value": b"[1, 2]",
    "brackets": b"[" * 60_000,
    "bytes": b"\xff\xfe",
    "another rank": Hello(0, {}, LOOPBACK, 9, "00").encode(),
    "a token of other letters": Hello(1, {}, LOOPBACK, 9, "zz").encode(),
    "a long hello": Hello(1, {"what": "x" * 5000}, LOOPBACK, 9, "00").encode(),
    "what cannot be printed": Hello(1, {"\x1b[2J": 1}, LOOPBACK, 9, "00").encode(),
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_what_is_no_hello_is_named_with_its_rank(garbage: bytes) -> None:
    store = distributed.HashStore()
    store.set("here/1", garbage)
    with pytest.raises(
        PeerFailed, match=r"open in worker 0 of 2: 127.0.0.1:1 has no valid hello of rank 1 \("
    ) as raised:
        open_rank(store, 0)
    assert "start every rank anew" in str(raised.value)


def test_two_ranks_connect_through_a_store() -> None:
    store = distributed.HashStore()
    channels: dict[int, ControlChannel] = {}
    threads = [
        threading.Thread(target=lambda rank=rank: channels.update({rank: open_rank(store, rank)})) for rank in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10.0)
    assert sorted(channels) == [0, 1]
    other = threading.Thread(target=lambda: channels[1].exchange(b"one", 5.0))
    other.start()
    assert channels[0].exchange(b"zero", 5.0) == (b"zero", b"one")
    other.join(10.0)
    for channel in channels.values():
        channel.close()


class LateStore:
    """A store that shows a value only after the first look at another key: rank 0 fails between two looks."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.set, self.get = store.set, store.get

    def check(self, keys: list[str]) -> bool:
        found: bool = self.store.check(keys)
        if keys == ["here/0"] and not found:
            settings: dict[str, str | int] = {"a different world_size": 3}
            self.store.set("here/0", Hello(0, settings, LOOPBACK, 9, "00").encode())
            self.store.set("failed", "the reason of rank 0")
        return found


def test_a_rank_compares_the_hellos_although_rank_0_has_failed_already() -> None:
    with pytest.raises(InvalidArgument, match="a different world_size: 2 here and 3 in worker 0"):
        open_rank(LateStore(distributed.HashStore()), 1)


def test_the_reason_of_rank_0_is_reported() -> None:
    store = distributed.HashStore()
    store.set("failed", "the reason")
    with pytest.raises(PeerFailed, match="open in worker 1 of 2: rank 0 reports: the reason"):
        open_rank(store, 1)


def test_a_reason_that_another_program_set_is_cut_and_can_be_printed() -> None:
    store = distributed.HashStore()
    store.set("failed", b"\xff\x1b\n" * 500_000)
    with pytest.raises(PeerFailed) as raised:
        open_rank(store, 1)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 5000


def test_rank_0_takes_no_reason_from_another_program() -> None:
    store = distributed.HashStore()
    store.set("failed", "nonsense")
    with pytest.raises(PeerFailed, match="rank 1 did not come"):
        open_rank(store, 0)


@pytest.mark.parametrize("value", [b"abc", b"9" * 40, b"\xff"], ids=["a word", "a huge number", "a byte"])
def test_a_damaged_counter_of_openings_is_an_error_of_ours(value: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    store = distributed.HashStore()
    store.set("simstrategy/0/openings/0", value)
    monkeypatch.setattr(rendezvous, "open_store", lambda _place, _seconds: store)
    with pytest.raises(
        BackendUnavailable, match=r"the values at 127.0.0.1:1 are no rendezvous of this job \("
    ) as raised:
        rendezvous.open_gloo(rank=0, world_size=2, init_method="tcp://127.0.0.1:1", timeout_s=TIMEOUT_S)
    assert "start every rank anew" in str(raised.value)


def test_a_transport_that_finds_nonsense_in_the_store_ends_every_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gloo reads the addresses of all processes from the store, and raises ValueError and others for nonsense."""
    store = distributed.HashStore()
    monkeypatch.setattr(rendezvous, "open_store", lambda _place, _seconds: store)
    both = threading.Barrier(2)
    errors: dict[int, Exception] = {}

    def connect(_store: Any, rank: int, *_: Any) -> Any:
        both.wait(5.0)
        if rank == 0:
            raise ValueError("basic_string::_M_create\nat some address")
        while not errors:
            threading.Event().wait(0.001)
        raise RuntimeError("Connect timeout")

    transport = GLOO._replace(connect=connect)

    def open_one(rank: int) -> None:
        try:
            rendezvous.open_processes(transport, 1, rank, 2, "tcp://127.0.0.1:1", 5.0)
        except Exception as error:  # noqa: BLE001 - the outcome of the rank
            errors[rank] = error

    threads = [threading.Thread(target=open_one, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10.0)
    for rank in range(2):
        assert isinstance(errors[rank], PeerFailed), errors
        assert f"open in worker {rank} of 2: worker 0 could not connect: ValueError: basic_string::_M_create" in str(
            errors[rank]
        )


def test_a_process_with_another_secret_of_the_job_cannot_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    """It can read the store, where the tokens of the listeners are."""
    store = distributed.HashStore()
    monkeypatch.setenv("SIMSTRATEGY_TOKEN", "the secret")
    errors: list[PeerFailed] = []

    def first() -> None:
        try:
            open_rank(store, 0)
        except PeerFailed as error:
            errors.append(error)

    thread = threading.Thread(target=first)
    thread.start()
    while not store.check(["here/0"]):
        threading.Event().wait(0.001)
    monkeypatch.setenv("SIMSTRATEGY_TOKEN", "another")
    with pytest.raises(PeerFailed, match=r"worker 0 cannot be reached at .*: ?\d+ \(it refused the token"):
        open_rank(store, 1)
    thread.join(10.0)
    assert "rank 1 did not come" in str(errors[0])
    assert "1 connection without the token refused" in str(errors[0])
