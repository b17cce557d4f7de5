"""Who gets which elements: the pure functions, by example and by property."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simstrategy.data import per_batch_chunks, splitting, worker_chunks
from simstrategy.errors import InvalidArgument

COUNTS = st.integers(1, 12)
SIZES = st.integers(0, 100)


def test_the_examples_of_the_docstrings_hold():
    found = doctest.testmod(splitting)
    assert found.failed == 0
    assert found.attempted >= 2


@given(SIZES, COUNTS)
def test_every_element_is_in_exactly_one_chunk_and_in_order(size, count):
    chunks = per_batch_chunks(size, count)
    assert [i for start, stop in chunks for i in range(start, stop)] == list(range(size))
    assert len(chunks) == count


@given(SIZES, COUNTS)
def test_chunks_are_full_then_one_short_then_empty(size, count):
    width = -(-size // count)
    sizes = [stop - start for start, stop in per_batch_chunks(size, count)]
    full = size // width if width else 0
    assert sizes[:full] == [width] * full
    assert sorted(sizes, reverse=True) == sizes
    assert sum(0 < one < width for one in sizes) <= 1


@given(SIZES, st.integers(1, 5), st.integers(1, 4))
def test_the_workers_chunks_together_are_the_batch(size, workers, replicas):
    everyone = [chunk for worker in range(workers) for chunk in worker_chunks(size, workers, replicas, worker)]
    assert sorted(everyone) == sorted(per_batch_chunks(size, workers * replicas))


@given(SIZES, st.integers(1, 5), st.integers(1, 4))
def test_successive_chunks_go_to_successive_workers(size, workers, replicas):
    chunks = per_batch_chunks(size, workers * replicas)
    for worker in range(workers):
        assert worker_chunks(size, workers, replicas, worker) == chunks[worker::workers]


@pytest.mark.parametrize(
    ("size", "count", "sizes"),
    [
        (4, 2, [2, 2]),
        (2, 2, [1, 1]),
        (1, 2, [1, 0]),
        (14, 2, [7, 7]),
        (6, 2, [3, 3]),
        (7, 3, [3, 3, 1]),
        (4, 3, [2, 2, 0]),
        (8, 3, [3, 3, 2]),
        (2, 3, [1, 1, 0]),
        (0, 3, [0, 0, 0]),
        (5, 1, [5]),
    ],
)
def test_the_recorded_splits_of_tensorflow_1_15(size, count, sizes):
    assert [stop - start for start, stop in per_batch_chunks(size, count)] == sizes


@pytest.mark.parametrize(("size", "count"), [(-1, 2), (3, 0), (3, -1)])
def test_impossible_numbers_are_refused(size, count):
    with pytest.raises(InvalidArgument, match=f"A batch of {size} elements cannot be cut into {count} chunks"):
        per_batch_chunks(size, count)


@pytest.mark.parametrize("worker", [-1, 2])
def test_a_worker_that_does_not_exist_is_refused(worker):
    with pytest.raises(InvalidArgument, match=f"Worker {worker} is none of 2 workers"):
        worker_chunks(4, 2, 1, worker)
