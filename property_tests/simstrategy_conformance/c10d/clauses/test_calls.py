"""Clauses W-3 to W-13: what each call of `torch.distributed` gives, over rows that cover every pair of forms."""

from simstrategy_conformance.c10d.inputs import PARTS
from simstrategy_conformance.c10d.rows import FLOATS, Examine, call_test, moves, numbers, reductions, short, uneven
from simstrategy_conformance.c10d.subject import C10dSubject
from simstrategy_conformance.covered import SHORT
from simstrategy_conformance.covering import Levels, Row

MOVED = ("ranks", "dtype", "axes", "lengths")
COMPLEX = ("complex64", "complex128")


def plain(row: Row) -> bool:
    """Returns whether a row is of what every backend offers: sums of float32."""
    return row.dtype == "float32" and row.op == "SUM"


def without_bools(subject: C10dSubject) -> Levels:
    levels = dict(reductions(subject))
    return levels | {"dtype": tuple(one for one in levels["dtype"] if one != "bool")}


@call_test("W-3", levels=without_bools, triples=SHORT)
def test_all_reduce(examine: Examine, row: Row) -> None:
    examine("all_reduce", row, required=plain(row))


@call_test("W-3", levels=lambda subject: reductions(subject, ("MIN", "MAX", "BAND", "BOR", "BXOR"), ("bool",)))
def test_all_reduce_of_bools(examine: Examine, row: Row) -> None:
    examine("all_reduce", row)


@call_test("W-3", levels=lambda subject: reductions(subject, ("SUM",), (*FLOATS, *COMPLEX)))
def test_sums_that_round(examine: Examine, row: Row) -> None:
    examine("all_reduce_rounded", row, required=plain(row))


@call_test("W-3", levels=lambda subject: reductions(subject, ("SUM", "MAX"), (*FLOATS, "int64")))
def test_all_reduce_coalesced(examine: Examine, row: Row) -> None:
    examine("all_reduce_coalesced", row)


def scaled(subject: C10dSubject) -> Levels:
    """Returns the levels of averages and scaled sums, in groups of some ranks too: these divide by their own size."""
    return {**reductions(subject, ("AVG", "PREMUL_SUM"), (*FLOATS, *COMPLEX)), "part": PARTS}


@call_test("W-4", levels=scaled)
def test_averages_and_scaled_sums(examine: Examine, row: Row) -> None:
    examine("all_reduce", row)


@call_test("W-4", levels=scaled)
def test_averages_and_scaled_sums_of_reduce(examine: Examine, row: Row) -> None:
    examine("reduce", row)


@call_test("W-4", levels=lambda subject: {**scaled(subject), "axes": (1, 2, 3)})
def test_averages_and_scaled_sums_of_reduce_scatter_single(examine: Examine, row: Row) -> None:
    examine("reduce_scatter_single", row)


@call_test("W-5", levels=without_bools)
def test_reduce(examine: Examine, row: Row) -> None:
    examine("reduce", row)


@call_test("W-6", levels=moves, triples=MOVED)
def test_broadcast(examine: Examine, row: Row) -> None:
    examine("broadcast", row, required=plain(row))


@call_test("W-7", levels=moves, triples=MOVED)
def test_all_gather(examine: Examine, row: Row) -> None:
    examine("all_gather", row)


@call_test("W-7", levels=uneven)
def test_all_gather_of_uneven_tensors(examine: Examine, row: Row) -> None:
    examine("all_gather", row)


@call_test("W-7", levels=lambda subject: {**moves(subject), "axes": (1, 2, 3)})
def test_all_gather_single(examine: Examine, row: Row) -> None:
    examine("all_gather_single", row)


@call_test("W-7", levels=lambda subject: {**moves(subject), "axes": (1, 2, 3)})
def test_all_gather_single_into_a_stack(examine: Examine, row: Row) -> None:
    examine("all_gather_stacked", row)


@call_test("W-7", levels=numbers)
def test_all_gather_single_of_numbers(examine: Examine, row: Row) -> None:
    examine("all_gather_stacked", row)


@call_test("W-7", levels=moves)
def test_all_gather_coalesced(examine: Examine, row: Row) -> None:
    examine("all_gather_coalesced", row)


@call_test("W-8", levels=without_bools)
def test_reduce_scatter(examine: Examine, row: Row) -> None:
    examine("reduce_scatter", row)


@call_test("W-8", levels=lambda subject: {**without_bools(subject), "axes": (1, 2, 3)})
def test_reduce_scatter_single(examine: Examine, row: Row) -> None:
    examine("reduce_scatter_single", row)


@call_test("W-8", levels=lambda subject: {**without_bools(subject), "axes": (1, 2, 3)})
def test_reduce_scatter_single_of_a_stack(examine: Examine, row: Row) -> None:
    examine("reduce_scatter_stacked", row)


@call_test("W-8", levels=numbers)
def test_reduce_scatter_single_of_numbers(examine: Examine, row: Row) -> None:
    examine("reduce_scatter_stacked", row)


@call_test("W-9", levels=moves)
def test_all_to_all(examine: Examine, row: Row) -> None:
    examine("all_to_all", row)


@call_test("W-9", levels=uneven)
def test_all_to_all_of_uneven_tensors(examine: Examine, row: Row) -> None:
    examine("all_to_all", row)


@call_test("W-9", levels=moves)
def test_all_to_all_single(examine: Examine, row: Row) -> None:
    examine("all_to_all_single", row)


@call_test("W-9", levels=uneven)
def test_all_to_all_single_of_uneven_parts(examine: Examine, row: Row) -> None:
    examine("all_to_all_single", row)


@call_test("W-10", levels=moves)
def test_gather(examine: Examine, row: Row) -> None:
    examine("gather", row)


@call_test("W-10", levels=moves)
def test_scatter(examine: Examine, row: Row) -> None:
    examine("scatter", row)


@call_test("W-11", levels=moves)
def test_send_and_recv(examine: Examine, row: Row) -> None:
    examine("send_recv", row)


@call_test("W-11", levels=moves)
def test_isend_and_irecv(examine: Examine, row: Row) -> None:
    examine("isend_irecv", row)


@call_test("W-11", levels=moves)
def test_batch_isend_irecv(examine: Examine, row: Row) -> None:
    examine("batch_isend_irecv", row)


@call_test("W-11", levels=lambda subject: {**short(subject), "again": (False,)})
def test_recv_without_a_source(examine: Examine, row: Row) -> None:
    examine("recv_any", row)


@call_test("W-11", levels=short)
def test_messages_of_a_rank_to_itself(examine: Examine, row: Row) -> None:
    examine("send_to_self", row)


@call_test("W-11", levels=short)
def test_tags(examine: Examine, row: Row) -> None:
    examine("tags", row)


@call_test("W-12", levels=short)
def test_all_gather_object(examine: Examine, row: Row) -> None:
    examine("all_gather_object", row)


@call_test("W-12", levels=short)
def test_broadcast_object_list(examine: Examine, row: Row) -> None:
    examine("broadcast_object_list", row)


@call_test("W-12", levels=short)
def test_gather_object(examine: Examine, row: Row) -> None:
    examine("gather_object", row)


@call_test("W-12", levels=short)
def test_scatter_object_list(examine: Examine, row: Row) -> None:
    examine("scatter_object_list", row)


@call_test("W-13", levels=short)
def test_barrier(examine: Examine, row: Row) -> None:
    examine("barrier", row, required=True)


def several(subject: C10dSubject) -> Levels:
    """Returns the levels of calls of one group that are under way at once."""
    return {**numbers(subject), "axes": (1, 2)}


@call_test("W-14", levels=several)
def test_several_asynchronous_calls_at_once(examine: Examine, row: Row) -> None:
    examine("several_at_once", row)
