"""Random pipelines on the real tf.data: every worker's parts are TensorFlow 2.21's own, whatever the policy.

Several workers are played by TensorFlow's input library in this process: it receives each worker's number. The
full count of examples: ci/run.py deep pipelines.

# Clauses: D-1, D-3, D-4, D-5, D-6, D-7, D-8
"""

import os
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import simstrategy as ss
from simstrategy.data import SHARD_HINT, AutoShardPolicy, Dataset, Options, TextLineDataset

if find_spec("simstrategy_tensorflow") is None or find_spec("tensorflow") is None:
    # Looked for and not imported: that takes seconds, and every process that collects tests would spend them.
    pytest.skip("TensorFlow is not installed", allow_module_level=True)

COUNT = 300 if settings.get_current_profile_name() == "pipelines" else 20
"""Pipelines, each on up to three workers."""


@pytest.fixture(scope="module")
def tf():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import tensorflow
        from tensorflow.python.distribute import input_lib  # noqa: F401

    tensorflow.get_logger().setLevel("ERROR")
    # Makes the logical CPUs that other tests of this process want: once TensorFlow runs, it makes no more.
    ss.backend("tensorflow", replicas=1).close()
    return tensorflow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


# Pipelines as data: a source, and steps; each is written once for either library.

SMALL = st.integers(0, 5)
FILES = st.lists(st.integers(0, 6), min_size=1, max_size=5)
SOURCES = st.one_of(
    st.tuples(st.just("range"), st.integers(0, 25)),
    st.tuples(st.just("slices"), st.integers(0, 25)),
    st.tuples(st.just("pairs"), st.integers(0, 12), st.integers(0, 12)),
    st.tuples(st.just("files"), FILES),
    st.tuples(st.just("files again"), FILES),
    st.tuples(st.just("flat_map"), FILES),
    st.tuples(st.just("interleave"), FILES, st.integers(1, 3), st.integers(1, 3)),
)
BEFORE = st.one_of(
    st.tuples(st.just("take"), st.integers(0, 20)),
    st.tuples(st.just("skip"), SMALL),
    st.tuples(st.just("repeat"), st.integers(0, 3)),
    st.tuples(st.just("shard"), st.integers(1, 3)),
    st.tuples(st.just("prefetch")),
    st.tuples(st.just("cache")),
    st.tuples(st.just("same")),
    st.tuples(st.just("hint")),
    st.tuples(st.just("rebatched"), st.integers(1, 4)),
)
BATCH = st.tuples(st.just("batch"), st.integers(1, 9), st.booleans())
AFTER = st.one_of(
    st.tuples(st.just("take"), st.integers(0, 5)),
    st.tuples(st.just("skip"), st.integers(0, 2)),
    st.tuples(st.just("repeat"), st.integers(1, 3)),
    st.tuples(st.just("shard"), st.integers(1, 2)),
    st.tuples(st.just("prefetch")),
    st.tuples(st.just("cache")),
    st.tuples(st.just("same")),
    st.tuples(st.just("all")),
    st.tuples(st.just("boxed")),
)
PIPELINES = st.fixed_dictionaries(
    {
        "source": SOURCES,
        "before": st.lists(BEFORE, max_size=2),
        "batch": BATCH,
        "after": st.lists(AFTER, max_size=2),
        "policy": st.sampled_from(["OFF", "AUTO", "FILE", "DATA", "HINT"]),
        "workers": st.integers(1, 3),
        "replicas": st.integers(1, 3),
    }
)


def names_of(folder, counts):
    names = []
    for number, count in enumerate(counts):
        path = folder / f"{number}-{count}.txt"
        path.write_text("".join(f"{number}-{line}\n" for line in range(count)))
        names.append(str(path))
    return names


def source_in(library, read, pipeline, folder):
    kind, *sizes = pipeline["source"]
    if kind in ("range", "slices", "pairs"):
        return {
            "range": lambda: library.range(sizes[0]),
            "slices": lambda: library.from_tensor_slices(np.arange(sizes[0])),
            "pairs": lambda: library.zip((library.range(sizes[0]), library.range(sizes[1]))),
        }[kind]()
    names = names_of(folder, sizes[0])
    sliced = library.from_tensor_slices(names)
    return {
        "files": lambda: read(names),
        "files again": lambda: read(sliced.repeat(2)),
        "flat_map": lambda: sliced.flat_map(read),
        "interleave": lambda: sliced.interleave(read, cycle_length=sizes[1], block_length=sizes[2]),
    }[kind]()


def stepped(library, dataset, step, hint):
    def one(*parts):
        return parts if len(parts) > 1 else parts[0]

    kind, *sizes = step
    return {
        "take": lambda: dataset.take(sizes[0]),
        "skip": lambda: dataset.skip(sizes[0]),
        "repeat": lambda: dataset.repeat(sizes[0]),
        "shard": lambda: dataset.shard(sizes[0], 0),
        "hint": lambda: dataset.shard(hint, 0),
        "prefetch": lambda: dataset.prefetch(2),
        "cache": dataset.cache,
        "batch": lambda: dataset.batch(sizes[0], drop_remainder=sizes[1]),
        "rebatched": lambda: dataset.batch(sizes[0]).unbatch(),
        "same": lambda: dataset.map(one),
        "all": lambda: dataset.filter(lambda *parts: np.True_ if library is Dataset else True),
        "boxed": lambda: dataset.flat_map(lambda *parts: library.from_tensors(one(*parts))),
    }[kind]()


def built(library, read, hint, pipeline, folder):
    dataset = source_in(library, read, pipeline, folder)
    hinted = pipeline["policy"] == "HINT"
    for step in (*pipeline["before"], pipeline["batch"], *pipeline["after"]):
        if step[0] != "hint" or hinted:
            dataset = stepped(library, dataset, step, hint)
    return dataset


def first_of(part):
    return np.asarray(part[0] if isinstance(part, tuple) else part).tolist()


def theirs(tf, pipeline, folder):
    from tensorflow.python.distribute import input_lib

    total = pipeline["workers"] * pipeline["replicas"]
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    workers = input_lib.InputWorkers([("/device:CPU:0", ["/device:CPU:0"] * pipeline["replicas"])])
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy[pipeline["policy"]]
    streams = []
    for worker in range(pipeline["workers"]):
        hint = tf.data.experimental.SHARD_HINT
        dataset = built(tf.data.Dataset, tf.data.TextLineDataset, hint, pipeline, folder).with_options(options)
        context = tf.distribute.InputContext(pipeline["workers"], worker, total)
        made = input_lib.DistributedDataset(
            workers, strategy, dataset=dataset, num_replicas_in_sync=total, input_context=context
        )
        (stream,) = made._cloned_datasets
        streams.append(
            [first_of(tuple(p.numpy() for p in part) if isinstance(part, tuple) else part) for part in stream]
        )
    replicas = pipeline["replicas"]
    longest = max(-(-len(stream) // replicas) for stream in streams) * replicas
    return [stream + [[]] * (longest - len(stream)) for stream in streams]


def ours(pipeline, folder):
    options = Options(auto_shard_policy=AutoShardPolicy[pipeline["policy"]])
    dataset = built(Dataset, TextLineDataset, SHARD_HINT, pipeline, folder).with_options(options)

    def main(strategy):
        steps = strategy.experimental_distribute_dataset(dataset)
        first = [step[0] if isinstance(step, tuple) else step for step in steps]
        return [np.asarray(part).tolist() for step in first for part in strategy.experimental_local_results(step)]

    cluster = ss.sim.Cluster(pipeline["workers"], pipeline["replicas"], semantics=ss.Semantics.TF2)
    return list(cluster.run(main))


def outcome(call, *arguments):
    try:
        return call(*arguments)
    except Exception as error:  # noqa: BLE001 - an error is an answer
        # TensorFlow raises the same for a hint.
        if "Could not apply HINT based sharding" in str(error):
            return "Could not apply FILE based sharding"
        texts = ("Could not apply FILE based sharding", "Found an unshardable source dataset")
        return next((text for text in texts if text in str(error)), error)


@pytest.mark.slow
@settings(
    max_examples=COUNT,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(PIPELINES)
def test_parts_of_random_pipelines_are_those_of_tensorflow(tf, folder, pipeline):
    # A flat_map somewhere after a reader misleads TensorFlow: its shard "by file" then comes after the reader, line by
    # line. Ours stays before it, where the files are.
    by_file = pipeline["policy"] in ("AUTO", "FILE") and pipeline["workers"] > 1
    assume(not (by_file and ("boxed",) in pipeline["after"] and isinstance(pipeline["source"][1], list)))
    wanted = outcome(theirs, tf, pipeline, folder)
    found = outcome(ours, pipeline, folder)
    # TensorFlow traces a function that is never called, so only TensorFlow has the spec of its results.
    nothing_came = found == [[]] * pipeline["workers"] and not any(map(any, wanted))
    assert found == wanted or (nothing_came and {("same",), ("boxed",)} & {*pipeline["before"], *pipeline["after"]})
