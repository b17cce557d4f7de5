"""Puts the commands together."""

import typer

from simstrategy.cli.backends import backends
from simstrategy.cli.check import check
from simstrategy.cli.conform import conform
from simstrategy.cli.run import run
from simstrategy.cli.split import split

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="tf.distribute.Strategy's semantics as a specification that runs.",
)
app.command()(backends)
app.command()(check)
app.command()(conform)
app.command()(run)
app.command()(split)
