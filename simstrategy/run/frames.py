"""The frames of all threads, and which of a stack are the user's."""

import gc
import sys
import threading
from operator import call
from pathlib import PurePath
from types import FrameType
from typing import Final

from simstrategy.trace import Site

__all__ = ["frames_of_threads", "is_library", "is_users", "users_sites"]

_STANDARD_LIBRARY: Final = PurePath(threading.__file__).parent


def frames_of_threads() -> dict[int, FrameType]:
    """Returns the newest frame of each thread.

    Without the garbage collector meanwhile: up to CPython 3.11.8 one that runs in this call can block all threads for
    ever (its issue 106883), because a destructor may let a thread run that begins or ends another one.
    """
    restore = gc.enable if gc.isenabled() else gc.disable
    # One step for all three: between two lines another thread could enable the collector again, or an interrupt could
    # leave it disabled.
    _, frames, _ = map(call, (gc.disable, sys._current_frames, restore))  # noqa: SLF001 - documented, and the one way
    assert frames is not None  # it is what the second of them returned
    return frames


def is_library(frame: FrameType) -> bool:
    """Returns whether a frame is of this project, of one of its backends, or of an installed package."""
    module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    file = frame.f_code.co_filename
    ours = module == "simstrategy" or module.startswith("simstrategy_")
    return ours or file.startswith("<frozen") or "site-packages" in PurePath(file).parts


def is_users(frame: FrameType) -> bool:
    """Returns whether a frame is of no library, Python's own included."""
    return not is_library(frame) and _STANDARD_LIBRARY not in PurePath(frame.f_code.co_filename).parents


def users_sites(frame: FrameType | None) -> list[Site]:
    """Returns the lines of a stack that are the user's, the newest first; frame: its newest."""
    sites: list[Site] = []
    while frame is not None:
        if is_users(frame):
            sites.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return sites
