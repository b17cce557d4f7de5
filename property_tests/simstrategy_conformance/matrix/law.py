"""The text of the clauses, from the pages that state them: paragraphs that begin with a name such as **B-8**."""

import re
from pathlib import Path
from typing import Final

from simstrategy.errors import InvalidArgument

__all__ = ["read_law"]

_CLAUSE: Final = re.compile(r"^\*\*([A-Z]-\d+)\*\* (.*?)(?=\n\n|\n*\Z)", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"\[([^\]]+)\]\([^)\s]+\)")


def read_law(file: Path) -> dict[str, str]:
    """Returns the text of each clause of a page in Markdown, in one line and without the addresses of its links.

    Raises InvalidArgument for a file that cannot be read, or has no clause.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"{file} cannot be read: {error}. It has to be a page such as semantics.md.") from error
    found = {name: _LINK.sub(r"\1", " ".join(clause.split())) for name, clause in _CLAUSE.findall(text)}
    if not found:
        raise InvalidArgument(f"{file} has no clause: a paragraph that begins with a name such as **B-8**.")
    return found
