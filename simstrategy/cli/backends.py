"""`simstrategy backends`: what is installed, what each backend needs, and how to install the others."""

import re
from contextlib import closing
from importlib.metadata import EntryPoint, PackageNotFoundError, version
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from simstrategy.cli.texts import wide_console
from simstrategy.device import EXPERIMENTAL, INSTALL_HINTS, available, open_backend
from simstrategy.errors import SimStrategyError

__all__ = ["backends"]

_NAME = re.compile(r"[A-Za-z0-9._-]+")


def backends(
    probe: Annotated[bool, typer.Option("--probe", help="Import and open each backend; show its devices.")] = False,
) -> None:
    """List the backends: what is installed, in which versions, and how to install the others.

    Imports no framework. With --probe, imports and opens every installed backend and shows the devices that it finds.
    """
    table = Table(box=None, header_style="bold")
    for column in ("name", "devices", "executor", "notes") if probe else ("name", "version", "needs", "notes"):
        table.add_column(column)
    installed = available()
    for name in sorted({*installed, *INSTALL_HINTS}):
        if name not in installed:
            table.add_row(name, "-", "-", _notes(name, f"not installed: {INSTALL_HINTS[name]}"), style="dim")
        elif probe:
            _add_probed(table, name)
        else:
            table.add_row(name, *_found(installed[name]), _notes(name))
    console = wide_console()
    console.print(table)
    if any(name not in installed for name in INSTALL_HINTS):
        console.print("Run `pip install` in a checkout of simstrategy; elsewhere, install the wheel.", style="dim")


def _add_probed(table: Table, name: str) -> None:
    """Adds the row of a backend that was opened, or of the error that opening it raised."""
    try:
        with closing(open_backend(name)) as backend:
            found = backend.capabilities
            devices = ", ".join(sorted({device.placement for device in backend.devices}))
            note = "several processes" if found.spans_processes else "all replicas in one process"
            table.add_row(name, devices, found.executor, _notes(name, note))
    except SimStrategyError as error:
        table.add_row(name, "-", "-", _notes(name, str(error)), style="red")


def _found(point: EntryPoint) -> tuple[str, str]:
    """Returns the version of a backend's distribution, and those of the distributions that it requires."""
    if point.dist is None:
        return "-", "-"
    required = [one for one in point.dist.requires or () if "extra ==" not in one.replace("'", '"')]
    names = [found.group() for one in required if (found := _NAME.match(one)) and found.group() != "simstrategy"]
    return f"{point.dist.name} {point.dist.version}", ", ".join(_with_version(name) for name in names) or "-"


def _with_version(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} (missing)"


def _notes(name: str, note: str = "") -> str:
    experimental = f"experimental: {EXPERIMENTAL[name]}" if name in EXPERIMENTAL else ""
    return escape("; ".join(part for part in (experimental, note) if part))
