"""One worker of `run_workers`: connects to the others by TF_CONFIG, runs the program and writes its result."""

import json
import os
import pickle
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from simstrategy.values import DistributedValues
from simstrategy_tf_distribute.reference_strategy import ReferenceStrategy


def main(file: str, function: str, folder: str) -> None:
    """Runs `function` of a file and writes its result to a folder, with pickle."""
    # The strategy comes first: it starts TensorFlow's server, which no other operation may precede.
    reference = ReferenceStrategy(tf.distribute.MultiWorkerMirroredStrategy())
    index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    result = _host(reference.run_program(runpy.run_path(file)[function]))
    (Path(folder) / f"{index}.pickle").write_bytes(pickle.dumps(result))


def _host(value: Any) -> Any:
    if isinstance(value, DistributedValues):
        return [_host(one) for one in value.values]
    if isinstance(value, (list, tuple)):
        return [_host(one) for one in value]
    if isinstance(value, dict):
        return {key: _host(one) for key, one in value.items()}
    return np.asarray(value) if tf.is_tensor(value) else value


if __name__ == "__main__":
    main(*sys.argv[1:])
