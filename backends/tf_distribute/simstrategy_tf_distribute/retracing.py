"""TensorFlow's remark that a function is traced often: of a check it is true of the first run alone.

TensorFlow 2.21.0 counts the tracings of a function by its code, so that those of all runs of a check are added up.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

import tensorflow as tf

__all__ = ["no_remark_on_retracing"]

_REMARK: Final = "triggered tf.function retracing"


@contextmanager
def no_remark_on_retracing() -> Iterator[None]:
    """Drops the remark while the block runs; other remarks of TensorFlow are printed."""
    logger, dropped = tf.get_logger(), _Dropped()
    logger.addFilter(dropped)
    try:
        yield
    finally:
        logger.removeFilter(dropped)


@final
class _Dropped(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return _REMARK not in record.getMessage()
