"""The command line: a thin face of the library.  Needs the extra `cli`; nothing else imports this."""

import sys

__all__ = ["main"]


def main() -> None:
    """Runs the command line; says what to install where its libraries are missing."""
    try:
        from simstrategy.cli.app import app  # noqa: PLC0415 - so that a missing extra can be told
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"The command line needs {error.name}: pip install 'simstrategy[cli]'")
    app()
