"""Folders in which a script runs with a fault: each has what the current folder has, and what the script writes there.

The entries of the current folder are links, so a file that the script makes or replaces is not in the current folder.
Nothing there is removed or restored: what a script writes through a link, or in a folder that is there, reaches it.
"""

import atexit
import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Final

__all__ = ["folder_like", "fresh_folder", "incomplete", "written"]

_FILES_MAX: Final = 10_000
"""More files of a run are not looked at."""
_ABOVE_MAX: Final = 3
"""In how many folders above one there are links: those further up may have thousands of entries."""
_BESIDE_MAX: Final = 10_000
"""The most links beside one folder."""
_ZIP: Final = b"PK\x03\x04"
"""How an archive begins, as torch.save and numpy.savez write it."""
_CACHE: Final = "__pycache__"


@contextmanager
def fresh_folder() -> Iterator[Path]:
    """Gives a folder with links to all that the current one has; it is removed at the end."""
    with folder_like(Path.cwd()) as folder:
        for entry in Path.cwd().iterdir():
            if entry.name != _CACHE:
                (folder / entry.name).symlink_to(entry)
        yield folder


@contextmanager
def folder_like(like: Path) -> Iterator[Path]:
    """Gives an empty folder in which ``..`` leads to what it leads to in one that is there; it is removed at the end.

    In the nearest folders above it stand links to what is beside the folders of `like`, and none further up. So a
    script reads ``../data`` as in `like`; what it writes beside its folder is not kept. Clause: G-113.
    """
    free = _FREE.setdefault((os.getpid(), like), [])
    above = free.pop() if free else _Above(like)
    try:
        yield above.begun()
    finally:
        above.ended()
        free.append(above)


class _Above:
    """What is above a folder like another one: links, which are made once, and after that what has changed."""

    def __init__(self, like: Path) -> None:
        self._like = like
        self._pid = os.getpid()
        self._root = mkdtemp(prefix="simstrategy-")
        self._folder = Path(self._root, *like.parts[1:])
        self._folder.parent.mkdir(parents=True)
        atexit.register(self._close)

    def begun(self) -> Path:
        """Returns the folder, which is empty."""
        ours, theirs = self._folder, self._like
        for _ in range(min(_ABOVE_MAX, len(theirs.parts) - 1)):
            _link(ours.parent, theirs.parent, theirs.name)
            ours, theirs = ours.parent, theirs.parent
        self._folder.mkdir()
        return self._folder

    def ended(self) -> None:
        rmtree(self._folder, ignore_errors=True)

    def _close(self) -> None:
        if os.getpid() == self._pid:  # and none of a process that was forked
            rmtree(self._root, ignore_errors=True)


_FREE: Final[dict[tuple[int, Path], list[_Above]]] = {}
"""What no run uses, by the process and the folder; it is removed when the process ends."""


def _link(folder: Path, other: Path, name: str) -> None:
    """Lets a folder have links to the entries of another one, and nothing else, but for the entry of this name."""
    try:
        wanted = [entry.name for entry in os.scandir(other) if entry.name != name]
    except OSError:
        wanted = []  # such as a folder that may be passed through, and not be listed
    wanted = wanted[:_BESIDE_MAX]
    names, links = frozenset(wanted), set()
    for entry in list(os.scandir(folder)):
        if entry.is_symlink() and entry.name in names:
            links.add(entry.name)
        elif entry.is_dir(follow_symlinks=False) and entry.name != name:
            rmtree(entry.path, ignore_errors=True)
        elif entry.name != name:
            os.unlink(entry.path)
    for one in wanted:
        if one not in links:
            (folder / one).symlink_to(other / one)


def written(folder: Path) -> dict[str, int]:
    """Returns the files that a script has written to a fresh folder, with their sizes in bytes."""
    found: dict[str, int] = {}
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != _CACHE)
        for name in sorted(files):
            file = Path(parent, name)
            if not file.is_symlink() and file.is_file() and len(found) < _FILES_MAX:
                found[str(file.relative_to(folder))] = file.stat().st_size
    return found


def incomplete(folder: Path, file: str, whole: Mapping[str, int]) -> str | None:
    """Returns why a file of a run cannot be read, in words; None where it can be, or that is not known.

    whole: the files of a run without a fault, with their sizes in bytes.
    """
    path = folder / file
    try:
        if not path.stat().st_size:
            return "empty" if whole.get(file, 0) else None
        with path.open("rb") as stream:
            is_archive = stream.read(len(_ZIP)) == _ZIP
        if is_archive and not zipfile.is_zipfile(path):
            return "an archive without its end"
        if path.suffix == ".json" and file in whole:
            json.loads(path.read_bytes())
    except ValueError:
        return "no whole JSON"
    except OSError:
        return None  # such as one that another process has removed meanwhile
    return None
