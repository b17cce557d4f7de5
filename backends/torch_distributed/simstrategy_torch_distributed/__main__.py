"""`python -m simstrategy_torch_distributed …` is `simstrategy torchrun …`."""

import typer

from simstrategy.cli.app import add_command
from simstrategy_torch_distributed.command import torchrun

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
add_command(app, "torchrun", torchrun)
if __name__ == "__main__":
    app(prog_name="simstrategy torchrun")
