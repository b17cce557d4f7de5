"""Datasets: their elements, and the lines of their files."""

import tempfile
import weakref
from pathlib import Path

import numpy as np

import simstrategy as ss
from ci.bench.growth.style import Sizes, Style

__all__ = ["STYLES"]

_ELEMENTS = Sizes((256, 1024, 4096), (4096, 32_768, 131_072))
Dataset = ss.data.Dataset


def _of_elements(pipeline):
    """Returns the style of an iteration over what a function makes of a number of elements."""

    def make(count):
        dataset = pipeline(count)
        return lambda: [None for _ in dataset]

    return Style("elements", make, _ELEMENTS)


def _lines(count):
    folder = tempfile.TemporaryDirectory()
    file = Path(folder.name) / "lines.txt"
    file.write_text("one line\n" * count, encoding="utf-8")
    dataset = ss.data.TextLineDataset(str(file)).batch(8)

    def read():
        return [None for _ in dataset]

    weakref.finalize(read, folder.cleanup)  # it is there as long as this function
    return read


def _rows(count):
    return Dataset.from_tensor_slices({"x": np.zeros((count, 2), np.float32), "y": np.arange(count)})


STYLES = {
    "map": _of_elements(lambda count: Dataset.range(count).map(lambda x: x + 1)),
    "filter": _of_elements(lambda count: Dataset.range(count).filter(lambda x: x % 2 == 0)),
    "shuffle of all": _of_elements(lambda count: Dataset.range(count).shuffle(count, seed=1)),
    "shuffle of a few": _of_elements(lambda count: Dataset.range(count).shuffle(16, seed=1)),
    "batch of rows in memory": _of_elements(lambda count: _rows(count).batch(8)),
    "batch of a map": _of_elements(lambda count: _rows(count).map(lambda row: row).batch(8)),
    "one batch of all": _of_elements(lambda count: Dataset.range(count).map(lambda x: x).batch(count)),
    "unbatch": _of_elements(lambda count: _rows(count).batch(64).unbatch()),
    "cache, zip, shard and repeat": _of_elements(
        lambda count: Dataset.zip((_rows(count // 2).cache(), Dataset.range(count))).shard(2, 0).repeat(2)
    ),
    "interleave": _of_elements(lambda count: Dataset.range(count).interleave(Dataset.from_tensors, 8)),
    "from_generator": _of_elements(lambda count: Dataset.from_generator(lambda: iter(range(count)))),
    "a split shown for each element": Style(
        "elements",
        lambda count: lambda: ss.data.split(Dataset.range(count).batch(8), replicas=2),
        _ELEMENTS,
    ),
    "lines of a file": Style("lines", _lines, _ELEMENTS),
}
