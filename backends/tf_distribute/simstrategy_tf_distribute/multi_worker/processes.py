"""The workers of programs of TensorFlow: processes that have imported it."""

from typing import Final

from simstrategy.launch.together import Workers

__all__ = ["start_workers"]

_MAIN: Final = "simstrategy_tf_distribute.multi_worker.child:main"


def start_workers() -> Workers:
    """Returns workers in processes that have imported TensorFlow.  Close them."""
    return Workers(_MAIN, ["tensorflow", "keras"])
