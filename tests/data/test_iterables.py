"""Other people's batches: PyTorch's loaders, Grain's datasets, lists and generators, by the real packages.

# Clauses: D-2, D-4, D-9, D-15
"""

import collections
import subprocess
import sys
import tracemalloc
from typing import NamedTuple

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.data import Dataset, ElementSpec, SplitRule
from simstrategy.errors import InvalidArgument, InvalidType, Unsupported


class Example(NamedTuple):
    image: object
    label: object


def host(part):
    return np.asarray(part).tolist()


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def grain():
    return pytest.importorskip("grain")


@pytest.fixture
def loader(torch):
    """Makes a loader of PyTorch over a list of samples."""

    def make(samples, **settings):
        return torch.utils.data.DataLoader(samples, **{"batch_size": 4, **settings})

    return make


# PyTorch's loaders.


@pytest.mark.parametrize("backend", ["sim", "torch"])
def test_a_loaders_tensors_reach_the_replicas_of_any_backend_and_the_last_batch_may_be_short(torch, loader, backend):
    strategy = ss.Strategy.mirrored(backend, replicas=2)
    data = torch.utils.data.TensorDataset(torch.arange(5), torch.arange(10.0).reshape(5, 2))
    steps = list(strategy.experimental_distribute_dataset(loader(data)))
    assert [type(step) for step in steps] == [list, list]
    assert [[host(part) for part in numbers.values] for numbers, _ in steps] == [[[0, 1], [2, 3]], [[4], []]]
    assert [[tuple(part.shape) for part in rows.values] for _, rows in steps] == [[(2, 2), (2, 2)], [(1, 2), (0, 2)]]
    kind = "Tensor" if backend == "torch" else "SimArray"
    assert {type(part).__name__ for _, rows in steps for part in rows.values} == {kind}
    assert {str(part.dtype).removeprefix("torch.") for _, rows in steps for part in rows.values} == {"float32"}
    total = sum(float(np.asarray(strategy.reduce("SUM", rows, axis=0)).sum()) for _, rows in steps)
    assert total == 45


def test_the_containers_of_samples_are_those_of_the_steps(mirrored, steps_of, loader):
    strategy = mirrored(2)
    (step,) = strategy.experimental_distribute_dataset(loader([{"x": float(i), "y": (i, [i])} for i in range(3)]))
    assert sorted(step) == ["x", "y"]
    assert [host(part) for part in step["y"][1][0].values] == [[0, 1], [2]]
    assert {part.dtype.name for part in step["x"].values} == {"float64"}
    (step,) = strategy.experimental_distribute_dataset(loader([Example(i, 2 * i) for i in range(3)]))
    assert type(step) is Example
    assert [host(part) for part in step.label.values] == [[0, 2], [4]]
    ordered = [collections.OrderedDict([("b", i), ("a", i)]) for i in range(2)]
    (step,) = strategy.experimental_distribute_dataset(loader(ordered))
    assert list(step) == ["b", "a"]


def test_texts_that_the_loader_leaves_in_lists_and_tuples_are_split_as_rows(mirrored, steps_of, loader):
    strategy = mirrored(2)
    words = ["a", "b", "c"]
    wanted = [[["a", "b"], ["c"]]]

    def steps(samples, pick=lambda step: step):
        return steps_of(strategy, strategy.experimental_distribute_dataset(loader(samples)), pick)

    assert steps(words) == wanted
    assert steps([{"word": word, "n": 1} for word in words], lambda step: step["word"]) == wanted
    assert steps([(word, 1) for word in words], lambda step: step[0]) == wanted
    assert steps([Example(word, 1) for word in words], lambda step: step.image) == wanted


def test_a_loader_shuffles_each_pass_anew_by_its_own_generator_alone(torch, mirrored, steps_of, loader):
    def shuffled():
        return loader(range(8), batch_size=8, shuffle=True, generator=torch.Generator().manual_seed(7))

    strategy, own = mirrored(2), shuffled()
    distributed = strategy.experimental_distribute_dataset(shuffled())
    wanted = [[batch.tolist() for batch in own] for _ in range(3)]
    found = [steps_of(strategy, distributed) for _ in range(3)]
    assert [[[*first, *second] for first, second in steps] for steps in found] == wanted
    assert wanted[0] != wanted[1] != wanted[2]


def test_a_loader_that_shuffles_is_asked_no_more_often_than_it_is_iterated_over(torch, mirrored, steps_of):
    class Counted:
        passes = 0

        def __iter__(self):
            self.passes += 1
            return iter([torch.arange(2), torch.arange(2), torch.arange(1)])

    counted = Counted()
    strategy = mirrored(2)
    distributed = strategy.distribute_datasets_from_function(lambda context: counted)
    assert steps_of(strategy, distributed) == [[[0, 1], [0, 1]], [[0], []]]
    assert counted.passes == 1
    assert distributed.element_spec.values == (ElementSpec((None,), "int64"),) * 2
    assert counted.passes == 1


@pytest.mark.slow
def test_a_loaders_worker_processes_bring_the_same_batches_in_order():
    pytest.importorskip("torch")
    # In a process of its own: a loader forks, which a process with other frameworks' threads should not.
    program = """
import torch, simstrategy as ss
strategy = ss.Strategy.mirrored("sim", replicas=2)
loader = torch.utils.data.DataLoader(range(10), batch_size=4, num_workers=2)
distributed = strategy.experimental_distribute_dataset(loader)
for _ in range(2):
    print([[part.tolist() for part in step.values] for step in distributed])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8], [9]]]\n" * 2


def test_a_tensor_comes_without_its_gradient_conjugated_and_in_bfloat16(torch, mirrored, same):
    pytest.importorskip("ml_dtypes")
    strategy = mirrored(2)
    wide = torch.tensor([1.5, -2.0, 3.0])
    for tensor, dtype, wanted in (
        (wide.clone().requires_grad_(), "float32", [1.5, -2.0, 3.0]),
        (wide.clone().requires_grad_() * 2, "float32", [3, -4, 6]),
        (wide.bfloat16(), "bfloat16", [1.5, -2.0, 3.0]),
        (torch.complex(wide, wide).conj(), "complex64", [1.5 - 1.5j, -2 + 2j, 3 - 3j]),
        (wide.half(), "float16", [1.5, -2.0, 3.0]),
        (wide > 0, "bool", [True, False, True]),
    ):
        (step,) = strategy.experimental_distribute_dataset([tensor])
        assert {part.dtype.name for part in step.values} == {dtype}
        found = [np.asarray(part).astype(complex).tolist() for part in step.values]
        assert found == [wanted[:2], wanted[2:]]
        (element,) = Dataset.from_tensors(tensor)
        assert element.dtype.name == dtype


def test_bfloat16_without_its_package_names_the_extra(torch, mirrored, monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    distributed = mirrored(2).experimental_distribute_dataset([torch.ones(2).bfloat16()])
    with pytest.raises(Unsupported) as raised:
        next(iter(distributed))
    assert str(raised.value) == "bfloat16 needs the package ml_dtypes: pip install 'simstrategy[bfloat16]'."


def test_tensors_on_a_gpu_are_brought_to_the_replicas(torch, mirrored, steps_of):
    if not torch.cuda.is_available():
        pytest.skip("no GPU here")
    strategy = mirrored(2)
    batches = [{"x": torch.arange(3, device="cuda"), "y": torch.ones(3, device="cuda").bfloat16()}]
    assert steps_of(strategy, strategy.experimental_distribute_dataset(batches), lambda step: step["x"]) == [
        [[0, 1], [2]]
    ]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda torch: torch.ones(2, device="meta"),
            "the dataset, element 0, got a Tensor that NumPy cannot convert: ",
        ),
        (lambda torch: torch.eye(2).to_sparse(), "the dataset, element 0, got a Tensor that NumPy cannot convert: "),
        (lambda torch: object(), "the dataset, element 0, got a object: <object object>, which"),
        (lambda torch: None, "the dataset, element 0, got None, which is no array."),
        (lambda torch: [torch.ones(2), None], "the dataset, element 0, got None, which is no array."),
    ],
    ids=["meta", "sparse", "object", "None", "None in a list"],
)
def test_what_is_no_array_is_refused_with_the_number_of_its_batch(torch, mirrored, make, text):
    with pytest.raises(InvalidType) as raised:
        next(iter(mirrored(2).experimental_distribute_dataset([make(torch)])))
    assert str(raised.value).startswith(text)


# Grain.


def test_grains_datasets_are_distributed_again_and_again(grain, mirrored, steps_of):
    strategy = mirrored(2)
    samples = grain.MapDataset.range(10).map(lambda i: {"x": np.float32(i), "name": str(i)})
    wanted = [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8], [9]]]
    for batches in (samples.batch(4), samples.batch(4).to_iter_dataset(), samples.to_iter_dataset().batch(4)):
        distributed = strategy.experimental_distribute_dataset(batches)
        for _ in range(2):
            assert steps_of(strategy, distributed, lambda step: step["x"]) == wanted
        assert steps_of(strategy, distributed, lambda step: step["name"])[2] == [["8"], ["9"]]
    once = strategy.experimental_distribute_dataset(iter(samples.batch(4).to_iter_dataset()))
    assert len(list(once)) == 3
    with pytest.raises(InvalidArgument, match="which can be iterated over only once, and that was done already"):
        next(iter(once))


def test_grains_loader_and_its_shuffles_keep_their_own_order(grain, mirrored, steps_of):
    strategy = mirrored(2)
    sampler = grain.samplers.IndexSampler(10, shuffle=True, seed=1, num_epochs=1)
    made = grain.DataLoader(
        data_source=list(range(10)), sampler=sampler, operations=[grain.transforms.Batch(4)], worker_count=0
    )
    own = [np.asarray(batch).tolist() for batch in made]
    found = steps_of(strategy, strategy.experimental_distribute_dataset(made))
    assert [[one for part in step for one in part] for step in found] == own
    assert own != sorted(own)
    endless = grain.MapDataset.range(3).shuffle(seed=2).repeat().batch(2).to_iter_dataset()
    steps = iter(strategy.experimental_distribute_dataset(endless))
    assert [len(next(steps).values) for _ in range(20)] == [2] * 20


def test_grains_datasets_are_dealt_to_workers_by_element_or_by_the_input_function(grain):
    def main(strategy):
        whole = strategy.experimental_distribute_dataset(grain.MapDataset.range(6).batch(4))
        own = strategy.distribute_datasets_from_function(
            lambda context: grain.MapDataset.range(6)[context.input_pipeline_id :: context.num_input_pipelines].batch(2)
        )
        return [host(step) for step in whole], [host(step) for step in own]

    assert ss.sim.Cluster(2, 1).run(main) == (
        ([[0, 1], [4]], [[0, 2], [4]]),
        ([[2, 3], [5]], [[1, 3], [5]]),
    )


# Lists, generators, and what is iterated over once.


def test_a_list_of_numbers_is_one_column_and_a_list_of_arrays_is_structure(mirrored, steps_of):
    strategy = mirrored(2)
    assert steps_of(strategy, strategy.experimental_distribute_dataset([[1, 2, 3]])) == [[[1, 2], [3]]]
    assert steps_of(strategy, strategy.experimental_distribute_dataset([[[1, 2], [3, 4]]])) == [[[[1, 2]], [[3, 4]]]]
    assert steps_of(strategy, strategy.experimental_distribute_dataset([[b"a\0", b"b"]])) == [[[b"a\0"], [b"b"]]]
    (step,) = strategy.experimental_distribute_dataset([[np.arange(2), [1, 2]]])
    assert [host(part) for part in step[1].values] == [[1], [2]]
    alone = mirrored(1)
    (batch,) = alone.experimental_distribute_dataset([[1, 2, 3]])
    assert batch.dtype == np.int32


@pytest.mark.parametrize(
    ("rows", "error", "text"),
    [
        ([[1, 2], [3]], InvalidArgument, "the dataset, element 0, got rows of unequal length: "),
        (
            ["a", 1],
            InvalidType,
            "the dataset, element 0, got a list: ['a', 1], which NumPy can only hold as an object.",
        ),
        ([["a"], ["b", "c"]], InvalidArgument, "the dataset, element 0, got rows of unequal length: "),
    ],
    ids=repr,
)
def test_ragged_and_mixed_rows_are_refused(mirrored, rows, error, text):
    with pytest.raises(error) as raised:
        next(iter(mirrored(2).experimental_distribute_dataset([rows])))
    assert str(raised.value).startswith(text)


@pytest.mark.parametrize("rule", SplitRule)
def test_an_iterator_is_gone_over_once_and_a_second_pass_is_an_error_that_says_so(mirrored, rule):
    options = ss.InputOptions(split_rule=rule)
    for batches, kind in (((np.arange(2) for _ in range(3)), "generator"), (iter([np.arange(2)]), "list_iterator")):
        once = mirrored(2).experimental_distribute_dataset(batches, options)
        next(iter(once))
        with pytest.raises(InvalidArgument) as raised:
            next(iter(once))
        assert str(raised.value) == (
            f"The dataset was made from a {kind}, which can be iterated over only once, and that was done already. "
            f"Distribute a new one for each pass, or use a list, a loader, or Dataset.from_generator with the function "
            f"that makes it."
        )


def test_a_generator_that_is_at_its_end_already_is_an_error_and_no_empty_dataset(mirrored):
    batches = (np.arange(2) for _ in range(1))
    assert len(list(mirrored(2).experimental_distribute_dataset(batches))) == 1
    with pytest.raises(InvalidArgument, match="made from a generator, which can be iterated over only once, and that"):
        list(mirrored(2).experimental_distribute_dataset(batches))
    iterator = mirrored(2).make_dataset_iterator(np.arange(2) for _ in range(1))
    assert len(list(iterator)) == 1
    iterator.initialize()
    with pytest.raises(InvalidArgument, match="only once"):
        iterator.get_next()


def test_a_generator_without_end_is_held_in_bounded_memory(mirrored):
    def batches():
        while True:
            yield np.ones((1 << 14, 4))

    steps = iter(mirrored(8).experimental_distribute_dataset(batches()))
    next(steps)
    tracemalloc.start()
    for _ in range(40):
        next(steps)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * (1 << 14) * 4 * 8
