"""The command line: a thin layer over the library.  Needs the extra `cli`; nothing else imports this."""

import gc
import sys
from collections.abc import Sequence
from contextlib import suppress

from simstrategy.cli.leaving import finish_output, leave

__all__ = ["main"]


def main(words: Sequence[str] | None = None) -> None:
    """Runs the command line; names what to install where its libraries are missing.  words: None for the process's."""
    words = sys.argv[1:] if words is None else list(words)
    gc.disable()  # until a command runs: to look through what is imported takes a tenth of the time, and it stays
    try:
        from simstrategy.cli.app import app_for  # noqa: PLC0415 - so that a missing extra is reported
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"The command line needs {error.name}: pip install 'simstrategy[cli]'")
    try:
        app_for(words)(words)
    except SystemExit as end:
        leave(end.code)
        if not finish_output():
            sys.exit(end.code or 2)
        raise
    except OSError as error:  # of a text that is no command's, such as the list of all: it could not be written
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
        finish_output()
        sys.exit(2)
