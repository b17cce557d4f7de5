"""AutoGraph and us: has the user's replica functions converted, and finds the user's lines again."""

import os
from types import FrameType, FunctionType
from typing import Any, Final, final

import tensorflow as tf

__all__ = ["Conversion"]

_TENSORFLOW: Final = os.path.dirname(tf.__file__) + os.sep
_GENERATED: Final = "__autograph_generated_file"


@final
class Conversion:
    """Remembers the user's line for each line that AutoGraph made of a replica function."""

    __slots__ = ("_origins",)

    def __init__(self) -> None:
        self._origins: dict[tuple[str, int], tuple[str, int]] = {}

    def prepare(self, function: Any) -> Any:
        """Returns a function as AutoGraph converts it, while a graph is traced; itself in eager mode."""
        # Other callables stay as they are, and so does what AutoGraph has converted already.
        if tf.executing_eagerly() or not isinstance(function, FunctionType) or "autograph_info__" in vars(function):
            return function
        converted = tf.autograph.to_graph(function)
        for made, origin in converted.ag_source_map.items():
            self._origins[made.filename, made.lineno] = (origin.loc.filename, origin.loc.lineno)
        return converted

    def source(self, frame: FrameType) -> tuple[str, int]:
        """Returns the nearest caller's file and line that is the user's: neither generated nor TensorFlow's."""
        nearest: FrameType | None = frame
        while nearest is not None:
            site = (nearest.f_code.co_filename, nearest.f_lineno)
            if site in self._origins or (_GENERATED not in site[0] and not site[0].startswith(_TENSORFLOW)):
                return self._origins.get(site, site)
            nearest = nearest.f_back
        return frame.f_code.co_filename, frame.f_lineno
