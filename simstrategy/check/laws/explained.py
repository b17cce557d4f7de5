"""What the laws share that look for the cause of a difference: the program runs again for it."""

from collections.abc import Callable

from simstrategy.check.causes.facts import Cause
from simstrategy.check.row import Finding, Row
from simstrategy.run import raised_where

__all__ = ["explained"]


def explained(row: Row, explain: Callable[[], Cause | None]) -> Row:
    """Returns a row with the cause of its problem, where it has one.  explain: returns None where none is looked for.

    The difference was found, and is not lost where its cause cannot be determined.
    """
    if row.problem is None:
        return row
    plain = Finding(row.law, row.backend, row.replicas, row.schedule, row.problem)
    try:
        cause = explain()
    except Exception as error:  # noqa: BLE001 - of any library that the program uses
        text = f"it could not be determined: {type(error).__name__} {raised_where(error, with_text=False)}."
        return row._replace(finding=plain._replace(cause=text))
    if cause is None:
        return row
    finding = plain._replace(
        kind=cause.kind,
        step=cause.step,
        site=cause.site,
        variable=cause.variable,
        also=cause.also,
        source=cause.source,
        cause=cause.text,
    )
    return row._replace(finding=finding)
