"""What the laws share that look for the cause of a difference: the program runs again for it."""

from collections.abc import Callable

from simstrategy.check.causes.facts import Cause
from simstrategy.check.row import Finding, Row
from simstrategy.check.shown import Shown, Way
from simstrategy.run import raised_where
from simstrategy.trace.recording import EventAt

__all__ = ["explained"]


def explained(row: Row, explain: Callable[[], Cause | None], ways: tuple[Way, ...]) -> Row:
    """Returns a row with the cause of its problem, where it has one.

    explain: returns None where none is looked for. ways: of the two runs that differ, the reference first.

    The difference was found, and is not lost where its cause cannot be determined.
    """
    if row.problem is None:
        return row
    plain = Finding(row.law, row.backend, row.replicas, row.schedule, row.problem)
    plain = plain._replace(shown=Shown(ways))
    try:
        cause = explain()
    except Exception as error:  # noqa: BLE001 - of any library that the program uses
        text = f"it could not be determined: {type(error).__name__} {raised_where(error, with_text=False)}."
        return row._replace(finding=plain._replace(cause=text))
    if cause is None:
        return row._replace(finding=plain)
    finding = plain._replace(
        kind=cause.kind,
        step=cause.step,
        site=cause.site,
        variable=cause.variable,
        also=cause.also,
        source=cause.source,
        earlier=cause.earlier,
        cause=cause.text,
        shown=Shown(ways, cause.number, cause.at or _at(cause)),
    )
    return row._replace(finding=finding)


def _at(cause: Cause) -> EventAt | None:
    """Returns the event of a cause of which the line is known."""
    site = cause.source or cause.site
    return None if site is None else EventAt(site, cause.step)
