"""Runs replica functions as tasks, and matches their calls."""

from simstrategy.run.call_paths import path_source
from simstrategy.run.calls import PendingCall, Resolve, Sizes, Suspend
from simstrategy.run.captured import ReplicaLocal
from simstrategy.run.closures import compare_held, held_print
from simstrategy.run.coordinator import CollectiveMatcher, Coordinator
from simstrategy.run.functions import FunctionKey, function_key
from simstrategy.run.isolation import Isolation, WatchDraws
from simstrategy.run.left import when_left_for_ever
from simstrategy.run.observing import Matcher
from simstrategy.run.replica_tasks import WAIT_LIMIT_S, ReplicaTasks
from simstrategy.run.status import StatusMessage, raised_site, raised_where, stated_site
from simstrategy.run.task import FINISHED, Body, Failed, Match, SuspendTask, TaskStopped

__all__ = [
    "FINISHED",
    "WAIT_LIMIT_S",
    "Body",
    "CollectiveMatcher",
    "Coordinator",
    "Failed",
    "FunctionKey",
    "Isolation",
    "Match",
    "Matcher",
    "PendingCall",
    "ReplicaLocal",
    "ReplicaTasks",
    "Resolve",
    "Sizes",
    "StatusMessage",
    "Suspend",
    "SuspendTask",
    "TaskStopped",
    "WatchDraws",
    "compare_held",
    "function_key",
    "held_print",
    "path_source",
    "raised_site",
    "raised_where",
    "stated_site",
    "when_left_for_ever",
]
