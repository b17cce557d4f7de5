"""Integration with AutoGraph: it converts the user's functions but not ours, and call sites are the user's lines.

The placement of operations in graphs is in `placement.py`.
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
    # Keras is in a folder beside TensorFlow's; it may be not imported yet.
    os.path.join(os.path.dirname(os.path.dirname(_folder(tf))), "keras") + os.sep,
)
"""The folders of TensorFlow, Keras and simstrategy: no line in them is the user's."""
_GENERATED: Final = "__autograph_generated_file"
_MARK: Final = "autograph_info__"
"""AutoGraph does not convert a function with this attribute."""


def leave_ours_alone() -> None:
    """Marks every loaded function of this project, so that AutoGraph does not convert it.

    A conversion would take long and lose call sites, without any use: these functions run in Python while a function is
    traced. Errors are marked too, so that AutoGraph does not replace them. May be called again.
    """
    # AutoGraph replaces errors of unknown classes; the text of ours has the user's line already.
    setattr(SimStrategyError, "ag_pass_through", True)  # noqa: B010 - a mark that TensorFlow reads
    for name in list(sys.modules):  # another thread may import meanwhile
        module = sys.modules.get(name)
        if module is not None and name.partition(".")[0] in _NAMES:
            _mark(module, name)


def _mark(holder: ModuleType | type, module: str) -> None:
    for value in list(vars(holder).values()):
        function = getattr(value, "__func__", value)
        if isinstance(function, FunctionType) and function.__module__.partition(".")[0] in _NAMES:
            setattr(function, _MARK, {})
        elif isinstance(value, type) and isinstance(holder, ModuleType) and value.__module__ == module:
            _mark(value, module)


def prepare(function: Any) -> Any:
    """Returns the function, converted by AutoGraph if the calling code is converted."""
    if tf.executing_eagerly():
        return function
    autograph = tf.__internal__.autograph
    return autograph.tf_convert(function, autograph.control_status_ctx(), convert_by_default=False)


@final
class Origins:
    """Maps each line that AutoGraph has generated to the user's line."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Site, Site] = {}

    def source(self, frame: FrameType) -> Site:
        """Returns file and line of the nearest caller in the user's code: not generated, not TensorFlow's, not ours."""
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
            # The caller of generated code holds the map of its lines. Replicas run functions that were generated
            # in another thread: their map was stored when that thread called `run`.
            caller: FrameType | None = frame
            while caller is not None:
                lines = getattr(caller.f_locals.get("converted_f"), "ag_source_map", {})
                for made, origin in lines.items():
                    self._known[made.filename, made.lineno] = origin.loc.filename, origin.loc.lineno
                caller = caller.f_back
        return self._known.get(site) or _traced_back() or site


def _traced_back() -> Site | None:
    """Returns the user's line from a new operation's traceback, which TensorFlow keeps for its own thread."""
    with tf.Graph().as_default():
        calls = tf.no_op().traceback
    for file, line, *_ in reversed(calls):
        if not file.startswith(_FOLDERS) and _GENERATED not in file:
            return file, line
    return None
