"""Keeps the current folder: a program that changes it changes it for its own run only."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["same_folder"]


@contextmanager
def same_folder() -> Iterator[None]:
    """Restores the current folder when the block ends.  One that was removed meanwhile cannot be: it is left out."""
    before = _current()
    try:
        yield
    finally:
        if before is not None and _current() != before:
            with suppress(OSError):
                os.chdir(before)


def _current() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None
