"""The trace of a run: the requests of each replica, in their order, with their call sites.

A trace is canonical JSON lines, so two traces are equal if their bytes are equal. An event holds worker, replica,
kind, op, axis, subject, shapes, dtypes and call site; no values, devices, absolute paths, addresses or times.

The names are imported on their first use: a run that records nothing needs no recorder (decision 0035).
"""

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from simstrategy.late_names import on_first_use

if TYPE_CHECKING:
    from simstrategy.trace.difference import TraceDifference, first_difference
    from simstrategy.trace.events import (
        CallPath,
        Event,
        Request,
        Site,
        Subject,
        Trace,
        describe_request,
        describe_site,
        warn_at,
        write_events,
    )
    from simstrategy.trace.files import read
    from simstrategy.trace.recorder import AnyTrace, Recorder
    from simstrategy.trace.recording import Printed, Recording, Result, StepParts, SyncPoint, VariableWrite
    from simstrategy.trace.values import Unreadable, Value, value_digest

__all__ = [
    "AnyTrace",
    "CallPath",
    "Event",
    "Printed",
    "Recorder",
    "Recording",
    "Request",
    "Result",
    "Site",
    "StepParts",
    "Subject",
    "SyncPoint",
    "Trace",
    "TraceDifference",
    "Unreadable",
    "Value",
    "VariableWrite",
    "describe_request",
    "describe_site",
    "first_difference",
    "read",
    "value_digest",
    "warn_at",
    "write_events",
]

_WHERE: Final = MappingProxyType(
    {
        "AnyTrace": "simstrategy.trace.recorder:AnyTrace",
        "CallPath": "simstrategy.trace.events:CallPath",
        "Event": "simstrategy.trace.events:Event",
        "Printed": "simstrategy.trace.recording:Printed",
        "Recorder": "simstrategy.trace.recorder:Recorder",
        "Recording": "simstrategy.trace.recording:Recording",
        "Request": "simstrategy.trace.events:Request",
        "Result": "simstrategy.trace.recording:Result",
        "Site": "simstrategy.trace.events:Site",
        "StepParts": "simstrategy.trace.recording:StepParts",
        "Subject": "simstrategy.trace.events:Subject",
        "SyncPoint": "simstrategy.trace.recording:SyncPoint",
        "Trace": "simstrategy.trace.events:Trace",
        "TraceDifference": "simstrategy.trace.difference:TraceDifference",
        "Unreadable": "simstrategy.trace.values:Unreadable",
        "Value": "simstrategy.trace.values:Value",
        "VariableWrite": "simstrategy.trace.recording:VariableWrite",
        "describe_request": "simstrategy.trace.events:describe_request",
        "describe_site": "simstrategy.trace.events:describe_site",
        "first_difference": "simstrategy.trace.difference:first_difference",
        "read": "simstrategy.trace.files:read",
        "value_digest": "simstrategy.trace.values:value_digest",
        "warn_at": "simstrategy.trace.events:warn_at",
        "write_events": "simstrategy.trace.events:write_events",
    }
)
"""Where each name is defined."""


__getattr__, __dir__ = on_first_use(globals(), _WHERE)
