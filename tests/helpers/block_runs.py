"""Runs the code blocks of a page in their order, in a folder of their own.  No tests.

* python: saved where the sentence above names a file, as in "Save this as `train.py`:"; else executed, with the names
  of the blocks before.
* pycon: each example gives what stands below it.
* sh: each line is a command of `simstrategy`, which ends with the exit code of the block.
* text: stands in the output of the block before; … stands for anything.
* toml, json: can be read.

Python's blocks are compiled as `train.py`, so that what they print does not depend on the page.
"""

import contextlib
import doctest
import importlib
import io
import json
import re
import shlex
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from blocks import Block, blocks_of
from shares import one_in
from typer.testing import CliRunner

from simstrategy.cli.app import app_for

__all__ = ["SHARES", "PageRun", "run_page"]

_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_COMMAND = re.compile(r"^(?:\S*/)?simstrategy (.*?)(?:  +#.*)?$")


SHARES: Final = one_in(6, range(6))
"""Parameters of a test that runs one of six shares of a page's sections."""


def run_page(page: Path, folder: Path, share: int | None = None) -> None:
    """Runs the blocks of a page in a folder, which is the current one.  Raises what `PageRun.run` raises.

    share: one of `SHARES`: every sixth section from this one on, and the blocks that are in none. All without.
    """
    run = PageRun(folder)
    blocks = blocks_of(page)
    sections = list(dict.fromkeys(block.heading for block in blocks if block.heading))
    chosen = {"", *(sections if share is None else sections[share :: len(SHARES)])}
    for block in blocks:
        if block.heading in chosen:
            run.run(block)


class PageRun:
    """What the blocks of one page share: names, a folder, and what was printed last."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._names: dict[str, Any] = {"__name__": "page"}
        self._printed = ""
        self._saved: list[str] = []
        self._loaded: set[str] = set()

    def run(self, block: Block) -> None:
        """Runs a block.  Raises AssertionError where it does not do what the page states, and what it raises itself."""
        runner = _RUNNERS.get(block.language)
        assert runner is not None, (
            f"{block}: a block of {block.language!r} cannot be run. Name another language ({', '.join(_RUNNERS)}), or "
            f"put a comment with the reason above it: <!-- not run: … -->"
        )
        runner(self, block)

    def unused(self) -> list[str]:
        """Returns the files that were saved, and that no later block has used."""
        return [name for name in self._saved if name not in self._loaded]

    def _python(self, block: Block) -> None:
        if block.file is not None:
            (self._folder / block.file).write_text(block.text, encoding="utf-8")
            self._saved.append(block.file)
            return
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, "train.py", "exec"), self._names)
        self._printed = printed.getvalue()

    def _pycon(self, block: Block) -> None:
        examples = doctest.DocTestParser().get_doctest(block.text, self._names, str(block), str(block.page), block.line)
        differences = io.StringIO()
        runner = doctest.DocTestRunner(verbose=False, optionflags=_OPTIONS)
        runner.run(examples, out=differences.write, clear_globs=False)
        self._names = examples.globs
        assert runner.failures == 0, f"{block}:\n{differences.getvalue()}"
        assert runner.tries > 0, f"{block} has no example."

    def _sh(self, block: Block) -> None:
        printed = []
        if (other := block.borrowed) is not None:
            (self._folder / str(other.file)).write_text(other.text, encoding="utf-8")
        for line in block.text.splitlines():
            found = _COMMAND.match(line)
            assert found is not None, (
                f"{block}: {line!r} is no command of simstrategy. Give the reason for not running it."
            )
            arguments = shlex.split(found[1])
            self._loaded |= {one for one in self._saved if one in arguments}
            with contextlib.chdir(self._folder), _modules_as_before(self._folder), warnings.catch_warnings():
                warnings.simplefilter("default")  # as outside of tests
                done = CliRunner().invoke(app_for(arguments), arguments)
            assert done.exit_code == block.exit_code, f"{block}: {line}\nended with {done.exit_code}\n{done.output}"
            printed.append(done.output)
        self._printed = "".join(printed)

    def _text(self, block: Block) -> None:
        parts = [" ".join(part.split()) for part in block.text.split("…")]
        printed = " ".join(self._printed.split())
        start = 0
        for part in parts:
            start = printed.find(part, start)
            assert start >= 0, f"{block}: not printed is {part!r}, but\n{self._printed}"
            start += len(part)

    def _toml(self, block: Block) -> None:
        assert tomllib.loads(block.text), block

    def _json(self, block: Block) -> None:
        assert json.loads(block.text), block


_RUNNERS: dict[str, Callable[[PageRun, Block], None]] = {
    "python": PageRun._python,
    "pycon": PageRun._pycon,
    "sh": PageRun._sh,
    "text": PageRun._text,
    "toml": PageRun._toml,
    "json": PageRun._json,
}


@contextlib.contextmanager
def _modules_as_before(folder: Path) -> Iterator[None]:
    """Takes back what loading a program leaves: its modules, and the folder on the import path."""
    before, path = set(sys.modules), list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - before:
            file = getattr(sys.modules[name], "__file__", None)
            if file is not None and Path(file).parent == folder:
                del sys.modules[name]
        importlib.invalidate_caches()
