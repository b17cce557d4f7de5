"""AutoGraph and us: it converts the user's functions and not ours, and the user's lines are found again.

What is created in graphs, and where, is no business of this file.
"""

import os
import sys
from types import FrameType, FunctionType, ModuleType
from typing import Any, Final, final

import tensorflow as tf

import simstrategy
from simstrategy.errors import SimStrategyError

__all__ = ["Origins", "leave_ours_alone", "prepare"]

Site = tuple[str, int]

_NAMES: Final = ("simstrategy", "simstrategy_tensorflow")


def _folder(module: ModuleType) -> str:
    return os.path.dirname(os.path.abspath(str(module.__file__))) + os.sep


_FOLDERS: Final = (
    *map(_folder, (tf, simstrategy, sys.modules[__name__])),
    # Keras lies beside TensorFlow, and is imported by whoever wants it.
    os.path.join(os.path.dirname(os.path.dirname(_folder(tf))), "keras") + os.sep,
)
"""TensorFlow's own, Keras's and ours: no line in them is the user's."""
_GENERATED: Final = "__autograph_generated_file"
_MARK: Final = "autograph_info__"
"""The attribute by which AutoGraph knows functions that it must take as they are."""


def leave_ours_alone() -> None:
    """Marks every function of this project that is loaded, so that AutoGraph calls it as it is.

    Converting them would take long, lose call sites, and gain nothing: what they do in Python is decided
    while a function is traced. Errors are marked too, to come out as they are. Marking twice is harmless.
    """
    # AutoGraph raises another error in place of one that it does not know; ours name the user's lines themselves.
    setattr(SimStrategyError, "ag_pass_through", True)  # noqa: B010 - a mark that TensorFlow reads
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _NAMES:
            _mark(module, name)


def _mark(holder: ModuleType | type, module: str) -> None:
    for value in list(vars(holder).values()):
        function = getattr(value, "__func__", value)
        if isinstance(function, FunctionType) and function.__module__.partition(".")[0] in _NAMES:
            setattr(function, _MARK, {})
        elif isinstance(value, type) and isinstance(holder, ModuleType) and value.__module__ == module:
            _mark(value, module)


def prepare(function: Any) -> Any:
    """Returns a function as AutoGraph converts it where the code that asks is converted; itself elsewhere."""
    if tf.executing_eagerly():
        return function
    autograph = tf.__internal__.autograph
    return autograph.tf_convert(function, autograph.control_status_ctx(), convert_by_default=False)


@final
class Origins:
    """Remembers the user's line for each line that AutoGraph has generated."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Site, Site] = {}

    def source(self, frame: FrameType) -> Site:
        """Returns the nearest caller's file and line that is the user's: not generated, nor TensorFlow's, nor ours."""
        nearest: FrameType | None = frame
        while nearest is not None:
            file = nearest.f_code.co_filename
            if _GENERATED in file:
                return self._origin(nearest, (file, nearest.f_lineno))
            if not file.startswith(_FOLDERS):
                return file, nearest.f_lineno
            nearest = nearest.f_back
        return frame.f_code.co_filename, frame.f_lineno

    def _origin(self, frame: FrameType, site: Site) -> Site:
        if site not in self._known:
            # Whoever runs generated code holds the map of its lines. Replicas run functions that were generated
            # around them, in another thread: that map was learned where they were run from.
            caller: FrameType | None = frame
            while caller is not None:
                lines = getattr(caller.f_locals.get("converted_f"), "ag_source_map", {})
                for made, origin in lines.items():
                    self._known[made.filename, made.lineno] = origin.loc.filename, origin.loc.lineno
                caller = caller.f_back
        return self._known.get(site) or _traced_back() or site


def _traced_back() -> Site | None:
    """Asks TensorFlow, which tells with every operation which of the user's lines made it, in its own thread."""
    with tf.Graph().as_default():
        calls = tf.no_op().traceback
    for file, line, *_ in reversed(calls):
        if not file.startswith(_FOLDERS) and _GENERATED not in file:
            return file, line
    return None
