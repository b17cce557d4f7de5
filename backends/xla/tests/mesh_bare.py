"""Calls the program of a file on a mesh of all devices, and saves the arrays of its result.

python mesh_bare.py FILE DEVICES TARGET
"""

import runpy
import sys

import jax
import numpy as np
from jax.sharding import Mesh


def main(file, devices, target):
    assert jax.device_count() == devices
    result = runpy.run_path(file)["program"](Mesh(np.array(jax.devices()), ("data",)))
    leaves = jax.tree_util.tree_leaves_with_path(result)
    arrays = {}
    for path, leaf in leaves:
        if isinstance(leaf, (jax.Array, np.ndarray, np.generic, int, float)):
            array = np.asarray(leaf)
            arrays[jax.tree_util.keystr(path)] = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    np.savez(target, **arrays)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
