"""Runs replica functions: lanes carry them, meetings answer them."""

from simstrategy.run.functions import FunctionKey, function_key
from simstrategy.run.lanes import FINISHED, Lanes, LaneStopped, Park
from simstrategy.run.meeting import Arrival, Meeting, MeetingRoom, Resolve
from simstrategy.run.notes import Note, Sizes, raised_where

__all__ = [
    "FINISHED",
    "Arrival",
    "FunctionKey",
    "LaneStopped",
    "Lanes",
    "Meeting",
    "MeetingRoom",
    "Note",
    "Park",
    "Resolve",
    "Sizes",
    "function_key",
    "raised_where",
]
