"""The rendezvous at rank 0 and its handshake, with strangers; each rank is a thread.  Clauses: K-3, K-4, K-5, K-6."""

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from simstrategy.errors import BackendUnavailable, InvalidArgument, PeerFailed
from simstrategy.peers import (
    LOOPBACK,
    ControlChannel,
    Hello,
    Listener,
    Opening,
    connect_all,
    free_port,
    job_token,
    rendezvous_at_rank_0,
    require_timeout,
)
from simstrategy.peers.handshake import CLAIM_BYTES, MAGIC, NONCE_BYTES, HandshakeFailed, connect, proof

pytestmark = pytest.mark.slow
SECRET = b"the secret of this job"
TIMEOUT_S = 0.4
BOUND_S = TIMEOUT_S + 2.5
"""An opening may take so long: its time limit, the wait for rank 0's answer, and a slow machine."""
Outcome = ControlChannel | Exception


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Fails a test that leaves a socket open or a thread alive; what ends beside the test is not its doing."""

    def held() -> tuple[set[str], set[threading.Thread]]:
        links = [f"/proc/self/fd/{one}" for one in os.listdir("/proc/self/fd")]
        found = [os.readlink(one) for one in links if os.path.exists(one) or os.path.islink(one)]
        return {one for one in found if one.startswith("socket:")}, set(threading.enumerate())

    sockets, threads = held()
    yield
    sockets_now, threads_now = held()
    assert sockets_now - sockets == set()
    assert threads_now - threads == set()


@pytest.fixture
def port() -> int:
    return free_port(LOOPBACK)


def opening(rank: int, port: int, *, size: int = 3, timeout_s: float = TIMEOUT_S, **settings: str | int) -> Opening:
    alike = {"a different world_size": size, "different numbers of replicas": 1} | settings
    return Opening("some", rank, size, f"{LOOPBACK}:{port}", alike, timeout_s, time.monotonic() + timeout_s)


def open_rank(rank: int, port: int, secret: bytes = SECRET, **options: Any) -> Outcome:
    try:
        return rendezvous_at_rank_0(opening(rank, port, **options), LOOPBACK, port, secret)
    except Exception as error:  # noqa: BLE001 - the outcome of the rank
        return error


def together(*ranks: Callable[[], Outcome]) -> list[Outcome]:
    """Returns the outcome of each rank; all of them open at once, and end within the bound."""
    outcomes: list[Any] = [None] * len(ranks)

    def run(number: int) -> None:
        outcomes[number] = ranks[number]()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(ranks))]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20.0)
    assert time.monotonic() - begun < BOUND_S
    return outcomes


def all_three(port: int) -> list[Outcome]:
    return together(*[lambda rank=rank: open_rank(rank, port, timeout_s=5.0) for rank in range(3)])


def require_working(channels: list[Outcome]) -> None:
    """Exchanges notes on all channels, and closes them."""
    assert all(isinstance(one, ControlChannel) for one in channels), channels
    got = together(*[lambda one=one: one.exchange(b"%d" % one.rank, 5.0) for one in channels])
    assert got == [(b"0", b"1", b"2")] * 3
    for one in channels:
        one.close()


def texts(outcomes: list[Outcome], kind: type[Exception]) -> list[str]:
    assert all(isinstance(one, kind) for one in outcomes), outcomes
    return [str(one) for one in outcomes]


def stranger(port: int) -> socket.socket:
    """Connects as soon as rank 0 listens."""
    while True:
        try:
            return socket.create_connection((LOOPBACK, port), timeout=5.0)
        except ConnectionRefusedError:
            threading.Event().wait(0.005)


def test_three_ranks_connect_and_exchange(port: int) -> None:
    require_working(all_three(port))


GARBAGE = {
    "nothing": b"",
    "text": b"GET / HTTP/1.1\r\n\r\n",
    "a rank and an address as JSON": b'[1, ["127.0.0.1", 9]]\n',
    "60 kB of brackets": b"[" * 60_000,
    "half a claim": bytes(CLAIM_BYTES // 2),
    "a claim without a proof": bytes(CLAIM_BYTES + 4),
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_strangers_at_the_rendezvous_neither_join_nor_delay_nor_end_it(port: int, garbage: bytes) -> None:
    ends: list[socket.socket] = []

    def disturb_and_join() -> Outcome:
        for _ in range(5):
            ends.append(stranger(port))
            try:
                ends[-1].sendall(garbage)
            except ConnectionError:
                continue
        return open_rank(1, port, timeout_s=5.0)

    outcomes = together(
        lambda: open_rank(0, port, timeout_s=5.0), disturb_and_join, lambda: open_rank(2, port, timeout_s=5.0)
    )
    for end in ends:
        end.close()
    require_working(outcomes)


def test_more_strangers_than_are_served_beside_each_other_are_closed(port: int) -> None:
    ends: list[socket.socket] = []

    def disturb_and_join() -> Outcome:
        ends.extend(stranger(port) for _ in range(80))
        return open_rank(1, port, timeout_s=5.0)

    outcomes = together(
        lambda: open_rank(0, port, timeout_s=5.0), disturb_and_join, lambda: open_rank(2, port, timeout_s=5.0)
    )
    for end in ends:
        end.close()
    require_working(outcomes)


@pytest.mark.parametrize("token", [b"", b"another secret"], ids=["no token", "another token"])
def test_a_process_with_another_token_is_refused_and_every_rank_has_an_error(port: int, token: bytes) -> None:
    outcomes = together(lambda: open_rank(0, port), lambda: open_rank(1, port, token), lambda: open_rank(2, port))
    refused = texts([outcomes[1]], BackendUnavailable)[0]
    assert refused.startswith(
        f"The backend 'some', open in worker 1 of 3, cannot reach the others at {LOOPBACK}:{port}"
    )
    assert "it refused the token of this process. Set SIMSTRATEGY_TOKEN to the same secret" in refused
    missing = (
        f"rank 1 did not come to {LOOPBACK}:{port} within {TIMEOUT_S:g} s (1 connection without the token refused)"
    )
    for text in texts([outcomes[0], outcomes[2]], PeerFailed):
        assert missing in text


def test_a_program_that_only_repeats_a_greeting_is_no_rank_0(port: int) -> None:
    """It sends the magic number, and proves nothing."""
    with closing(socket.create_server((LOOPBACK, port))) as server:

        def pretend() -> Outcome:
            connection, _ = server.accept()
            with connection:
                connection.sendall(MAGIC + bytes(NONCE_BYTES))
                received = b""
                while len(received) < CLAIM_BYTES:
                    received += connection.recv(1000)
                assert SECRET not in received
                connection.sendall(b"x" * 32)
            return TimeoutError()

        outcomes = together(pretend, lambda: open_rank(1, port))
    assert "it did not prove that it has the token" in texts(outcomes[1:], BackendUnavailable)[0]


def test_another_program_at_the_address_of_rank_0_is_named(port: int) -> None:
    with closing(socket.create_server((LOOPBACK, port))) as server:
        refused = texts(together(lambda: open_rank(0, port)), BackendUnavailable)[0]
        assert f"cannot reach the others at {LOOPBACK}:{port}: Address already in use" in refused
        silent = texts(together(lambda: open_rank(1, port)), BackendUnavailable)[0]
        assert f"it did not answer within {TIMEOUT_S:.1f} s" in silent
        server.accept()[0].close()

        def talk() -> Outcome:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            return TimeoutError()

        outcomes = together(talk, lambda: open_rank(1, port))
        assert "another program answered" in texts(outcomes[1:], BackendUnavailable)[0]


def test_two_processes_with_one_rank_are_named_on_every_rank(port: int) -> None:
    outcomes = together(lambda: open_rank(0, port), lambda: open_rank(1, port), lambda: open_rank(1, port))
    for text in texts(outcomes, PeerFailed):
        assert f"two processes came as rank 1, and rank 2 did not come to {LOOPBACK}:{port} so far" in text


def test_a_missing_rank_is_named_on_every_other_rank(port: int) -> None:
    for text in texts(together(lambda: open_rank(0, port), lambda: open_rank(2, port)), PeerFailed):
        assert f"rank 1 did not come to {LOOPBACK}:{port} within {TIMEOUT_S:g} s. Start every rank from 0 to 2" in text


def test_different_settings_are_named_on_every_rank(port: int) -> None:
    other = {"different numbers of replicas": 2}
    outcomes = together(lambda: open_rank(0, port), lambda: open_rank(1, port, **other), lambda: open_rank(2, port))
    first, second, third = texts(outcomes, InvalidArgument)
    for text in (first, third):
        assert "started with different numbers of replicas: 1 here and 2 in worker 1" in text
    assert "started with different numbers of replicas: 2 here and 1 in worker 0" in second


def test_a_process_that_ends_before_all_have_come_is_named_on_every_other_rank(port: int) -> None:
    """Rank 3 never comes, and the time limit is not the reason."""
    options: dict[str, Any] = {"size": 4, "timeout_s": 20.0}

    def join_and_end() -> Outcome:
        hello = Hello(1, opening(1, port, size=4).settings, LOOPBACK, 9, "00")
        with connect((LOOPBACK, port), SECRET, 1, time.monotonic() + 5.0, hello=hello.encode(), retry=True):
            threading.Event().wait(0.3)  # rank 2 joins meanwhile
        return TimeoutError()

    outcomes = together(lambda: open_rank(0, port, **options), lambda: open_rank(2, port, **options), join_and_end)
    for text in texts(outcomes[:2], PeerFailed):
        assert "worker 1 ended or lost the connection before all had come" in text


HELLOS = {
    "deep": b"[" * 4000,
    "a list": b"[1, 2]",
    "another rank": Hello(2, {}, LOOPBACK, 9, "00").encode(),
    "a port too high": Hello(1, {}, LOOPBACK, 1 << 16, "00").encode(),
    "a token of other letters": Hello(1, {}, LOOPBACK, 9, "zz").encode(),
    "a nest of settings": json.dumps({**Hello(1, {}, LOOPBACK, 9, "00")._asdict(), "settings": {"a": []}}).encode(),
    "bytes": b"\xff\xfe",
    "too long": b"1" * 5000,
    "an address that cannot be printed": Hello(1, {}, "\ud800\x1b[2J", 9, "00").encode(),
    "a setting that cannot be printed": Hello(1, {"what\n": "\x07"}, LOOPBACK, 9, "00").encode(),
}


@pytest.mark.parametrize("data", HELLOS.values(), ids=HELLOS)
def test_an_invalid_hello_of_a_process_with_the_token_is_refused(port: int, data: bytes) -> None:
    ends: list[socket.socket] = []

    def join_wrongly() -> Outcome:
        try:
            ends.append(connect((LOOPBACK, port), SECRET, 1, time.monotonic() + TIMEOUT_S, hello=data, retry=True))
        except HandshakeFailed as error:
            return error
        return TimeoutError()

    first, _ = together(lambda: open_rank(0, port, size=2), join_wrongly)
    for end in ends:
        end.close()
    assert "rank 1 did not come" in texts([first], PeerFailed)[0]


def test_a_process_with_the_token_and_a_rank_of_no_process_does_not_join(port: int) -> None:
    def join_as_rank_7_and_as_rank_1() -> Outcome:
        hello = Hello(7, opening(7, port, size=2).settings, LOOPBACK, 9, "00").encode()
        with connect((LOOPBACK, port), SECRET, 7, time.monotonic() + TIMEOUT_S, hello=hello, retry=True):
            return open_rank(1, port, size=2)

    channels = together(lambda: open_rank(0, port, size=2), join_as_rank_7_and_as_rank_1)
    assert [one.size for one in channels if isinstance(one, ControlChannel)] == [2, 2], channels
    for one in channels:
        assert isinstance(one, ControlChannel)
        one.close()


ANSWERS = {
    "too long": ((1 << 21).to_bytes(4), "sent an invalid answer (it has 2097152 bytes, and 1048576 are allowed)"),
    "no JSON": ((4).to_bytes(4) + b"\xff\xff\xff\xff", "sent an invalid answer ('utf-8' codec"),
    "deep": ((60_000).to_bytes(4) + b"[" * 60_000, "sent an invalid answer (it has more than 8 levels)"),
    "no answer": ((2).to_bytes(4) + b"{}", "sent an invalid answer (it is no answer)"),
    "half": ((100).to_bytes(4) + b"{", "ended or lost the connection before all had come"),
}


@pytest.mark.parametrize(("data", "reason"), ANSWERS.values(), ids=ANSWERS)
def test_an_invalid_answer_of_rank_0_is_named(port: int, data: bytes, reason: str) -> None:
    listener = Listener(LOOPBACK, port, SECRET, 1)

    def answer() -> Outcome:
        joined = listener.accept(time.monotonic() + 5.0, {})
        joined.connection.setblocking(True)
        joined.connection.sendall(data)
        joined.connection.close()
        return TimeoutError()

    outcomes = together(answer, lambda: open_rank(1, port))
    listener.close()
    assert f"worker 0 {reason}" in texts(outcomes[1:], PeerFailed)[0]


def test_a_rank_that_comes_after_the_difference_receives_the_reason_too(port: int) -> None:
    def open_late() -> Outcome:
        threading.Event().wait(0.3)
        return open_rank(2, port, timeout_s=10.0)

    other = {"different numbers of replicas": 2}
    outcomes = together(
        lambda: open_rank(0, port, timeout_s=10.0), lambda: open_rank(1, port, timeout_s=10.0, **other), open_late
    )
    assert "1 here and 2 in worker 1" in texts(outcomes, InvalidArgument)[2]


@pytest.mark.parametrize("garbage", [b"", bytes(CLAIM_BYTES // 2)], ids=["silent", "half a claim"])
def test_strangers_that_hold_every_place_do_not_keep_a_rank_waiting(port: int, garbage: bytes) -> None:
    """The time limit of the rank is below the time that a handshake may take."""
    ends: list[socket.socket] = []

    def fill_and_join() -> Outcome:
        for _ in range(100):
            ends.append(stranger(port))
            try:
                ends[-1].sendall(garbage)
            except ConnectionError:
                continue
        return open_rank(1, port, size=2, timeout_s=1.0)

    channels = together(lambda: open_rank(0, port, size=2, timeout_s=5.0), fill_and_join)
    for one in (*channels, *ends):
        assert isinstance(one, (ControlChannel, socket.socket)), one
        one.close()


def test_a_rank_joins_while_strangers_connect_without_a_pause(port: int) -> None:
    ends: list[socket.socket] = []
    joined = threading.Event()

    def flood() -> Outcome:
        while not joined.is_set():
            try:
                ends.append(socket.create_connection((LOOPBACK, port), timeout=0.5))
            except OSError:
                continue
            if len(ends) > 300:
                ends.pop(0).close()
        return TimeoutError()

    def join() -> Outcome:
        threading.Event().wait(0.2)  # the strangers have every place by then
        try:
            return open_rank(1, port, size=2, timeout_s=1.5)
        finally:
            joined.set()

    channels = together(lambda: open_rank(0, port, size=2, timeout_s=2.5), flood, join)
    for one in ends:
        one.close()
    for channel in (channels[0], channels[2]):
        assert isinstance(channel, ControlChannel), channels
        channel.close()


def test_a_rank_that_was_closed_among_strangers_connects_again_to_another_rank(port: int) -> None:
    """A listener that closes the first connection, and then is that of the group."""
    token = b"t" * 16
    listener = Listener(LOOPBACK, 0, SECRET + token, 2)
    hellos = {0: Hello(0, {}, LOOPBACK, port, token.hex())}
    with closing(socket.create_server((LOOPBACK, port))) as first:

        def close_one_then_listen() -> Outcome:
            first.accept()[0].close()
            connection, _ = first.accept()
            # What the listener would do: this test's server stands in front of it.
            with connection, closing(socket.create_connection((LOOPBACK, listener.port))) as behind:
                sizes = (len(MAGIC) + NONCE_BYTES, CLAIM_BYTES + 4, 32)
                connection.sendall(behind.recv(sizes[0], socket.MSG_WAITALL))
                behind.sendall(connection.recv(sizes[1], socket.MSG_WAITALL))
                connection.sendall(behind.recv(sizes[2], socket.MSG_WAITALL))
            return TimeoutError()

        def accept() -> Outcome:
            listener.accept(time.monotonic() + 5.0, {}).connection.close()
            return TimeoutError()

        def join() -> Outcome:
            own = Listener(LOOPBACK, 0, SECRET, 2)
            try:
                return connect_all(opening(1, port, size=2, timeout_s=5.0), own, hellos, SECRET)
            except PeerFailed as error:
                return error
            finally:
                own.close()

        channel = together(close_one_then_listen, accept, join)[2]
    listener.close()
    assert isinstance(channel, ControlChannel), channel
    channel.close()


def test_a_listener_holds_a_limited_number_of_connections_without_a_proof(port: int) -> None:
    with closing(Listener(LOOPBACK, port, SECRET, 1)) as listener:
        ends = [stranger(port) for _ in range(70)]
        with pytest.raises(TimeoutError):
            listener.accept(time.monotonic() + 0.3, {})
        for end in ends:
            end.close()
        assert listener.refused == 70 - 64


@pytest.mark.parametrize("extra", [b"x", b"x" * 5000], ids=["one byte", "many bytes"])
def test_bytes_after_a_hello_are_refused(port: int, extra: bytes) -> None:
    with closing(Listener(LOOPBACK, port, SECRET, 1)) as listener, stranger(port) as end:

        def prove() -> Outcome:
            nonce, number, mine = end.recv(100)[len(MAGIC) :], (1).to_bytes(4), bytes(NONCE_BYTES)
            claim = number + mine + proof(SECRET, b"connect", number, nonce, mine)
            end.sendall(claim + (2).to_bytes(4) + b"{}" + extra)
            return TimeoutError()

        def accept() -> Outcome:
            try:
                listener.accept(time.monotonic() + 0.5, {}).connection.close()
            except TimeoutError as error:
                return error
            return RuntimeError()

        texts(together(accept, prove), TimeoutError)
        assert listener.refused == 1


def test_connections_that_exist_are_closed_where_another_rank_cannot_be_reached(port: int) -> None:
    kept, far = socket.socketpair()
    hellos = {1: Hello(1, {}, LOOPBACK, port, "00")}
    with closing(Listener(LOOPBACK, 0, SECRET, 1)) as listener, far:
        with pytest.raises(PeerFailed, match=f"worker 1 cannot be reached at {LOOPBACK}:{port}") as raised:
            connect_all(opening(2, port), listener, hellos, SECRET, {0: kept})
        far.settimeout(1.0)
        assert far.recv(1) == b""
        assert raised.value.__cause__ is not None


def test_a_stranger_at_another_rank_cannot_join_either(port: int) -> None:
    """Its listener has a token of its own, which only the hellos contain."""
    token = b"t" * 16
    listener = Listener(LOOPBACK, 0, SECRET + token, 2)
    hellos = {0: Hello(0, {}, LOOPBACK, listener.port, token.hex())}
    deadline = time.monotonic() + TIMEOUT_S

    def join_wrongly() -> Outcome:
        try:
            connect((LOOPBACK, listener.port), SECRET, 1, deadline)
        except HandshakeFailed as error:
            return error
        return TimeoutError()

    def accept() -> Outcome:
        try:
            return connect_all(opening(0, port, size=2), listener, hellos, SECRET)
        except PeerFailed as error:
            return error

    accepted, refused = together(accept, join_wrongly)
    listener.close()
    assert "refused the token" in str(refused)
    assert "rank 1 did not come" in texts([accepted], PeerFailed)[0]


def test_a_proof_of_one_connection_proves_nothing_on_another(port: int) -> None:
    listener = Listener(LOOPBACK, port, SECRET, 2)

    def replay() -> Outcome:
        with stranger(port) as first, stranger(port) as second:
            nonces = [one.recv(100)[len(MAGIC) :] for one in (first, second)]
            assert nonces[0] != nonces[1]
            number, mine = (1).to_bytes(4), bytes(NONCE_BYTES)
            claim = number + mine + proof(SECRET, b"connect", number, nonces[0], mine) + bytes(4)
            second.sendall(claim)
            assert second.recv(100) == bytes(32)
            first.sendall(claim)
            assert first.recv(100) == proof(SECRET, b"accept", number, nonces[0], mine)
        return TimeoutError()

    def accept() -> Outcome:
        joined = listener.accept(time.monotonic() + 5.0, {})
        joined.connection.close()
        return RuntimeError(joined.rank)

    outcomes = together(accept, replay)
    assert outcomes[0].args == (1,)
    assert isinstance(outcomes[1], TimeoutError)
    assert listener.refused == 1
    listener.close()


def test_the_token_of_a_job_is_its_secret_or_torchruns_run() -> None:
    assert job_token({"SIMSTRATEGY_TOKEN": "one", "TORCHELASTIC_RUN_ID": "two"}) == job_token(
        {"SIMSTRATEGY_TOKEN": "one"}
    )
    found = [job_token({}), job_token({"SIMSTRATEGY_TOKEN": "one"}), job_token({"TORCHELASTIC_RUN_ID": "two"})]
    assert len(set(found)) == 3
    assert b"one" in found[1]


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), float("inf"), 10**20, "60", None, [1]])
def test_a_time_limit_that_no_system_can_wait_is_refused(seconds: Any) -> None:
    with pytest.raises(
        InvalidArgument, match=r"timeout_s is (a number of seconds above 0|at most 1000000 seconds), got"
    ):
        require_timeout(seconds)


def test_a_free_port_is_none_that_the_system_gives_to_outgoing_connections():
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    found = [free_port(LOOPBACK) for _ in range(40)]
    assert all(1024 < port < first for port in found)
    assert len(set(found)) > 30
    with socket.create_server((LOOPBACK, found[0])):
        assert free_port(LOOPBACK) != found[0]


def test_without_an_address_of_this_machine_no_port_is_free():
    with pytest.raises(OSError, match=r"No port of 192\.0\.2\.1 is free"):
        free_port("192.0.2.1")
