"""The code blocks of a page in Markdown: which there are, and what states that one is not run here.  No tests.

A block that is run elsewhere, or not at all, has a comment above it, or one for all blocks of a language in the page:

    <!-- not run: it installs packages -->
    <!-- run by tests/check/test_guide.py -->
    <!-- python blocks run by backends/xla/tests/test_mesh_guide.py -->
    <!-- ends with 1 -->
    <!-- with train.py of docs/testing_your_program.md -->

The last two are for commands that are run: they end with that exit code, or need a file that another page shows.
"""

import re
from pathlib import Path
from typing import NamedTuple

__all__ = ["PAGES", "ROOT", "Block", "blocks_of", "prose_of", "runners_of"]

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "STYLE.md")),
    *(page for folder in ("", "howto", "reference") for page in sorted((ROOT / "docs" / folder).glob("*.md"))),
]
"""The pages whose blocks are run.  Decision records are of their time, and have none that could be."""

_FENCE = re.compile(r"^(?:<!-- (?P<mark>[^\n]+?) -->\n)?^```(?P<language>[^\n`]*)\n(?P<text>.*?)^```$", re.M | re.S)
_OF_LANGUAGE = re.compile(r"^<!-- (\w+) blocks (run by [^\n]+|not run: [^\n]+) -->$", re.M)
_FILE = re.compile(r"`([\w./]+\.\w+)`[^`\n]*:\n+\Z")
_HEADING = re.compile(r"^(##+) (.+)$", re.M)
_ENDS = re.compile(r"ends with (\d+)\Z")
_WITH = re.compile(r"with (\S+) of (\S+)\Z")


class Block(NamedTuple):
    """One block.  file: what the sentence above it saves it as; mark: the comment's text; None where there is none.

    heading: of its section, of the third level; "" above the first one, and directly below one of the second level.
    """

    page: Path
    line: int
    language: str
    text: str
    file: str | None
    mark: str | None
    heading: str = ""

    @property
    def is_run(self) -> bool:
        """Whether the blocks of the page are run with this one."""
        return self.mark is None or bool(_ENDS.match(self.mark) or _WITH.match(self.mark))

    @property
    def exit_code(self) -> int:
        """With what a command of the block ends."""
        found = _ENDS.match(self.mark or "")
        return int(found[1]) if found else 0

    @property
    def borrowed(self) -> "Block | None":
        """The block of another page that shows the file which this one needs."""
        found = _WITH.match(self.mark or "")
        return found and next(block for block in blocks_of(ROOT / found[2]) if block.file == found[1])

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """Returns the blocks of a page in their order, without the directives of the site."""
    text = page.read_text(encoding="utf-8")
    of_language = dict(_OF_LANGUAGE.findall(text))
    found = []
    for match in _FENCE.finditer(text):
        language = match["language"].strip()
        if not language.startswith("{"):
            file = _FILE.search(text[: match.start()])
            line = text.count("\n", 0, match.start("text")) + 1
            mark = match["mark"] or of_language.get(language)
            level, heading = next(reversed(_HEADING.findall(text, 0, match.start())), ("", ""))
            section = heading if level == "###" else ""
            found.append(Block(page, line, language, match["text"], file and file[1], mark, section))
    return found


def prose_of(page: Path) -> str:
    """Returns a page without its blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def runners_of(block: Block) -> list[Path]:
    """Returns the files that a block's mark names as those that run it."""
    names = (block.mark or "").removeprefix("run by ").split(", ") if (block.mark or "").startswith("run by ") else []
    return [ROOT / name for name in names]
