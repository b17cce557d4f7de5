"""Arrays of the simulator: each has its device, shared ones are read-only, and no write changes another array."""

import operator

import numpy as np
import pytest
from vocabulary import ctx

import simstrategy as ss
from simstrategy.device import ArraySpec
from simstrategy.errors import InvalidArgument, InvalidType

IN_PLACE = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "//=": operator.ifloordiv,
    "%=": operator.imod,
    "**=": operator.ipow,
    "@=": operator.imatmul,
    "&=": operator.iand,
    "|=": operator.ior,
    "^=": operator.ixor,
}
BITWISE = ("&=", "|=", "^=")


def form(array):
    return array.placement


BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "@": operator.matmul,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@pytest.fixture
def shared(mirrored):
    """The results of an all_reduce on two replicas: one memory, two array objects."""

    def make(values):
        strategy = mirrored(2)
        return strategy.run(lambda: ctx().all_reduce("SUM", values)).values

    return make


def test_every_device_has_a_class_of_its_own_and_numpy_carries_it_along(sim):
    backend = sim(2)
    one, other = (backend.put(np.ones((2, 2), np.float32), device) for device in backend.devices)
    assert type(one) is not type(other)
    for array, place in ((one, "sim:0"), (other, "sim:1")):
        derived = [
            array + 1,
            2 * array,
            array[0],
            array[:, None],
            np.exp(array),
            array.T,
            array.copy(),
            array.sum(axis=0),
        ]
        derived += [array.reshape(-1), np.matmul(array, array), array.astype(np.float64), -array, array > 0]
        assert {form(one) for one in derived} == {place}
    assert backend.spec(other) == ArraySpec((2, 2), "float32", "sim:1")


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "complex64", "bool"])
@pytest.mark.parametrize("name", BINARY)
def test_an_operator_gives_what_numpy_gives_on_the_device_of_its_left_array(sim, name, dtype):
    backend = sim(2)
    host = np.array([[2, 1], [1, 3]]).astype(dtype)
    mine, other = (backend.put(host, device) for device in backend.devices)
    numbers = {"bool": [True], "int32": [2, True]}.get(dtype, [0.5, 2, True])
    others = [host, mine, other, host[0], *([] if name == "@" else [*numbers, np.float64(0.5), np.int8(2)])]
    if name == "/" and dtype in ("bool", "int32"):
        others = [np.float64(0.5)]  # integers are divided as float32: the test below
    for second in others:
        plain = np.asarray(second) if isinstance(second, np.ndarray) else second
        for left, right, expected in ((mine, second, (host, plain)), (second, mine, (plain, host))):
            try:
                wanted = BINARY[name](*expected)
            except TypeError:
                with pytest.raises(TypeError):
                    BINARY[name](left, right)
                continue
            found = BINARY[name](left, right)
            assert found.dtype == wanted.dtype
            assert np.asarray(found).tobytes() == wanted.tobytes()
            assert form(found) == ("sim:1" if left is other else "sim:0")


@pytest.mark.parametrize("name", sorted(BINARY.keys() - {"@"}))
def test_an_operator_on_scalars_gives_what_numpy_gives_on_their_device(sim, name):
    backend = sim(2)
    plain = np.array(2, np.float32)
    scalar = backend.put(plain, backend.devices[1])
    for second, other in ((scalar, plain), (0.5, 0.5), (3, 3), (np.float32(3), np.float32(3))):
        for left, right, expected in ((scalar, second, (plain, other)), (second, scalar, (other, plain))):
            found, wanted = BINARY[name](left, right), BINARY[name](*expected)
            assert found == wanted
            assert found.dtype == wanted.dtype
            assert (form(found), found.shape) == ("sim:1", ())


def test_a_number_made_of_arrays_is_on_their_device(sim):
    backend = sim(2)
    vector = backend.put(np.float32([1, 2, 3]), backend.devices[1])
    xp = backend.xp
    made = [vector @ vector, xp.matmul(vector, vector), xp.sum(vector) * 2.0, vector.sum() > 1.0, xp.mean(vector)]
    assert {(form(one), one.shape) for one in made} == {("sim:1", ())}
    assert [float(one) for one in made] == [14.0, 14.0, 12.0, 1.0, 2.0]


def test_an_operator_on_shapes_that_do_not_fit_says_what_numpy_says(sim):
    backend = sim(1)
    with pytest.raises(ValueError, match=r"could not be broadcast together with shapes \(2,\) \(3,\)"):
        backend.xp.ones(2) + backend.xp.ones(3)


def test_share_puts_one_array_on_all_devices_read_only_and_copies_nothing(sim):
    backend = sim(3)
    array = backend.xp.ones(3)
    shared = backend.memory.share(array)
    assert [form(one) for one in shared] == ["sim:0", "sim:1", "sim:2"]
    assert all(np.shares_memory(one, array) for one in shared)
    for one in (array, *shared):
        with pytest.raises(InvalidArgument, match="read-only"):
            one[0] = 7


def test_share_writes_the_cells_that_it_is_given_each_with_the_array_on_its_device(sim):
    backend = sim(3)
    cells = tuple(backend.cell(backend.put(np.zeros(2, np.float32), device)) for device in backend.devices)
    shared = backend.memory.share(backend.xp.ones(2), cells)
    assert all(cell.read() is one for cell, one in zip(cells, shared, strict=True))
    assert [form(cell.read()) for cell in cells] == ["sim:0", "sim:1", "sim:2"]


def test_put_of_a_writeable_array_of_another_device_copies_and_of_a_read_only_one_shares(sim):
    backend = sim(2)
    array = backend.xp.ones(3)
    moved = backend.put(array, backend.devices[1])
    array[0] = 7
    assert moved.tolist() == [1, 1, 1]
    again = backend.put(moved, backend.devices[0])
    assert np.shares_memory(again, moved)
    assert form(again) == "sim:0"
    assert backend.put(moved, backend.devices[1]) is moved


@pytest.mark.parametrize("of_shared", [True, False])
@pytest.mark.parametrize("name", IN_PLACE)
def test_every_in_place_operator_makes_a_new_array_and_changes_none(shared, name, of_shared):
    """Clauses: E-5"""
    array, other = shared(np.array([[2, 1], [1, 3]], np.int32 if name in BITWISE else np.float32))
    before, given = np.array(array), array if of_shared else array.copy()
    expected = IN_PLACE[name](np.array(array), np.array(array))
    result = IN_PLACE[name](given, np.array(array))
    assert not np.shares_memory(result, given)
    assert (np.asarray(result) == expected).all()
    assert form(result) == "sim:0"
    assert (np.asarray(given) == before).all()
    assert (np.asarray(other) == before).all()


@pytest.mark.parametrize("name", ["+", "-", "*", "/"])
@pytest.mark.parametrize(
    ("dtype", "second", "wanted"),
    [
        ("int32", 0.5, "float32"),
        ("bool", 2, "int32"),
        ("bool", 0.5, "float32"),
        ("bfloat16", 0.5, "bfloat16"),
        ("bfloat16", 2, "bfloat16"),
        ("int32", "float32", "float32"),
        ("float32", "bfloat16", "float32"),
        ("int64", "float16", "float16"),
    ],
)
def test_an_operator_on_several_dtypes_has_the_dtype_of_all_backends(sim, name, dtype, second, wanted):
    """Clauses: B-21"""
    pytest.importorskip("ml_dtypes")
    xp = sim(1).xp
    array = xp.astype(xp.asarray([1, 2, 3]), dtype)
    other = xp.astype(xp.asarray([1, 2, 4]), second) if isinstance(second, str) else second
    wanted = "float32" if name == "/" and wanted == "int32" else wanted
    if name == "-" and dtype == "bool":
        assert BINARY[name](other, array).dtype.name == wanted
        return
    assert BINARY[name](array, other).dtype.name == wanted
    assert BINARY[name](other, array).dtype.name == wanted


def test_item_assignment_on_shared_memory_says_what_to_do_and_where(shared):
    array, _ = shared(np.ones((2, 3), np.float32))
    for key in (0, (0, 1), slice(None), ..., np.array([True, False])):
        with pytest.raises(InvalidArgument, match=r"This float32\[2, 3\] on sim:0 is read-only"):
            array[key] = 5
    mine = array.copy()
    mine[0, 1] = 5
    assert mine[0, 1] == 5


@pytest.mark.parametrize(
    "write",
    [
        lambda a: a.fill(3),
        lambda a: a.sort(),
        lambda a: a.put(0, 5),
        lambda a: np.add(a, 1, out=a),
        lambda a: np.copyto(a, 0),
        lambda a: a.view(np.ndarray).__setitem__(0, 1),
        lambda a: setattr(a.flags, "writeable", True),
    ],
    ids=["fill", "sort", "put", "out", "copyto", "plain view", "flag"],
)
def test_other_ways_of_writing_to_shared_memory_are_refused_too(shared, write):
    array, other = shared(np.float32([3, 1, 2]))
    with pytest.raises(ValueError, match=r"read-only|WRITEABLE"):
        write(array)
    assert other.tolist() == [6, 2, 4]


PROGRAMS = {
    "all_reduce": lambda x: ctx().all_reduce("SUM", x),
    "mean": lambda x: ctx().all_reduce("MEAN", x),
    "nest": lambda x: ctx().all_reduce("SUM", {"a": x})["a"],
    "all_gather": lambda x: ctx().all_gather(x, 0),
}


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("call", PROGRAMS.values(), ids=PROGRAMS)
def test_what_a_replica_does_to_its_input_afterwards_shows_in_no_result(mirrored, call, count):
    def replica():
        mine = ctx().xp.asarray(np.float32([1, 2]))
        result = call(mine)
        before = np.array(result)
        mine[:] = 100
        return (np.asarray(result) == before).all() and not np.shares_memory(result, mine)

    strategy = mirrored(count)
    assert all(strategy.experimental_local_results(strategy.run(replica)))


@pytest.mark.parametrize("call", PROGRAMS.values(), ids=PROGRAMS)
def test_results_of_one_collective_are_objects_of_their_own_on_their_own_devices(mirrored, call):
    results = mirrored(3).run(lambda: call(np.float32([1, 2]) + ctx().replica_id_in_sync_group)).values
    assert len(set(map(id, results))) == 3
    assert [form(one) for one in results] == ["sim:0", "sim:1", "sim:2"]


def test_host_data_given_to_a_collective_is_never_written_to_and_never_aliased(mirrored):
    host = np.float32([1, 2])

    def replica():
        result = ctx().all_reduce("SUM", host)
        gathered = ctx().all_gather(host, 0)
        return np.shares_memory(result, host) or np.shares_memory(gathered, host)

    for count in (1, 2):
        assert mirrored(count).run(replica) is False
    assert host.tolist() == [1, 2]


@pytest.mark.parametrize("value", [[1, 2], 3.0, "text", None], ids=repr)
def test_put_takes_arrays_only(sim, value):
    backend = sim(1)
    with pytest.raises(InvalidType, match="put takes a NumPy array or an array of the simulator"):
        backend.put(value, backend.devices[0])


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), (1, 2), ()], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_up_to_three_numbers_of_float16_are_added_one_by_one_in_float16(axis, keepdims):
    xp = ss.backend("sim").xp
    rows = np.float16([[[2048, 1], [1, 1]], [[4096, 2], [2, -1]]])
    found = np.asarray(xp.sum(rows, axis=axis, keepdims=keepdims))
    assert found.dtype == np.float16
    assert found.shape == np.sum(rows, axis=axis, keepdims=keepdims).shape
    assert float(np.asarray(xp.sum(np.float16([2048, 1, 1])))) == 2048
    assert float(np.asarray(xp.sum(np.float16([2048, 1, 1, 0])))) == 2050
    assert np.asarray(xp.sum(np.zeros((0, 2), np.float16), axis=0)).tolist() == [0, 0]
    assert float(np.asarray(xp.sum(np.float16(3)))) == 3


@pytest.mark.parametrize(
    "made",
    [
        lambda strategy: strategy.run(lambda: ctx().all_gather(np.float32([1, 2]), 0)).values[0],
        lambda strategy: strategy.run(ss.Variable(np.float32([1, 2])).read_value).values[0],
        lambda strategy: strategy.reduce("SUM", ss.PerReplica([np.float32([1, 2])] * 2), axis=None),
    ],
    ids=["all_gather", "variable", "reduce"],
)
def test_shared_memory_cannot_be_made_writable_by_a_flag(mirrored, made):
    strategy = mirrored(2)
    with strategy.scope():
        array = made(strategy)
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.setflags(write=True)
