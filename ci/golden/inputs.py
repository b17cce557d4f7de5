"""Cases of who gets which elements (datasets, input contexts, 1.13's iterators), put to the TensorFlow that runs here.

Runs on Python 3.7 as well as on today's. Several workers are played by TensorFlow's own input library in this one
process: it is told each worker's number, and no cluster is started.
"""

import os
import shutil
import tempfile

END = "OutOfRangeError"


def split(tensorflow, case):
    strategy = tensorflow.strategy(case["replicas"])
    forms = {
        "array": (lambda x: x, lambda step: step),
        "tuple": (lambda x: (x, 2 * x), lambda step: step[0]),
        "dict": (lambda x: {"x": x, "y": 2 * x}, lambda step: step["x"]),
        "nested": (lambda x: ({"a": x}, (x + 1, x)), lambda step: step[0]["a"]),
    }
    element, first = forms[case["structure"]]
    dataset = tensorflow.tf.data.Dataset.range(case["total"]).map(element)
    dataset = dataset.batch(case["batch"], drop_remainder=case["drop_remainder"]).repeat(case["repeat"])
    distributed = strategy.experimental_distribute_dataset(dataset)
    return {"steps": [_numbers(tensorflow, strategy, first(step)) for step in distributed]}


def _numbers(tensorflow, strategy, value):
    return [one.numpy().tolist() for one in tensorflow.local(strategy, value)]


def input_context(tensorflow, case):
    context = tensorflow.tf.distribute.InputContext(case["pipelines"], case["pipeline_id"], case["replicas"])
    return {"per_replica": context.get_per_replica_batch_size(case["batch"])}


def autoshard(tensorflow, case):
    folder = tempfile.mkdtemp()
    try:
        return {"streams": [_stream(tensorflow, case, worker, folder) for worker in range(case["workers"])]}
    finally:
        shutil.rmtree(folder)


def _stream(tensorflow, case, worker, folder):
    """Returns a worker's sub-batches in order, as the strategy's own dataset would hand them to its replicas."""
    # Private, and in 1.x only there once TensorFlow itself is.
    from tensorflow.python.distribute import input_lib

    dataset = _source(tensorflow, case, folder).repeat(case["repeat"])
    dataset = dataset.batch(case["batch"], drop_remainder=case["drop_remainder"])
    replicas = case["workers"] * case["replicas_per_worker"]
    strategy = tensorflow.strategy(case["replicas_per_worker"])
    context = tensorflow.tf.distribute.InputContext(case["workers"], worker, replicas)
    # Each worker is alone in its process: one worker with its own replicas, which is told its number.
    workers = strategy.extended._input_workers  # noqa: SLF001 - no public way to play several workers
    told = tensorflow.sharded_by(dataset, case["policy"])
    if tensorflow.release.startswith("1."):
        made = input_lib.DistributedDataset(told, workers, strategy, split_batch_by=replicas, input_context=context)
    else:
        made = input_lib.DistributedDataset(
            workers, strategy, dataset=told, num_replicas_in_sync=replicas, input_context=context
        )
    (stream,) = made._cloned_datasets  # noqa: SLF001 - the only place in which a worker's whole stream can be seen
    return [_texts(batch.numpy().tolist()) for batch in stream]


def _texts(values):
    return [value.decode() if isinstance(value, bytes) else value for value in values]


def _source(tensorflow, case, folder):
    data = tensorflow.tf.data
    if case["source"] == "range":
        return data.Dataset.range(case["total"])
    paths = [os.path.join(folder, f"f{number}.txt") for number in range(len(case["files"]))]
    for number, path in enumerate(paths):
        with open(path, "w") as file:
            file.writelines(f"f{number}-{line}\n" for line in range(case["files"][number]))
    if case["source"] == "files":
        return data.TextLineDataset(paths)
    names = data.Dataset.from_tensor_slices(paths)
    if case["source"] == "flat_map":
        return names.flat_map(data.TextLineDataset)
    return names.interleave(data.TextLineDataset, cycle_length=2, block_length=1)


def make_dataset_iterator(tensorflow, case):
    strategy = tensorflow.strategy(case["replicas"])
    with strategy.scope():
        return _iterated(tensorflow, strategy, strategy.make_dataset_iterator(_range(tensorflow, case)), case)


def make_input_fn_iterator(tensorflow, case):
    strategy = tensorflow.strategy(case["replicas"])
    with strategy.scope():
        iterator = strategy.make_input_fn_iterator(lambda context: _range(tensorflow, case))
        return _iterated(tensorflow, strategy, iterator, case)


def _range(tensorflow, case):
    return tensorflow.tf.data.Dataset.range(case["total"]).batch(case["batch"], drop_remainder=case["drop_remainder"])


def _iterated(tensorflow, strategy, iterator, case):
    def total(batch):
        return tensorflow.tf.cast(tensorflow.tf.reduce_sum(batch), tensorflow.tf.float32)

    iterator.initialize()
    steps = []
    while True:
        try:
            step = strategy.experimental_run(total, iterator) if case["run"] else iterator.get_next()
        except tensorflow.tf.errors.OutOfRangeError:
            return {"steps": steps, "end": END}
        steps.append(_numbers(tensorflow, strategy, step))
