"""Lets this folder's modules import each other, which pytest's importlib mode does not; and keeps their tests fast.

Each check calls `keras.utils.clear_session`, which collects garbage. After thousands of tests in one process that takes
seconds, most of them for objects of other folders. So what lives when a module begins is not looked through meanwhile.
"""

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True, scope="module")
def only_new_objects_are_collected() -> Iterator[None]:
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True, scope="module")
def devices() -> None:
    """Makes four devices before a test starts TensorFlow, as one that builds a layer does."""
    from simstrategy_tf_distribute.devices import names

    names(4)
