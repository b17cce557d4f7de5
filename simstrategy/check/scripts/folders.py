"""Folders in which a script runs with a fault: each has what the current folder has, and what the script writes there.

The entries of the current folder are links, so a file that the script makes or replaces is not in the current folder.
Nothing there is removed or restored: what a script writes through a link, or in a folder that is there, reaches it.
"""

import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

__all__ = ["folder_below", "fresh_folder", "incomplete", "written"]

_FILES_MAX: Final = 10_000
"""More files of a run are not looked at."""
_BESIDE_MAX: Final = 10_000
"""The most links beside one folder."""
_ZIP: Final = b"PK\x03\x04"
"""How an archive begins, as torch.save and numpy.savez write it."""
_CACHE: Final = "__pycache__"


@contextmanager
def fresh_folder() -> Iterator[Path]:
    """Gives a folder with links to all that the current one has; it is removed at the end."""
    with TemporaryDirectory(prefix="simstrategy-") as name:
        folder = folder_below(Path(name), Path.cwd())
        for entry in Path.cwd().iterdir():
            if entry.name != _CACHE:
                (folder / entry.name).symlink_to(entry)
        yield folder


def folder_below(root: Path, like: Path) -> Path:
    """Makes an empty folder below another one, in which ``..`` leads to what it leads to in a folder that is there.

    Above it, as far as the root of the file system, stand links to what is beside the folders of `like`. So a script
    reads ``../data`` as in `like`; what it writes beside its folder is not kept. Clause: G-113.
    """
    target, source = root, Path(like.anchor)
    for name in like.parts[1:]:
        try:
            beside = [entry for entry in source.iterdir() if entry.name != name]
        except OSError:
            beside = []  # such as a folder that may be passed through, and not be listed
        for entry in beside[:_BESIDE_MAX]:
            (target / entry.name).symlink_to(entry)
        target, source = target / name, source / name
        target.mkdir()
    return target


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
