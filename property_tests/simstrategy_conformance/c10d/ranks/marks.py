"""Marks that ranks leave for each other beside the backend under examination: files in the world's folder."""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, final

__all__ = ["Marks"]

_LOOK_S: Final = 0.001


@final
class Marks:
    """Named marks of one world."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder) / "marks"
        self._folder.mkdir(exist_ok=True)

    def put(self, name: str) -> None:
        """Leaves a mark."""
        (self._folder / name).touch()

    def has(self, name: str) -> bool:
        """Returns whether there is a mark."""
        return os.path.exists(self._folder / name)

    def await_all(self, names: Iterable[str], limit_s: float) -> bool:
        """Waits for marks; returns whether all are there within the limit."""
        until_s = time.monotonic() + limit_s
        for name in names:
            while not self.has(name):
                if time.monotonic() > until_s:
                    return False
                time.sleep(_LOOK_S)
        return True
