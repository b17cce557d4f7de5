"""What a rank makes of errors and results of calls of torch.distributed: in this process, without a group."""

from collections.abc import Callable
from pathlib import Path

import pytest

from simstrategy_conformance.c10d.answers import Asked, Place, Refused
from simstrategy_conformance.covering import Row

torch = pytest.importorskip("torch")

from simstrategy_conformance.c10d.ranks import joining, rank  # noqa: E402
from simstrategy_conformance.c10d.ranks.scene import refusing  # noqa: E402


@pytest.mark.parametrize(
    ("error", "is_lost"),
    [
        (NotImplementedError("barrier: the argument timeout is not supported"), False),
        (NotImplementedError("no call that has timed out can be repeated"), False),
        (TypeError("barrier() got an unexpected keyword argument 'timeout'"), False),
        (RuntimeError("[unbound_buffer.cc:81] Timed out waiting 3000ms for recv operation to complete"), True),
        (torch.distributed.DistStoreError("wait timeout after 1000ms, keys: /a"), True),
        (TimeoutError("no answer"), True),
        (RuntimeError("Connection closed by peer [127.0.0.1]:4711"), True),
    ],
)
def test_only_a_call_that_was_given_up_is_lost(error: Exception, is_lost: bool) -> None:
    def call() -> None:
        raise error

    with pytest.raises(Refused) as found:
        refusing(call)
    assert found.value.is_lost == is_lost


def refuses(*_: object, **__: object) -> None:
    raise NotImplementedError("not here")


@pytest.fixture
def alone(tmp_path: Path) -> Callable[..., tuple[str, str]]:
    """Returns what makes the calls of a rank that is alone in its world, and returns their status and text."""
    made = rank._Rank(Place("gloo", "", "", "", b"", str(tmp_path), 1.0), is_thread=True)

    def answer(call: str, row: Row) -> tuple[str, str]:
        return made.answer(Asked(call, row, 1))[:2]

    return answer


def test_a_barrier_or_a_group_that_is_refused_keeps_the_rank(
    alone: Callable[..., tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.distributed, "barrier", refuses)
    monkeypatch.setattr(torch.distributed, "new_group", refuses)
    monkeypatch.setattr(rank, "require_numbers", lambda *_: None)
    refusal = "NotImplementedError: not here"
    assert alone("barrier", Row(ranks=1)) == ("refused", refusal)
    assert alone("broadcast", Row(ranks=1, part="but_first")) == ("refused", refusal)
    assert alone("numbers", Row(ranks=1)) == ("seen", refusal)


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, tuple[int, ...]], dict[str, str]]:
    """Returns what sets how many GPUs there are and which NCCL, and returns the environment that ranks will set."""

    def there_are(count: int, version: tuple[int, ...]) -> dict[str, str]:
        settings: dict[str, str] = {}
        monkeypatch.setattr(joining.os, "environ", settings)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        monkeypatch.setattr(torch.cuda.nccl, "version", lambda: version)
        monkeypatch.setattr(torch.distributed, "is_backend_available", lambda _: True)
        return settings

    return there_are


def test_ranks_share_a_gpu_by_nccls_switch_or_by_host_ids(gpus: Callable[..., dict[str, str]]) -> None:
    settings = gpus(1, (2, 30, 2))
    joining.share_gpus(1, 2)
    assert settings == {"NCCL_HOSTID": "rank1", "NCCL_SOCKET_IFNAME": "lo"}
    settings = gpus(1, (2, 30, 3))
    joining.share_gpus(1, 2)
    assert settings["NCCL_MULTI_RANK_GPU_ENABLE"] == "1"
    settings = gpus(2, (2, 30, 2))
    joining.share_gpus(1, 2)
    assert settings == {}


def test_ranks_beyond_the_gpus_are_missing_unless_gpus_may_be_shared(gpus: Callable[..., dict[str, str]]) -> None:
    settings = gpus(1, (2, 30, 2))
    place = Place("nccl", "", "", "", b"", "", 1.0)
    assert joining._missing(place._replace(ranks=1)) == ""
    text = "2 ranks of nccl on 1 GPUs: more than 1 for each, which SIMSTRATEGY_RANKS_PER_GPU would allow."
    assert joining._missing(place._replace(ranks=2)) == text
    settings["SIMSTRATEGY_RANKS_PER_GPU"] = "2"
    assert joining._missing(place._replace(ranks=2)) == ""
    assert [joining.device_of("nccl", one).index for one in range(3)] == [0, 0, 0]
    settings["SIMSTRATEGY_RANKS_PER_GPU"] = "none"
    with pytest.raises(ValueError, match="RANKS_PER_GPU is 'none': set it to how many ranks may have one GPU"):
        joining._missing(place)
