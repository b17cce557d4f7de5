"""The constructors: what each kind of strategy takes, and what it refuses with advice.  Clauses: C-8."""

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.errors import BackendNotFound, InvalidArgument

KINDS = {name: getattr(ss.Strategy, name) for name in ("mirrored", "one_device", "central_storage", "multi_worker")}
every_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


@every_kind
def test_a_backend_may_be_named_or_opened(make):
    for backend in ("sim", ss.backend("sim")):
        strategy = make(backend)
        assert strategy.num_replicas_in_sync == 1
        assert strategy.run(lambda: ss.get_replica_context().replica_id_in_sync_group) == 0


@every_kind
def test_what_is_no_backend_is_told_with_an_example(make):
    for wrong in (None, 3, [], ss):
        with pytest.raises(InvalidArgument) as raised:
            make(wrong)
        assert str(raised.value) == (
            f"A strategy takes a backend's name or an opened backend, got {wrong!r}. "
            f'Write for example Strategy.{make.__name__}("sim", replicas=2).'
        )
    with pytest.raises(BackendNotFound, match="No backend named 'simm'"):
        make("simm")


def test_devices_have_the_names_that_are_given():
    strategy = ss.Strategy.mirrored("sim", devices=["left", "right"])
    assert strategy.extended.worker_devices == ("left", "right")
    assert strategy.num_replicas_in_sync == 2
    assert ss.Strategy.mirrored("sim", devices=("left",), replicas=1).extended.worker_devices == ("left",)


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        (
            ["a", "b", "a"],
            (
                "No duplicates allowed in `devices`: 'a' comes twice in ['a', 'b', 'a']. Open the backend yourself "
                "for several replicas on one device: ss.backend(name, devices=...)."
            ),
        ),
        ("ab", "devices is a list of the backend's names for them, got 'ab'."),
        ([], "devices is a list of the backend's names for them, got []."),
        ([0, 1], "devices is a list of the backend's names for them, got [0, 1]."),
    ],
)
def test_impossible_devices_are_told(devices, message):
    with pytest.raises(InvalidArgument) as raised:
        ss.Strategy.mirrored("sim", devices=devices)
    assert str(raised.value) == message


def test_devices_and_replicas_that_do_not_fit_are_told():
    with pytest.raises(InvalidArgument, match=r"takes 3 different names for 3 replicas, got \['a', 'b'\]"):
        ss.Strategy.mirrored("sim", devices=["a", "b"], replicas=3)
    with pytest.raises(InvalidArgument, match=r"is opened already, and devices=\['a'\] are asked for"):
        ss.Strategy.mirrored(ss.backend("sim"), devices=["a"])
    with pytest.raises(InvalidArgument, match="was opened with 2 replicas, and 3 are asked for"):
        ss.Strategy.mirrored(ss.backend("sim", replicas=2), replicas=3)


def chooses_alone(*, replicas=None):
    """A backend that has no names for its devices."""
    return ss.backend("sim", replicas=replicas)


def test_a_backend_that_names_no_devices_says_so():
    with pytest.raises(InvalidArgument) as raised:
        ss.Strategy.mirrored(f"{__name__}:chooses_alone", devices=["a"])
    assert "chooses its devices itself. Give replicas alone." in str(raised.value)


@pytest.mark.parametrize("setting", [{"seed": "x"}, {"seed": True}, {"checks": "no"}, {"executor": "fibre"}], ids=str)
@every_kind
def test_impossible_settings_are_told(make, setting):
    (name,) = setting
    with pytest.raises(InvalidArgument, match=f"{name} is "):
        make("sim", **setting)


def test_every_kind_runs_and_reduces():
    for name, make in KINDS.items():
        strategy = make("sim", replicas=1 if name == "one_device" else 2)
        total = strategy.reduce("SUM", strategy.run(lambda: ss.get_replica_context().xp.asarray(np.float32(2))))
        assert float(total) == 2 * strategy.num_replicas_in_sync
