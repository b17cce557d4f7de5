"""`simstrategy backends`: what is installed, what it finds here, and what to install."""

from contextlib import closing

from rich.table import Table

from simstrategy.cli.options import wide_console
from simstrategy.device import INSTALL_HINTS, available, open_backend
from simstrategy.errors import SimStrategyError

__all__ = ["backends"]


def backends() -> None:
    """List the backends: devices found, and for those that are missing, why and what to install."""
    table = Table(box=None, header_style="bold")
    for column in ("name", "devices", "executor", "notes"):
        table.add_column(column)
    installed = available()
    for name in sorted({*installed, *INSTALL_HINTS}):
        if name not in installed:
            table.add_row(name, "-", "-", f"not installed: {INSTALL_HINTS[name]}", style="dim")
            continue
        try:
            with closing(open_backend(name)) as backend:
                found = backend.capabilities
                devices = ", ".join(sorted({device.placement for device in backend.devices}))
                note = "several processes" if found.spans_processes else "all replicas in one process"
                table.add_row(name, devices, found.executor, note)
        except SimStrategyError as error:
            table.add_row(name, "-", "-", str(error), style="red")
    wide_console().print(table)
