"""The texts of a program's files, for the page: of the recording, or of files that are at hand."""

import hashlib
import tokenize
from pathlib import Path
from typing import Final

from simstrategy.trace import Recording

__all__ = ["files_of", "sources_beside", "sources_in"]

_FILES_MAX: Final = 64
_CHARACTERS_MAX: Final = 1 << 20
"""Of one file."""


def files_of(recording: Recording) -> list[str]:
    """Returns the names of the files in which a recording's call sites are, its program first."""
    sites = [site for point in recording.points for site in point.sites]
    sites += [write.site for write in recording.writes] + [parts.site for parts in recording.parts]
    sites += [result.site for result in recording.results]
    source = recording.header.get("source") or {}
    names = [str(source["file"])] if "file" in source else []
    return list(dict.fromkeys([*names, *(site.rpartition(":")[0] for site in sites if site)]))[:_FILES_MAX]


def sources_in(recording: Recording) -> dict[str, str]:
    """Returns the text of the program where the recording has it."""
    source = recording.header.get("source") or {}
    return {str(source["file"]): str(source["text"])} if "file" in source and "text" in source else {}


def sources_beside(recording: Recording, folder: Path, *, is_own: bool) -> dict[str, str]:
    """Returns the texts of the recording's files.

    folder: in which they are. is_own: whether the program there is the one that was recorded just now; else only a file
    is taken that has the SHA-256 of the recording.
    """
    found = sources_in(recording)
    stated = (recording.header.get("source") or {}).get("sha256")
    for name in files_of(recording):
        file = folder / name
        if name in found or not name.endswith(".py") or ".." in file.parts:
            continue
        try:
            data = file.read_bytes()
            if is_own or hashlib.sha256(data).hexdigest() == stated:
                with tokenize.open(file) as stream:
                    found[name] = stream.read()[:_CHARACTERS_MAX]
        except (OSError, SyntaxError, ValueError):
            continue  # it is not there, or no text: the page states that it has none
    return found
