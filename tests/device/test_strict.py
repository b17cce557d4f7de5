"""`Strict` finds a backend that breaks one thing, for every thing it checks, and names call, rank, found and wanted."""

from typing import final

import numpy as np
import pytest

from simstrategy.device import ArraySpec, Device, Strict
from simstrategy.device.wrapper import Wrapper
from simstrategy.errors import ContractViolation
from simstrategy.sim import open_sim

X = np.ones((2, 3), np.float32)


@final
class Wrong(Wrapper):
    """A simulator whose one call gives what `spoil(backend, result)` makes of the right result."""

    __slots__ = ("_call", "_spoil")

    def __init__(self, call, spoil):
        Wrapper.__init__(self, open_sim(replicas=3))
        self._call, self._spoil = call, spoil
        self.memory = self

    def share(self, array, cells=()):
        return self._maybe("share", self._inner.memory.share(array, cells))

    def _maybe(self, call, result):
        return self._spoil(self, result) if call == self._call else result

    def all_reduce(self, arrays, op):
        return self._maybe("all_reduce", self._inner.all_reduce(arrays, op))

    def reduce(self, arrays, op, *, root):
        return self._maybe("reduce", self._inner.reduce(arrays, op, root=root))

    def broadcast(self, array, *, spec, root):
        return self._maybe("broadcast", self._inner.broadcast(array, spec=spec, root=root))

    def all_gather(self, arrays, *, axis, sizes):
        return self._maybe("all_gather", self._inner.all_gather(arrays, axis=axis, sizes=sizes))

    def exchange(self, note, *, timeout_s):
        return self._maybe("exchange", self._inner.exchange(note, timeout_s=timeout_s))

    def put(self, value, device):
        return self._maybe("put", self._inner.put(value, device))

    def get(self, array):
        return self._maybe("get", self._inner.get(array))

    def cell(self, initial):
        return self._maybe("cell", self._inner.cell(initial))

    def right(self, values, rank):
        """Puts an array through the simulator itself."""
        return self._inner.put(values, self.devices[rank])

    def right_cell(self, values, rank):
        return self._inner.cell(self.right(values, rank))


def replaced(rank, values, on=None):
    """Spoils one rank's result."""

    def spoil(backend, results):
        one = backend.right(values, rank if on is None else on)
        return (*results[:rank], one, *results[rank + 1 :])

    return spoil


def call(backend, name):
    arrays = tuple(backend.right(X, rank) for rank in range(3))
    strict = Strict(backend)
    spec = ArraySpec((2, 3), "float32", "sim:1")
    return {
        "all_reduce": lambda: strict.all_reduce(arrays, "SUM"),
        "reduce": lambda: strict.reduce(arrays, "SUM", root=1),
        "broadcast": lambda: strict.broadcast(arrays[1], spec=spec, root=1),
        "all_gather": lambda: strict.all_gather(arrays, axis=1, sizes=(3, 3, 3)),
        "exchange": lambda: strict.exchange(b"note", timeout_s=None),
        "put": lambda: strict.put(X, strict.devices[1]),
        "share": lambda: strict.memory.share(arrays[0]),
        "get": lambda: strict.get(arrays[0]),
        "cell": lambda: strict.cell(arrays[0]),
    }[name]()


WIDE = np.ones((2, 9), np.float32)
ONE_OBJECT = "one object for several ranks"
WRONG_RESULTS = [
    ("all_reduce", lambda b, r: r[:2], "2 results", "3, one for each local rank"),
    ("all_reduce", replaced(2, X[0]), "results of rank 2: float32[3] on sim:2", "float32[2, 3] on sim:2"),
    ("all_reduce", replaced(1, X.astype("float64")), "results of rank 1: float64[2, 3] on sim:1", "float32[2, 3]"),
    ("all_reduce", replaced(1, X, on=0), "results of rank 1: float32[2, 3] on sim:0", "float32[2, 3] on sim:1"),
    ("reduce", lambda b, r: None, "no array", "one exactly where rank 1 is local"),
    ("reduce", lambda b, r: b.right(X, 0), "root 1: float32[2, 3] on sim:0", "float32[2, 3] on sim:1"),
    ("reduce", lambda b, r: b.right(X[0], 1), "root 1: float32[3] on sim:1", "float32[2, 3] on sim:1"),
    ("broadcast", lambda b, r: (*r, r[0]), "4 results", "3, one for each local rank"),
    ("broadcast", replaced(0, X[:1]), "results of rank 0: float32[1, 3] on sim:0", "float32[2, 3] on sim:0"),
    ("broadcast", replaced(2, X, on=1), "results of rank 2: float32[2, 3] on sim:1", "on sim:2"),
    ("all_gather", lambda b, r: (), "0 results", "3, one for each local rank"),
    ("all_gather", replaced(1, X), "results of rank 1: float32[2, 3] on sim:1", "float32[2, 9] on sim:1"),
    ("all_gather", replaced(1, WIDE.astype("int32")), "results of rank 1: int32[2, 9]", "float32[2, 9] on sim:1"),
    ("exchange", lambda b, r: (b"note", b"other"), "2 notes", "1, number 0 being the one sent"),
    ("exchange", lambda b, r: (b"other",), "1 notes", "1, number 0 being the one sent"),
    ("put", lambda b, r: b.right(X, 0), "float32[2, 3] on sim:0", "float32[2, 3] on sim:1"),
    ("put", lambda b, r: b.right(X[0], 1), "float32[3] on sim:1", "float32[2, 3] on sim:1"),
    ("put", lambda b, r: b.right(X.astype("float64"), 1), "float64[2, 3] on sim:1", "float32[2, 3] on sim:1"),
    ("share", lambda b, r: r[:1], "1 results", "3, one for each local rank"),
    ("share", replaced(2, X[0]), "results of rank 2: float32[3] on sim:2", "float32[2, 3] on sim:2"),
    ("share", replaced(1, X, on=0), "results of rank 1: float32[2, 3] on sim:0", "float32[2, 3] on sim:1"),
    ("get", lambda b, r: b.right(r, 0), "a SimArray float32[2, 3]", "an ndarray of float32[2, 3] on sim:0"),
    ("get", lambda b, r: r[0], "a ndarray float32[3]", "float32[2, 3] on sim:0"),
    ("get", lambda b, r: r.astype("float64"), "a ndarray float64[2, 3]", "float32[2, 3] on sim:0"),
    ("cell", lambda b, r: b.right_cell(X, 1), "reads float32[2, 3] on sim:1", "float32[2, 3] on sim:0"),
    ("cell", lambda b, r: b.right_cell(X[0], 0), "reads float32[3] on sim:0", "float32[2, 3] on sim:0"),
    ("cell", lambda b, r: b.right_cell(X.astype("float64"), 0), "reads float64[2, 3] on sim:0", "float32[2, 3]"),
]


@pytest.mark.parametrize(("name", "spoil", "found", "wanted"), WRONG_RESULTS)
def test_a_backend_that_breaks_one_thing_is_found(name, spoil, found, wanted):
    with pytest.raises(ContractViolation) as raised:
        call(Wrong(name, spoil), name)
    message = str(raised.value)
    assert message.startswith(f"Backend 'sim', {name}: found ")
    before, _, after = message.partition("; the contract of simstrategy.device requires ")
    assert found in before
    assert wanted in after
    assert after.endswith("Report it to the backend's author.")


def test_one_array_object_for_two_ranks_is_found_even_where_ranks_share_a_placement():
    shared = (Device(0, 0, "same"), Device(1, 0, "same"))

    @final
    class OnePlace(Wrapper):
        __slots__ = ()

        def __init__(self):
            Wrapper.__init__(self, open_sim(replicas=1))
            self.devices = self.local_devices = shared
            self.forms = None

        def spec(self, array):
            return (array.shape, str(array.dtype), "same")

        def all_reduce(self, arrays, op):
            return (arrays[0], arrays[0])

    with pytest.raises(ContractViolation, match=f"all_reduce: found {ONE_OBJECT}"):
        Strict(OnePlace()).all_reduce((X, X.copy()), "SUM")


@pytest.mark.parametrize(
    "name", ["all_reduce", "reduce", "broadcast", "all_gather", "exchange", "put", "share", "get", "cell"]
)
def test_a_right_backend_passes_and_its_result_is_handed_on_as_it_is(name):
    seen = []
    result = call(Wrong(name, lambda backend, right: seen.append(right) or right), name)
    assert seen == [result] if name == "exchange" else seen[0] is result


def arrays_of(backend, values):
    return tuple(backend.right(np.asarray(value), rank) for rank, value in enumerate(values))


F = np.float32(1)
WRONG_REQUESTS = {
    "too few arrays": (lambda s, b: s.all_reduce(arrays_of(b, [F, F]), "SUM"), "2 arrays", "3, one for each"),
    "unknown op": (lambda s, b: s.all_reduce(arrays_of(b, [F] * 3), "MEAN"), "op 'MEAN'", "SUM, MIN or MAX"),
    "bool": (lambda s, b: s.all_reduce(arrays_of(b, [True] * 3), "SUM"), "dtype bool", "'float32'"),
    "other shape": (
        lambda s, b: s.all_reduce(arrays_of(b, [F, X[0], F]), "SUM"),
        "arrays of rank 1: float32[3] on sim:1",
        "float32[] on sim:1",
    ),
    "other dtype": (
        lambda s, b: s.reduce(arrays_of(b, [F, F, np.float64(1)]), "SUM", root=0),
        "arrays of rank 2: float64[] on sim:2",
        "float32[] on sim:2",
    ),
    "wrong place": (
        lambda s, b: s.all_reduce((b.right(X, 0), b.right(X, 2), b.right(X, 2)), "SUM"),
        "arrays of rank 1: float32[2, 3] on sim:2",
        "float32[2, 3] on sim:1",
    ),
    "root too large": (lambda s, b: s.reduce(arrays_of(b, [F] * 3), "SUM", root=3), "root 3", "a rank below 3"),
    "root negative": (lambda s, b: s.reduce(arrays_of(b, [F] * 3), "SUM", root=-1), "root -1", "a rank below 3"),
    "broadcast of nothing": (
        lambda s, b: s.broadcast(None, spec=ArraySpec((), "float32", "sim:0"), root=0),
        "no array",
        "one exactly where rank 0 is local",
    ),
    "broadcast of another form": (
        lambda s, b: s.broadcast(b.right(X, 0), spec=ArraySpec((2,), "float32", "sim:0"), root=0),
        "root 0: float32[2, 3] on sim:0",
        "float32[2] on sim:0",
    ),
    "too few sizes": (
        lambda s, b: s.all_gather(arrays_of(b, [X] * 3), axis=0, sizes=(2, 2)),
        "2 sizes",
        "one for each of 3 ranks",
    ),
    "gather of too few": (
        lambda s, b: s.all_gather(arrays_of(b, [X] * 2), axis=0, sizes=(2, 2, 2)),
        "2 arrays",
        "3, one for each local rank",
    ),
    "negative axis": (
        lambda s, b: s.all_gather(arrays_of(b, [X] * 3), axis=-1, sizes=(3, 3, 3)),
        "axis -1",
        "an axis of shape (2, 3), not negative",
    ),
    "wrong size": (
        lambda s, b: s.all_gather(arrays_of(b, [X] * 3), axis=0, sizes=(2, 1, 2)),
        "arrays of rank 1: float32[2, 3] on sim:1",
        "float32[1, 3] on sim:1",
    ),
}


@pytest.mark.parametrize(("ask", "found", "wanted"), WRONG_REQUESTS.values(), ids=WRONG_REQUESTS)
def test_a_request_that_no_backend_may_be_given_is_found_before_the_backend_sees_it(ask, found, wanted):
    backend = Wrong(None, None)
    with pytest.raises(ContractViolation) as raised:
        ask(Strict(backend), backend)
    before, _, after = str(raised.value).partition("; the contract of simstrategy.device requires ")
    assert found in before
    assert wanted in after


@pytest.mark.parametrize("name", ["all_gather", "broadcast"])
def test_a_result_of_the_form_of_the_last_sum_is_found_where_another_form_is_due(name):
    backend = Wrong(name, lambda b, r: arrays_of(b, [X] * 3))
    strict = Strict(backend)
    strict.all_reduce(arrays_of(backend, [X] * 3), "SUM")
    arrays, spec = arrays_of(backend, [X] * 3), ArraySpec((3,), "float32", "sim:0")
    ask = {
        "all_gather": lambda: strict.all_gather(arrays, axis=1, sizes=(3, 3, 3)),
        "broadcast": lambda: strict.broadcast(backend.right(X[0], 0), spec=spec, root=0),
    }[name]
    with pytest.raises(ContractViolation, match=rf"{name}: found results of rank 0: float32\[2, 3\] on sim:0"):
        ask()


def test_a_quicker_look_at_arrays_finds_the_same_faults():
    @final
    class Quick(Wrapper):
        """A simulator with other forms, which are counted."""

        __slots__ = ("looks",)

        def __init__(self):
            Wrapper.__init__(self, open_sim(replicas=3))
            self.looks = 0
            self.forms = self

        def form(self, array):
            self.looks += 1
            return self.spec(array)

    backend = Quick()
    strict = Strict(backend)
    arrays = tuple(backend.put(X, one) for one in backend.devices)
    for _ in range(2):
        strict.all_reduce(arrays, "SUM")
    assert backend.looks > 0
    with pytest.raises(ContractViolation, match=r"arrays of rank 2: float32\[3\] on sim:2"):
        strict.all_reduce((*arrays[:2], backend.put(X[0], backend.devices[2])), "SUM")
    with pytest.raises(ContractViolation, match="found 2 arrays"):
        strict.all_reduce(arrays[:2], "SUM")
    with pytest.raises(ContractViolation, match="op 'MEAN'"):
        strict.all_reduce(arrays, "MEAN")


def test_faults_are_found_after_any_number_of_forms(monkeypatch):
    monkeypatch.setattr("simstrategy.device.strict._FORMS_KEPT", 2)
    backend = Wrong(None, None)
    strict = Strict(backend)
    for size in (1, 2, 3, 1, 4):
        strict.all_reduce(arrays_of(backend, [np.ones(size, np.float32)] * 3), "SUM")
        with pytest.raises(ContractViolation, match=rf"arrays of rank 2: float32\[\] on sim:2; .* float32\[{size}\]"):
            strict.all_reduce(arrays_of(backend, [np.ones(size, np.float32)] * 2 + [F]), "SUM")


def test_bool_is_no_summand_though_a_gather_of_it_was_good():
    backend = Wrong(None, None)
    strict = Strict(backend)
    strict.all_gather(arrays_of(backend, [np.ones(2, bool)] * 3), axis=0, sizes=(2, 2, 2))
    with pytest.raises(ContractViolation, match="all_reduce: found dtype bool"):
        strict.all_reduce(arrays_of(backend, [np.ones(6, bool)] * 3), "SUM")


def test_a_collective_of_nothing_is_found_before_and_after_a_good_one():
    backend = Wrong(None, None)
    strict = Strict(backend)
    for _ in range(2):
        with pytest.raises(ContractViolation, match=r"found 0 arrays; .* requires 3, one for each local rank"):
            strict.all_reduce((), "SUM")
        strict.all_reduce(arrays_of(backend, [X] * 3), "SUM")


def device(rank, process=0):
    return Device(rank, process, f"p:{rank}")


@pytest.mark.parametrize(
    ("devices", "local", "call_name"),
    [
        ((), (), "devices"),
        ((device(1), device(0)), (device(1),), "devices"),
        ((device(0), device(2)), (device(0),), "devices"),
        ((device(0),), (), "local_devices"),
        ((device(0),), (device(0), device(1)), "local_devices"),
        ((device(0, 0), device(1, 1)), (device(0, 0), device(1, 1)), "local_devices"),
    ],
)
def test_devices_that_are_no_group_are_found_when_the_backend_is_wrapped(devices, local, call_name):
    backend = Wrong(None, None)
    backend.devices, backend.local_devices = devices, local
    with pytest.raises(ContractViolation, match=f"Backend 'sim', {call_name}: found"):
        Strict(backend)


def test_a_strategy_checks_by_default_and_not_with_checks_false(mirrored):
    import simstrategy as ss

    def program(strategy):
        return strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", ss.get_replica_context().xp.ones(2)))

    wrong = replaced(1, np.ones(2, np.float64))
    with pytest.raises(ContractViolation, match="results of rank 1"):
        program(ss.Strategy.mirrored(Wrong("all_reduce", wrong)))
    found = program(ss.Strategy.mirrored(Wrong("all_reduce", wrong), checks=False))
    assert found.values[1].dtype == np.float64
