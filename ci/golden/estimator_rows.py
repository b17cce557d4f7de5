"""The rows and input functions of cases of `estimator`, on TensorFlow's side and on ours.

Rows are exact multiples of 1/8, no random numbers.

Runs on Python 3.7 as well as on today's.
"""

import numpy as np

INITIAL = {"w": np.float32([0.5, -0.25]), "b": np.float32(0.125)}
"""The first values of the custom model's variables."""


def rows(count):
    """Returns features {x: [count, 2], w: [count]} and labels [count, 1], float32; a quarter of w is 0."""
    index = np.arange(count)
    x = np.stack([(index * 7 % 5 - 2) / 4.0, (index * 3 % 7 - 3) / 8.0], axis=1)
    weights = np.float32([1.0, 0.5, 0.0, 2.0])[index % 4]
    labels = (index * 5 % 9 - 4) / 4.0
    features = {"x": x.astype(np.float32), "w": weights}
    return features, labels.astype(np.float32).reshape(-1, 1)


def classes(labels):
    """Returns the class 0 or 1 of labels [count, 1], for classifiers."""
    return (labels > 0).astype(np.float32)


def input_function(data, built, calls):
    """Returns an input function that adds to `calls` what it was called with.

    data: of a case. built: makes a result for a batch, which is that of all replicas where there is an input context.
    """

    def plain():
        calls.append(None)
        return built(data["batch"])

    def with_context(input_context=None):
        if input_context is None:
            return plain()
        fields = ("num_input_pipelines", "input_pipeline_id", "num_replicas_in_sync")
        calls.append([getattr(input_context, field) for field in fields])
        return built(input_context.get_per_replica_batch_size(data["batch"]))

    return with_context if data["context"] else plain
