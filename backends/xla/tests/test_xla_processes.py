"""Two processes through `jax.distributed` are a simulated cluster of two workers.  Clauses: K-1, K-2, K-3, K-4, K-5."""

import os
from collections.abc import Iterator
from typing import Any

import joined
import numpy as np
import pytest
from shares import one_in

import simstrategy as ss
from simstrategy.launch import Launcher

ANEW = (
    " Read the other processes' output and start all of them anew; where they only need longer, open the backend with "
    "a larger timeout_s."
)


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    with Launcher(2, preload=["simstrategy_xla"]) as opened:
        yield opened


def values(ended: Any) -> list[Any]:
    assert all(one.ok for one in ended), ended
    return [one.value for one in ended]


@pytest.mark.slow
@pytest.mark.parametrize("replicas", [1, 2])
def test_two_processes_come_to_what_a_simulated_cluster_comes_to(launcher: Launcher, replicas: int) -> None:
    launcher.restart_workers()
    found = values(launcher.run(joined.trained, [replicas]))
    wanted = ss.sim.Cluster(workers=2, replicas_per_worker=replicas).run(joined.training)
    for one, other in zip(found, wanted, strict=True):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-6)
    again = values(launcher.run(joined.trained, [replicas]))
    assert again == found, "a second opening in the same processes comes to the same bits"


@pytest.mark.slow
def test_processes_have_their_ranks_and_name_the_replicas_whose_requests_differ(launcher: Launcher) -> None:
    launcher.restart_workers()
    first, second = values(launcher.run(joined.described))
    assert first == second
    about, local, said = first
    name, spans, devices = about
    assert (name, spans, local) == ("xla_processes", True, 2)
    assert [(rank, process) for rank, process, _ in devices] == [(0, 0), (1, 0), (2, 1), (3, 1)]
    lines = said.splitlines()[1:]
    assert [line.partition(" at ")[0] for line in lines] == [
        f"  replica {rank}: all_reduce SUM float32[{2 + rank // 2}]" for rank in range(4)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("inside", [True, False], ids=["in a collective", "in an exchange"])
@pytest.mark.parametrize("which", [0, 1])
def test_a_process_that_dies_is_named_to_the_other(launcher: Launcher, which: int, inside: bool) -> None:
    launcher.restart_workers()
    ended = launcher.run(joined.one_dies, [which, inside])
    other = 1 - which
    assert ended[which].code == -9
    call = "all_reduce" if inside else "exchange"
    found = ended[other].value.partition("; all_reduce ended with: ")[0].removesuffix(ANEW)
    expected = f"Backend 'xla_processes', {call} in worker {other} of 2: worker {which} ended or lost the connection"
    assert found.removesuffix(".") == expected
    assert ended[other].value.endswith(ANEW)


@pytest.mark.slow
def test_a_process_that_does_not_come_is_named(launcher: Launcher) -> None:
    launcher.restart_workers()
    said, _ = values(launcher.run(joined.one_hangs))
    assert said == "Backend 'xla_processes', exchange in worker 0 of 2: worker 1 did not come within 0.2 s." + ANEW
    launcher.restart_workers()
    said, _ = values(launcher.run(joined.late))
    head, _, tail = said.partition("127.0.0.1:")
    assert head == "The backend 'xla_processes', open in worker 0 of 2: rank 1 did not come to "
    assert tail.partition(" ")[2] == ("within 0.3 s. Start every rank from 0 to 1 once, or give a larger timeout_s.")


@pytest.mark.slow
def test_different_numbers_of_replicas_are_named_in_all_processes(launcher: Launcher) -> None:
    launcher.restart_workers()
    said = (
        "InvalidArgument: The backend 'xla_processes', open in worker {} of 2: the processes were started with "
        "different numbers of replicas: {} here and {} in worker {}. Give each of them the same."
    )
    assert values(launcher.run(joined.unequal)) == [said.format(0, 1, 2, 1), said.format(1, 2, 1, 0)]


@pytest.mark.slow
def test_joining_after_jax_has_started_is_refused_with_what_to_do(launcher: Launcher) -> None:
    launcher.restart_workers()
    said = (
        "The backend 'xla_processes' joins other processes before JAX's first use, and JAX has started already. Open "
        "it before any other use of JAX, or call jax.distributed.initialize first."
    )
    assert values(launcher.run(joined.started)) == [said, said]


@pytest.mark.slow
def test_a_group_that_the_program_has_made_is_used(launcher: Launcher) -> None:
    launcher.restart_workers()
    assert values(launcher.run(joined.within)) == [[3.0], [3.0]]


STRANGERS = {
    "text": "GET / HTTP/1.1\r\n\r\n",
    "a rank and an address": '[1, ["127.0.0.1", 9]]\n',
    "brackets": "[" * 60_000 + "\n",
    "nothing": "",
}


@pytest.mark.slow
@pytest.mark.parametrize("data", one_in(2, STRANGERS.values()), ids=STRANGERS)
def test_another_program_that_connects_to_rank_0_is_refused_and_changes_nothing(launcher: Launcher, data: str) -> None:
    launcher.restart_workers()
    assert values(launcher.run(joined.with_a_stranger, [data])) == [[2.0], [2.0]]


@pytest.mark.slow
def test_a_collective_that_another_process_does_not_make_ends_after_the_time_limit(launcher: Launcher) -> None:
    """XLA waits for it inside the call that starts the program, and without a limit."""
    launcher.restart_workers()
    first, second = values(launcher.run(joined.one_waits_alone, timeout_s=20.0))
    assert first == "nothing"
    assert second == (
        "Backend 'xla_processes', all_reduce in worker 1 of 2: worker 0 did not answer; all_reduce ended with: it did "
        "not end within 0.5 s." + ANEW
    )


@pytest.mark.slow
def test_nothing_is_left_behind() -> None:
    with Launcher(2, preload=["simstrategy_xla"]) as opened:
        values(opened.run(joined.trained, [1]))
        processes, folder = opened.processes, opened.folder
    assert not folder.exists()
    assert not [one for one in processes if os.path.exists(f"/proc/{one}")]


WRONG = {
    "replicas": ({"replicas": 0}, "The backend 'xla_processes' takes a number of replicas of at least 1, got 0."),
    "timeout": ({"timeout_s": 0}, "timeout_s is a number of seconds above 0, got 0."),
    "rank": (
        {"rank": 2, "world_size": 2, "address": "127.0.0.1:1"},
        "The backend 'xla_processes' got rank 2 of world_size 2: ranks are 0 to 1.",
    ),
    "address": (
        {"rank": 0, "world_size": 2, "address": "here"},
        "address is \"host:port\" of rank 0, got 'here'.",
    ),
    "no size": (
        {"rank": 0, "address": "127.0.0.1:1"},
        (
            "The backend 'xla_processes' has no world_size: WORLD_SIZE is '' in the environment. Start the "
            "program with torchrun or simstrategy.launch, or give rank=, world_size= and address=."
        ),
    ),
}


@pytest.mark.parametrize(("options", "text"), WRONG.values(), ids=WRONG)
def test_impossible_settings_are_refused(options: Any, text: str) -> None:
    with pytest.raises(ss.errors.InvalidArgument) as raised:
        ss.backend("xla_processes", **options)
    assert str(raised.value) == text
