"""The frames of all threads, and which of a stack are the user's."""

import gc
import sys
import threading
from collections.abc import Iterator
from functools import lru_cache
from operator import call
from pathlib import PurePath
from types import FrameType
from typing import Final

from simstrategy.trace import Site

__all__ = ["frames_of_threads", "is_library", "is_users", "is_users_file", "places_of", "users_sites"]

_STANDARD_LIBRARY: Final = PurePath(threading.__file__).parent
_PACKAGES: Final = "conformance corpus pytest template tensorflow tf_distribute torch torch_distributed xla"
_OURS: Final = frozenset({"simstrategy", *[f"simstrategy_{name}" for name in _PACKAGES.split()]})
"""The packages of this repository, which may stand outside of site-packages.  A user's may have such a name, too."""


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
    return _is_library(frame.f_code.co_filename, str(frame.f_globals.get("__name__", "")))


def is_users(frame: FrameType) -> bool:
    """Returns whether a frame is of no library, Python's own included."""
    return _is_users(frame.f_code.co_filename, str(frame.f_globals.get("__name__", "")))


@lru_cache(maxsize=4096)
def _is_library(file: str, module: str) -> bool:
    return module.partition(".")[0] in _OURS or file.startswith("<frozen") or "site-packages" in PurePath(file).parts


@lru_cache(maxsize=4096)
def _is_users(file: str, module: str) -> bool:
    return not _is_library(file, module) and _STANDARD_LIBRARY not in PurePath(file).parents


def is_users_file(file: str) -> bool:
    """Returns whether a file is of no installed package and not Python's own.  For stacks of another process."""
    return _is_users(file, "")


def users_sites(frame: FrameType | None) -> list[Site]:
    """Returns the lines of a stack that are the user's, the newest first; frame: its newest."""
    sites: list[Site] = []
    while frame is not None:
        if is_users(frame):
            sites.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return sites


def places_of(error: BaseException) -> Iterator[tuple[FrameType, int]]:
    """Yields each frame of an exception's traceback with its line, the outermost first.

    As `traceback.walk_tb`, whose module every start would pay for.
    """
    traceback = error.__traceback__
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next
