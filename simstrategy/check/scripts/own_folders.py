"""Folders in which runs of a script begin without what earlier runs have written to the current folder.

A script may go on from a checkpoint that is there, or refuse a folder that is there. Two equal runs of it differ then.
Runs in the current folder come first, for a script may also fetch its data there, once for all runs.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, final

from simstrategy.check.scripts.facts import ScriptRun
from simstrategy.check.scripts.folders import folder_like

__all__ = ["OwnFolders"]

_ENTRIES_MAX: Final = 100_000
"""A current folder with more files is not looked at."""
_NAMED_MAX: Final = 3
"""The most files that a sentence names."""
_NOT_LOOKED_AT: Final = ("__pycache__", "node_modules")

_State = dict[str, tuple[int, int] | None]
"""By a path below the current folder: time of the last change in ns and size in bytes of a file; None for a folder."""


@final
class OwnFolders:
    """Where the runs of a script begin: in the current folder, and in folders of their own once that is necessary.

    notes: to which a sentence is added then. same: whether two runs have given the same.
    """

    def __init__(self, notes: list[str], same: Callable[[ScriptRun, ScriptRun], bool]) -> None:
        self._notes = notes
        self._same = same
        self._before: _State | None = None
        """What was there before the first run, where folders of their own are used."""

    @contextmanager
    def one(self) -> Iterator[str | None]:
        """Gives the folder of one run; None for the current one."""
        if self._before is None:
            yield None
            return
        with folder_like(Path.cwd()) as folder:
            left = _left(self._before, _state(Path.cwd()) or {})
            _mirror(Path.cwd(), folder, "", {path: path not in self._before for path in left})
            yield str(folder)

    def twice(
        self, first: Callable[[], ScriptRun], again: Callable[[], ScriptRun]
    ) -> tuple[ScriptRun, ScriptRun | None]:
        """Makes two equal runs; one that fails is not repeated.

        Where the two differ in the current folder, and have written to it, both are made again in folders of their own,
        and so are all runs from now on, unless they fail there.
        """
        before = _state(Path.cwd()) if self._before is None else None
        one = first()
        other = None if one.error is not None else again()
        if before is None or other is None or self._same(one, other):
            return one, other
        left = _left(before, _state(Path.cwd()) or before)
        if not left:
            return one, other
        self._before = before
        own = first()
        repeated = None if own.error is not None else again()
        if repeated is None:
            self._before = None
            return one, other
        self._notes += [_note(left)] if self._same(own, repeated) else []
        return own, repeated


def _note(left: list[str]) -> str:
    more = len(left) - _NAMED_MAX
    names = ", ".join(left[:_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
    return (
        f"The script's runs depend on what an earlier run has written to the current folder: {names}. Each run was "
        f"made in a folder of its own, without that."
    )


def _state(folder: Path) -> _State | None:
    """Returns what is below a folder, without hidden folders and environments; None where it is too much."""
    found: _State = {}
    for parent, folders, files in os.walk(folder):
        here = Path(parent)
        folders[:] = sorted(name for name in folders if _is_looked_at(here / name))
        found.update({str((here / name).relative_to(folder)): None for name in folders})
        for name in sorted(files):
            try:
                status = (here / name).lstat()
            except OSError:
                continue  # such as one that another process has removed meanwhile
            found[str((here / name).relative_to(folder))] = (status.st_mtime_ns, status.st_size)
        if len(found) > _ENTRIES_MAX:
            return None
    return found


def _is_looked_at(folder: Path) -> bool:
    hidden = folder.name.startswith(".") or folder.name in _NOT_LOOKED_AT
    return not hidden and not folder.is_symlink() and not (folder / "pyvenv.cfg").exists()


def _left(before: _State, now: _State) -> list[str]:
    """Returns the files and folders that are new or have changed since."""
    return [path for path, status in now.items() if path not in before or before[path] != status]


def _mirror(source: Path, target: Path, within: str, left: Mapping[str, bool]) -> None:
    """Fills a folder with what another one had before: links, and copies of files that have changed since.

    left: the paths that have changed, and whether each is new.
    """
    for entry in sorted(source.iterdir()):
        path = f"{within}{entry.name}"
        if left.get(path, False):
            continue
        if any(one.startswith(f"{path}/") for one in left):
            (target / entry.name).mkdir()
            _mirror(entry, target / entry.name, f"{path}/", left)
        elif path in left:
            shutil.copy2(entry, target / entry.name)
        else:
            (target / entry.name).symlink_to(entry)
