"""Who gets which elements: the pure functions, by example, by property, and against oracles of another make.

The oracles ask of each element where it goes; the functions ask of each part what goes into it. The full count
of examples: ci/run.py deep split.

# Clauses: D-1, D-3, D-4
"""

import doctest
from bisect import bisect_right
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simstrategy.data import per_batch_chunks, per_batch_parts, splitting, stream_parts, worker_chunks, worker_sizes
from simstrategy.errors import InvalidArgument

COUNTS = st.integers(1, 12)
SIZES = st.integers(0, 100)
WORKERS, REPLICAS = st.integers(1, 5), st.integers(1, 4)
BATCHES = st.lists(st.integers(0, 13), max_size=7)


def elements(part, batches):
    """The numbers of a part's elements, counted through all batches."""
    starts = [0, *accumulate(batches)]
    return [starts[number] + i for number, start, stop in part for i in range(start, stop)]


def test_the_examples_of_the_docstrings_hold():
    found = doctest.testmod(splitting)
    assert found.failed == 0
    assert found.attempted >= 5


# The per-batch rule.


@settings(deadline=None)
@given(BATCHES, WORKERS, REPLICAS)
def test_per_batch_parts_are_those_of_an_oracle(batches, workers, replicas):
    total = workers * replicas
    wanted = {}
    first = 0
    for number, size in enumerate(batches):
        for i in range(size):
            # Chunk c is the least one whose end, (c + 1) * ceil(size / total), lies beyond element i.
            chunk = next(c for c in range(total) if i < (c + 1) * ((size + total - 1) // total))
            wanted.setdefault(number * total + chunk, []).append(first + i)
        first += size
    parts = list(per_batch_parts(batches, total))
    assert len(parts) == total * len(batches)
    assert {k: elements(part, batches) for k, part in enumerate(parts) if elements(part, batches)} == wanted


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


@given(SIZES, WORKERS, REPLICAS)
def test_the_workers_chunks_together_are_the_batch(size, workers, replicas):
    everyone = [chunk for worker in range(workers) for chunk in worker_chunks(size, workers, replicas, worker)]
    assert sorted(everyone) == sorted(per_batch_chunks(size, workers * replicas))


@given(SIZES, WORKERS, REPLICAS)
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


# The stream rule.


@settings(deadline=None)
@given(BATCHES, st.integers(1, 30), WORKERS, REPLICAS, st.data())
def test_stream_parts_are_those_of_an_oracle(batches, batch, workers, replicas, data):
    worker = data.draw(st.integers(0, workers - 1))
    total, count = workers * replicas, sum(batches)
    sizes = worker_sizes(batch, workers, replicas, worker)
    ends = list(accumulate(sizes))
    wanted = {}
    for i in range(count):
        # Whole rounds of all parts hold `batch` elements each.
        part = total * (i // batch) + bisect_right(ends, i % batch)
        wanted.setdefault(part, []).append(i)
    # The last element's part ends the stream if it is short; else only parts of size 0 may follow.
    last = max(wanted, default=-1)
    if last < 0 or len(wanted[last]) == sizes[last % total]:
        while sizes[(last + 1) % total] == 0:
            last += 1
    parts = list(stream_parts(batches, sizes))
    assert len(parts) == last + 1
    assert {k: elements(part, batches) for k, part in enumerate(parts) if part} == wanted


@given(st.integers(1, 60), WORKERS, REPLICAS)
def test_the_sizes_of_all_workers_of_a_step_make_up_the_batch(batch, workers, replicas):
    everyone = [worker_sizes(batch, workers, replicas, worker) for worker in range(workers)]
    for step in range(workers):
        assert sum(sum(sizes[step * replicas : (step + 1) * replicas]) for sizes in everyone) == batch
    assert all(sorted(sizes) == sorted(everyone[0]) for sizes in everyone)
    assert max(everyone[0]) - min(everyone[0]) <= 1


@pytest.mark.parametrize(
    ("batch", "workers", "replicas", "sizes"),
    [
        (8, 2, 2, [[2, 2, 2, 2], [2, 2, 2, 2]]),
        (4, 3, 1, [[2, 1, 1], [1, 1, 2], [1, 2, 1]]),
        (7, 1, 2, [[4, 3]]),
        (2, 1, 6, [[1, 1, 0, 0, 0, 0]]),
        (2, 2, 3, [[1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0]]),
    ],
)
def test_the_recorded_sizes_of_tensorflow_2(batch, workers, replicas, sizes):
    assert [worker_sizes(batch, workers, replicas, worker) for worker in range(workers)] == sizes


def test_a_part_of_size_0_comes_after_the_last_element_and_not_after_a_short_part():
    assert [elements(part, [2]) for part in stream_parts([2], [1, 0])] == [[0], [], [1], []]
    assert [elements(part, [3]) for part in stream_parts([3], [2, 0])] == [[0, 1], [], [2]]
    assert [elements(part, []) for part in stream_parts([], [0, 0, 1])] == [[], []]


def test_the_stream_is_asked_for_a_batch_when_its_first_element_is_wanted():
    asked = []

    def batches():
        for size in (2, 2):
            asked.append(size)
            yield size

    parts = stream_parts(batches(), [0, 2])
    assert asked == []
    next(parts)
    assert asked == []
    next(parts)
    assert asked == [2]
    next(parts)
    assert asked == [2]


# What is impossible.


@pytest.mark.parametrize(("size", "count"), [(-1, 2), (3, 0), (3, -1)])
def test_impossible_numbers_are_refused(size, count):
    with pytest.raises(InvalidArgument, match=f"A batch of {size} elements cannot be cut into {count} chunks"):
        per_batch_chunks(size, count)


@pytest.mark.parametrize("worker", [-1, 2])
def test_a_worker_that_does_not_exist_is_refused(worker):
    for split in (worker_chunks, worker_sizes):
        with pytest.raises(InvalidArgument, match=f"There is no worker {worker} among 2 workers"):
            split(4, 2, 1, worker)


@pytest.mark.parametrize("sizes", [[], [0], [0, 0], [1, -1]])
def test_parts_that_could_never_hold_anything_are_refused(sizes):
    with pytest.raises(InvalidArgument, match="A stream cannot be split into parts of"):
        list(stream_parts([3], sizes))


def test_a_batch_without_elements_has_no_sizes():
    with pytest.raises(InvalidArgument, match="A batch of 0 elements cannot be split over 2 replicas per worker"):
        worker_sizes(0, 1, 2, 0)
