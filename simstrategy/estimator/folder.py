"""The checkpoints of one folder: NumPy files by global step, and a list of those that are kept.

It has no variables: what is saved is host arrays by name.
"""

import json
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn, final

import numpy as np

from simstrategy.errors import InvalidArgument

__all__ = ["GLOBAL_STEP", "Folder", "Saved", "Saving", "read"]

GLOBAL_STEP: Final = "global_step"
_LIST: Final = "checkpoint"
_PREFIX: Final = "variable/"
"""Before a variable's name in a file, so that no name is one of the arguments of NumPy's function."""

Saved = Mapping[str, np.ndarray[Any, Any]]
"""Host arrays [shape of the variable] by name, and the global step."""


@final
class Folder:
    """A folder of checkpoints.  path: made when the first one is saved. keep: how many, None for all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as path:
    ...     folder = Folder(path, 1)
    ...     folder.save({"w": np.float32(1)}, 0)
    ...     folder.save({"w": np.float32(2)}, 5)
    ...     folder.steps(), sorted(os.listdir(path))
    ((5,), ['checkpoint', 'model.ckpt-5.npz'])
    """

    def __init__(self, path: str, keep: int | None) -> None:
        self.path = Path(path)
        self._keep = keep

    def steps(self) -> tuple[int, ...]:
        """Returns the global steps of the checkpoints that are kept, in the order in which they were saved.

        Raises InvalidArgument where the list is damaged.
        """
        place = self.path / _LIST
        if not place.is_file():
            return ()
        try:
            found = json.loads(place.read_text(encoding="utf-8"))["steps"]
            return tuple([int(step) for step in found])
        except (ValueError, KeyError, TypeError):
            _damaged(place)

    def file(self, step: int) -> Path:
        return self.path / f"model.ckpt-{step}.npz"

    def save(self, values: Saved, step: int) -> None:
        """Writes a checkpoint in one step, so that an interruption leaves the old ones, and deletes what is too old."""
        if self.path.exists() and not self.path.is_dir():
            raise InvalidArgument(f"model_dir {self.path} is no folder. Give the name of a folder.")
        self.path.mkdir(parents=True, exist_ok=True)
        new = self.path / "new.npz"
        with new.open("wb") as stream:
            arrays: dict[str, Any] = {_PREFIX + name: value for name, value in values.items()}
            np.savez(stream, allow_pickle=False, **arrays, **{GLOBAL_STEP: np.int64(step)})
        os.replace(new, self.file(step))
        steps = [*(one for one in self.steps() if one != step), step]
        kept = steps if self._keep is None else steps[-self._keep :]
        listed = self.path / f"{_LIST}.new"
        listed.write_text(json.dumps({"steps": kept}), encoding="utf-8")
        os.replace(listed, self.path / _LIST)
        for one in set(steps) - set(kept):
            self.file(one).unlink(missing_ok=True)

    def latest(self) -> Path | None:
        """Returns the file of the last checkpoint; None where none was saved."""
        steps = self.steps()
        return self.file(steps[-1]) if steps else None


@final
class Saving:
    """When the checkpoints of one training are saved: before its first step, every `every` steps, and at its end.

    current: returns the values and the global step.
    """

    def __init__(self, folder: Folder, every: int | None, current: Callable[[], tuple[Saved, int]]) -> None:
        self._folder, self._every, self._current = folder, every, current
        self._last: int | None = None

    def begin(self) -> None:
        """Saves where nothing was saved: before the first step, when all variables are there."""
        if self._last is None:
            self._save()

    def after(self, step: int) -> None:
        if self._every is not None and self._last is not None and step >= self._last + self._every:
            self._save()

    def end(self, step: int) -> None:
        if self._last not in (None, step):
            self._save()

    def _save(self) -> None:
        values, self._last = self._current()
        self._folder.save(values, self._last)


def read(file: str | Path) -> Saved:
    """Returns what a checkpoint holds.  Raises InvalidArgument for a file that is missing, cut off or damaged."""
    path = Path(file)
    if not path.is_file():
        raise InvalidArgument(
            f"There is no checkpoint {path}. Give a file model.ckpt-….npz that an Estimator saved, or train first."
        )
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            values = {name.removeprefix(_PREFIX): stored[name] for name in stored.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile):
        _damaged(path)
    if GLOBAL_STEP not in values:
        _damaged(path)
    return values


def _damaged(path: Path) -> NoReturn:
    raise InvalidArgument(
        f"The checkpoint {path} is damaged or cut off. Delete it and its line in {path.with_name(_LIST)}, to go on "
        f"from an older one, or train anew in another model_dir."
    )
