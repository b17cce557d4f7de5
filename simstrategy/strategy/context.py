"""A replica's view of its run: who it is, and how it meets the others.

While it runs, its context is the current mode: see `modes.py`.
"""

import sys
from collections.abc import Mapping
from itertools import repeat
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, final

from simstrategy import tree
from simstrategy.device import UNKNOWN, Array, ArrayNamespace
from simstrategy.errors import ContextError, InvalidType, Unsupported
from simstrategy.run import Park, function_key
from simstrategy.strategy.composites import all_reduce_leaves, is_composite
from simstrategy.strategy.enums import ReduceOp
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.strategy.modes import MODE as _MODE
from simstrategy.strategy.modes import CrossReplica, current_mode
from simstrategy.trace import Request, Site, describe_site

if TYPE_CHECKING:
    from simstrategy.strategy.engine import Engine
    from simstrategy.strategy.strategy import Strategy

__all__ = ["CrossReplica", "Mode", "ReplicaContext", "current_mode"]

_frame: Final = sys._getframe
_mode: Final = _MODE.get

_AXIS_FREE: Final = None
"""Stands in a gathered shape for the size that replicas choose freely."""


@final
class ReplicaContext:
    """One replica's view of its run: who it is, and how it meets the others.

    Made by `Strategy.run` for each replica, and usable only in that replica, while it runs.
    """

    __slots__ = ("engine", "index", "park")

    # As little as can be: every replica of every run makes one.
    def __init__(self, engine: "Engine", index: int, park: Park) -> None:
        self.engine = engine
        """The engine of the strategy whose replica this is."""
        self.park = park
        """How the rest of this room meets the other replicas: see `simstrategy.run`."""
        self.index = index
        """The replica's place among this process's."""

    @property
    def replica_id_in_sync_group(self) -> int:
        """The replica's rank; while a step is compiled, an array that has no value yet."""
        tracing = self.engine.tracing
        return self.engine.local_devices[self.index].rank if tracing is None else tracing.rank

    @property
    def num_replicas_in_sync(self) -> int:
        return self.engine.num_replicas

    @property
    def strategy(self) -> "Strategy":
        return self.engine.strategy

    @property
    def replica(self) -> "ReplicaContext":
        """Itself: as a mode, this is what a replica is in."""
        return self

    @property
    def takes_captured(self) -> bool:
        """Whether the semantics take a captured PerReplica value for this replica's component."""
        return self.engine.semantics.captured_per_replica == "component"

    @property
    def devices(self) -> tuple[str, ...]:
        """The placement of this replica, as a tuple of one."""
        return (self.engine.local_devices[self.index].placement,)

    @property
    def xp(self) -> ArrayNamespace:
        """The array namespace of this replica's device."""
        return self.engine.xp

    def all_reduce(self, reduce_op: ReduceOp | str, value: Any) -> Any:
        """Combines a nest of arrays over all replicas; every replica gets the result.

        value: arrays or host data, equal structure, shapes and dtypes on all replicas. MEAN of integers is
        float64 (8- and 16-bit ones: float32). The gradient of the result is all-reduced with the same op.
        Raises ReplicasDisagree, and InvalidArgument for bool.
        """
        if _mode() is not self:
            self._require_default("all_reduce")
        engine = self.engine
        site = engine.source(_frame(1))
        tracks = engine.tracks
        plain = isinstance(value, engine.plain_types) and (tracks is None or not tracks(value))
        if plain:
            # The fast path of one array like the last one, which is where it should be: a plain tuple for an Arrival.
            last_op, last_specs, request = engine.last_one
            if last_op is reduce_op and engine.spec(value) == last_specs[self.index]:
                return self.park((request, value, site, engine.resolve_one, None))
        op = reduce_op if type(reduce_op) is ReduceOp else ReduceOp.of(reduce_op)
        if plain:
            shape, dtype, placement = engine.spec(value)
            if placement == engine.local_devices[self.index].placement:
                request = engine.request_one(op, shape, dtype)
                return self.park((request, value, site, engine.resolve_one, None))
        return self._all_reduce_nest(op, value, site)

    def _all_reduce_nest(self, op: ReduceOp, value: Any, site: Site) -> Any:
        engine = self.engine
        if engine.kind is DEFAULT:
            return value
        _, last_op, _, _, last_structure, _ = last = engine.last_request
        if last_op == op.value and last_structure is not None and engine.plain_types:
            # The fast path of a nest like the last one, of arrays that are where they should be.
            like = tree.leaves_like(value, last_structure) or []
            tracks, types = engine.tracks, engine.plain_types
            usual = all(map(isinstance, like, repeat(types))) and not (tracks and any(map(tracks, like)))
            if like and usual and list(map(engine.spec, like)) == engine.specs_of_last()[self.index]:
                answer = self.park((last, like, site, engine.reductions.many, None))
                return tree.refill(value, last_structure, answer)
        leaves, structure = tree.flatten(value)
        if engine.composites is not None and any(isinstance(leaf, engine.composites.types) for leaf in leaves):
            return tree.refill(value, structure, all_reduce_leaves(self, op, leaves, site))
        placement = engine.local_devices[self.index].placement
        arrays, specs = [], []
        for leaf in leaves:
            array = leaf if isinstance(leaf, engine.array_types) else engine.adopt(leaf, self.index)
            shape, dtype, place = engine.spec(array)
            arrays.append(array if place == placement else engine.adopt(array, self.index))
            specs.append((shape, dtype))
        # Checked at the door, so that an error of the program is never raised through a framework.
        request = engine.request_many(op.value, structure, tuple(specs))
        if engine.autodiff is None:
            if structure is None:
                # Another replica may have come by the fast path: one request, one form of payload.
                return self.park((request, arrays[0], site, engine.resolve_one, None))
            return tree.refill(value, structure, self.park((request, arrays, site, engine.reductions.many, None)))
        return tree.refill(value, structure, self._all_reduce(op, tuple(arrays), structure, site))

    def all_reduce_leaf(self, op: ReduceOp, leaf: Any, site: Site) -> Array:
        """All-reduces one array of a nest that has others than arrays: for this room."""
        return self._all_reduce(op, (self.engine.adopt(leaf, self.index),), None, site)[0]

    def _all_reduce(
        self, op: ReduceOp, arrays: tuple[Array, ...], structure: tree.Structure | None, site: Site
    ) -> tuple[Array, ...]:
        engine = self.engine

        def meet(values: tuple[Array, ...]) -> tuple[Array, ...]:
            # A gradient function that was given host data works with it wherever the framework puts it.
            values = tuple([engine.adopt(value, self.index) for value in values])
            specs = tuple([engine.spec(value)[:2] for value in values])
            request = engine.request_many(op.value, structure, specs)
            if structure is None:
                # Another replica may have come by the fast path: one request, one form of payload.
                return (self.park((request, values[0], site, engine.resolve_one, None)),)
            answer: tuple[Array, ...] = self.park((request, values, site, engine.reductions.many, None))
            return answer

        return meet(arrays) if engine.autodiff is None else engine.autodiff.differentiable(meet, meet, arrays)

    def all_gather(self, value: Any, axis: int) -> Any:
        """Concatenates each array of a nest over all replicas along `axis`; every replica gets the result.

        value: arrays whose sizes may differ along the axis alone. Raises InvalidArgument for a scalar or an
        axis out of range, and ReplicasDisagree.
        """
        if _MODE.get() is not self:
            self._require_default("all_gather")
        engine = self.engine
        if engine.kind is DEFAULT:
            return value
        site = engine.source(sys._getframe(1))
        leaves, structure = tree.flatten(value)
        for leaf in leaves:
            if is_composite(engine, leaf):
                raise Unsupported(
                    f"all_gather does not support {type(leaf).__name__} ({describe_site(site)}). Gather its parts, or "
                    f"make it dense first."
                )
        # Leaves are gathered one by one: each request says which leaf of what nest it is about.
        nest = None if structure is None else tree.describe(structure, [])
        gathered = [
            self.gather_leaf(engine.adopt(leaf, self.index), axis, nest and f"leaf {number} of {nest}", site)
            for number, leaf in enumerate(leaves)
        ]
        return tree.refill(value, structure, gathered)

    def gather_leaf(self, array: Array, axis: int, subject: str | None, site: Site) -> Array:
        """Gathers one array: for this room.  subject: which leaf of what nest it is."""
        engine = self.engine
        gather = engine.reductions
        free = gather.axis_in(axis, engine.spec(array)[0], "all_gather")

        def forward(values: tuple[Array, ...]) -> tuple[Array, ...]:
            own = engine.adopt(values[0], self.index)
            shape, dtype, _ = engine.spec(own)
            form = (*shape[:free], _AXIS_FREE, *shape[free + 1 :])
            request = Request("all_gather", None, free, subject, None, ((form, dtype),))
            size = UNKNOWN if shape[free] is None else shape[free]
            return (self.park((request, own, site, gather.gather, size)),)

        def backward(gradients: tuple[Array, ...]) -> tuple[Array, ...]:
            # Each replica takes its own part of the summed gradients.
            (total,) = self._all_reduce(ReduceOp.SUM, gradients, None, site)
            shape, _, _ = engine.spec(array)
            request = Request("sizes", None, free, None, None, ())
            size: Any = shape[free]
            if size is None and engine.frontend is not None:
                size = engine.frontend.count(array, (free,))
            sizes = self.park((request, None, site, gather.sizes, size))
            return (self.xp.take(total, self._own_places(sizes, size), axis=free),)

        if engine.autodiff is None:
            return forward((array,))[0]
        return engine.autodiff.differentiable(forward, backward, (array,))[0]

    def seed(self, label: str) -> int:
        """Returns an integer in range(2**64), the same on every backend and under every schedule.

        Made of the strategy's seed, the label, this replica's id, and how often it has asked for the label.
        Raises InvalidType for a label that is no text.
        """
        if not isinstance(label, str):
            raise InvalidType(f"seed takes a label, a text that says what is drawn, got {label!r}.")
        return self.engine.seed_of(label, self.replica_id_in_sync_group)

    def _own_places(self, sizes: Any, size: Any) -> Array:
        """Returns the indices of this replica's part of what was gathered, given every rank's size."""
        if self.engine.tracing is not None:  # every rank's sizes are equal, and which rank this is has no value yet
            return self.xp.add(self.xp.arange(size), self.xp.multiply(self.replica_id_in_sync_group, size))
        start = sum(sizes[: self.replica_id_in_sync_group])
        return self.xp.arange(start, start + size)

    def merge_call(self, merge_fn: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Calls `merge_fn(strategy, *args, **kwargs)` once, when all replicas have come, and hands out its result.

        args, kwargs: nests whose leaves reach `merge_fn` as PerReplica values. The result's distributed
        values are handed to each replica as its component, everything else as it is. Raises
        ReplicasDisagree if the functions or the structures of the arguments differ, and InvalidType for
        what is no function, no list of arguments or no mapping of named ones.
        """
        if _MODE.get() is not self:
            self._require_default("merge_call")
        if not callable(merge_fn):
            raise InvalidType(f"merge_call takes a function merge_fn(strategy, *args, **kwargs), got {merge_fn!r}.")
        if not isinstance(args, (list, tuple)) or not isinstance(kwargs, (NoneType, Mapping)):
            raise InvalidType(
                f"merge_call takes a list or tuple as args and a mapping as kwargs, got {args!r} and {kwargs!r}. "
                f"Write merge_call(merge_fn, args=(value,))."
            )
        engine = self.engine
        site = engine.source(sys._getframe(1))
        named = {} if kwargs is None else dict(kwargs)
        structure = tree.flatten((tuple(args), named))[1]
        request = Request("merge_call", None, None, function_key(merge_fn), structure, ())
        return self.park((request, (merge_fn, tuple(args), named), site, engine.resolve_merge, None))

    def _require_default(self, method: str) -> None:
        """Raises ContextError unless this is the default context, which is current where nothing was entered."""
        if _MODE.get() is not None or self.engine.kind is not DEFAULT:
            raise self._stale(method)

    def _stale(self, method: str) -> ContextError:
        mode = _MODE.get()
        if mode is None or mode.replica is None:
            return ContextError(
                f"Need to be inside the replica function: {method} was called on the context of replica "
                f"{self.replica_id_in_sync_group}, and no replica runs here. Ask get_replica_context() inside run."
            )
        if mode.strategy is not self.strategy:
            return ContextError(
                f"Mismatching strategies: {method} was called on a context of {self.strategy!r} inside "
                f"{mode.strategy!r}. Ask get_replica_context() anew."
            )
        return ContextError(
            f"Mismatching ReplicaContext: {method} was called on the context of replica "
            f"{self.replica_id_in_sync_group} inside replica {mode.replica.replica_id_in_sync_group}. "
            f"Ask get_replica_context() anew in each replica."
        )


Mode = CrossReplica | ReplicaContext
