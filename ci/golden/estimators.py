"""Cases of `tf.estimator` with `train_distribute` and `eval_distribute`, put to the TensorFlow that runs here.

Runs on Python 3.7 as well as on today's. What a replica received and computed is written down by operations of its own
graph; steps that were begun and not ended count for nothing. The model functions are in `estimator_graphs.py`.
"""

import shutil
import tempfile

import numpy
from arrays import encoded, error
from estimator_graphs import Written, custom, made
from estimator_rows import classes, input_function, rows

DEVICES = 3


def estimator(tensorflow, case):
    folder = tempfile.mkdtemp()
    try:
        return {"calls": _calls(tensorflow.tf, case, folder)}
    finally:
        shutil.rmtree(folder)


def _calls(tf, case, folder):
    told = []
    for call in case["calls"]:
        written = Written()
        # A call may be made with another number of replicas than the others of its case.
        asked = {**case, **call}
        subject = _subject(tf, asked, folder, written)
        try:
            told.append(CALLS[call["call"]](tf, asked, subject, written))
        except Exception as raised:  # noqa: BLE001 - whatever TensorFlow raises is what it answers
            told.append({**error(raised), "message": error(raised)["message"].replace(folder, "FOLDER")})
    return told


def _subject(tf, case, folder, written):
    """Returns the estimator of a case, made anew for each call: what is kept is in the folder alone."""
    v1 = tf.compat.v1 if hasattr(tf.compat, "v1") else tf
    config = tf.estimator.RunConfig(
        model_dir=folder,
        tf_random_seed=1,
        session_config=v1.ConfigProto(device_count={"CPU": DEVICES}),
        save_checkpoints_secs=None,
        save_checkpoints_steps=case["save_steps"],
        keep_checkpoint_max=case["keep"],
        save_summary_steps=None,
        log_step_count_steps=None,
        train_distribute=_strategy(tf, case["train"]),
        eval_distribute=_strategy(tf, case["eval"]),
    )
    if case["model"] == "custom":
        return tf.estimator.Estimator(custom(tf, case, written), config=config)
    return made(tf, case, config)


def _strategy(tf, replicas):
    """Returns a MirroredStrategy over the first CPUs; None for 0 replicas."""
    return tf.distribute.MirroredStrategy([f"/cpu:{number}" for number in range(replicas)]) if replicas else None


def _input_fn(tf, case, calls):
    """Returns an input function that adds to `calls` what it was called with."""
    data = case["data"]

    def built(batch):
        features, labels = rows(data["rows"])
        if case["model"].endswith("Classifier"):
            labels = classes(labels)
        if data["returns"] == "nothing":
            return None
        if data["returns"] == "arrays":
            return {name: tf.constant(one) for name, one in features.items()}, tf.constant(labels)
        element = {
            "pair": (features, labels),
            "features": features,
            "triple": (features, labels, labels),
        }[data["returns"]]
        dataset = tf.data.Dataset.from_tensor_slices(element).repeat(data["repeat"])
        return dataset.batch(batch, drop_remainder=data["drop_remainder"])

    return input_function(data, built, calls)


def _watch(tf, fetched, results):
    """Returns a hook that adds the loss that `train` fetches, or None, to results after each step that was ended."""

    class Watch(tf.train.SessionRunHook):
        def before_run(self, run_context):
            return tf.train.SessionRunArgs(run_context.original_args.fetches[1]) if fetched else None

        def after_run(self, run_context, run_values):
            results.append(run_values.results)

    return Watch()


def _train(tf, case, subject, written):
    calls, results = [], []
    options = {key: case[key] for key in ("steps", "max_steps") if key in case}
    subject.train(_input_fn(tf, case, calls), hooks=[_watch(tf, True, results)], **options)
    losses = [encoded(one) for one in results]
    told = {"input_fn": calls, "losses": losses, "checkpoints": _checkpoints(tf, subject.model_dir)}
    return {**told, **written.steps(len(losses), max(case["train"], 1))}


def _checkpoints(tf, folder):
    """Returns the variables of every checkpoint that is kept, by its step as a text."""
    state = tf.train.get_checkpoint_state(folder)
    paths = list(state.all_model_checkpoint_paths) if state else []
    told = {}
    for path in paths:
        reader = tf.train.load_checkpoint(path)
        names = sorted(reader.get_variable_to_shape_map())
        told[path.rsplit("-", 1)[1]] = {name: encoded(reader.get_tensor(name)) for name in names}
    return told


def _evaluate(tf, case, subject, written):
    calls, results = [], []
    hooks = [_watch(tf, False, results)]
    metrics = subject.evaluate(_input_fn(tf, case, calls), steps=case["steps"], hooks=hooks)
    told = {name: encoded(value) for name, value in sorted(metrics.items())}
    parts = written.steps(len(results), max(case["eval"], 1))
    return {"input_fn": calls, "steps": len(results), "metrics": told, "parts": parts["parts"]}


def _predict(tf, case, subject, written):
    calls = []
    single = case.get("yield_single_examples", True)
    yielded = list(subject.predict(_input_fn(tf, case, calls), yield_single_examples=single))
    key = "logistic" if case["model"].endswith("Classifier") else "predictions"
    predictions = [numpy.asarray(one[key]).astype(numpy.float32) for one in yielded]
    return {"input_fn": calls, "predictions": [encoded(one) for one in predictions]}


CALLS = {"train": _train, "evaluate": _evaluate, "predict": _predict}
