"""A status line for long runs: in a terminal, and nothing in a log."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

__all__ = ["progress"]


@contextmanager
def progress(text: str) -> Iterator[Callable[[str], None]]:
    """Shows a text with the time that has passed while the block runs; yields a function that changes the text.

    The line is written to a copy of standard output, so it is shown where the program's output is dropped.
    """
    if not Console().is_terminal or not sys.stdout.isatty():
        yield lambda _: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with open(os.dup(sys.stdout.fileno()), "w", encoding=sys.stdout.encoding, errors="backslashreplace") as stream:
        console = Console(file=stream)
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(text, total=None)

            def update(changed: str) -> None:
                bar.update(task, description=changed)

            yield update
