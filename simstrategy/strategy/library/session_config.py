"""`update_config_proto`: a copy of a session's configuration, with what a strategy of that kind needs in it.

Any object with a ConfigProto's attributes will do; no framework is known here.
"""

from copy import deepcopy
from typing import Any, Final

from simstrategy.errors import InvalidType
from simstrategy.short_repr import short_repr
from simstrategy.strategy.group import Group

__all__ = ["updated_config"]

_ON: Final = 1
"""RewriterConfig.Toggle's number for `on`."""


def updated_config(group: Group, config: Any) -> Any:
    """Returns the copy; see `Strategy.update_config_proto`.  Source: TensorFlow 2.21.0, as measured.  Clauses: X-13."""
    updated = deepcopy(config)
    try:
        if group.kind.spans_processes:
            _for_worker(updated, group.coordinator.worker, group.coordinator.processes)
        elif group.kind.wraps:
            updated.isolate_session_state = True
    except AttributeError as error:
        raise InvalidType(
            f"update_config_proto takes a ConfigProto, or an object with its attributes, got {short_repr(config)}: "
            f"{error}. "
            f"Pass a ConfigProto."
        ) from error
    return updated


def _for_worker(config: Any, worker: int, workers: int) -> None:
    """Has collectives joined, and keeps workers from reaching into each other's devices."""
    options = config.graph_options.rewrite_options
    options.scoped_allocator_optimization = _ON
    options.scoped_allocator_opts.enable_op[:] = ["CollectiveReduce"]
    if workers > 1:
        config.experimental.collective_group_leader = "/job:worker/replica:0/task:0"
        config.device_filters[:] = [f"/job:worker/task:{worker}"]
