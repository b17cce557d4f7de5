"""The user's line of a call: not one of TensorFlow, Keras, generated code, or this package."""

import os
from types import FrameType
from typing import Final, final

import keras  # type: ignore[import-untyped]
import tensorflow as tf

from simstrategy_tensorflow.conversion import Origins

__all__ = ["Lines", "Site", "reads_data"]

Site = tuple[str, int]

_HERE: Final = os.path.dirname(__file__) + os.sep
_PYTHON: Final = os.path.dirname(os.__file__)
_LIBRARIES: Final = (_HERE, *(os.path.dirname(one.__file__) + os.sep for one in (tf, keras)))


_DATA: Final = "input_lib.py"
"""TensorFlow's file of distributed datasets, whose workers agree on whether there is another batch."""


def reads_data(frame: FrameType | None) -> bool:
    """Returns whether a distributed dataset is among the callers."""
    while frame is not None:
        if frame.f_code.co_filename.endswith(_DATA):
            return True
        frame = frame.f_back
    return False


@final
class Lines:
    """Finds the lines of one run.  combined: that of the replicas' call that is being combined; None outside of one."""

    def __init__(self) -> None:
        self.combined: Site | None = None
        self._origins = Origins()

    def source(self, frame: FrameType) -> Site:
        """Returns the line of the replicas' call, or else the nearest line that is the user's."""
        return self.combined or self._nearest(frame)

    def users(self, frame: FrameType) -> Site | None:
        """Returns the nearest line of the user's; None where only libraries called."""
        site = self._nearest(frame)
        # Where Keras alone has called, the last line of a replica's thread is one of Python's library.
        return None if site[0].startswith(_LIBRARIES) or os.path.dirname(site[0]) == _PYTHON else site

    def _nearest(self, frame: FrameType) -> Site:
        site: Site = self._origins.source(frame)
        while site[0].startswith(_HERE):
            nearest: FrameType | None = frame
            while nearest is not None and nearest.f_code.co_filename != site[0]:
                nearest = nearest.f_back
            if nearest is None or nearest.f_back is None:
                break
            frame = nearest.f_back
            site = self._origins.source(frame)
        return site
