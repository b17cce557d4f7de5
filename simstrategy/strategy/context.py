"""Which strategy and which replica is current: one contextvar, and the replica's view of its run.

A mode has a strategy and, where a replica runs, its context. While a replica runs, the mode is its context.
Where no mode was entered, the default strategy is current: `current.py` makes it.
"""

import sys
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Final, final

from simstrategy import tree
from simstrategy.device import Array, ArrayNamespace
from simstrategy.errors import ContextError, InvalidType
from simstrategy.run import Park, function_key
from simstrategy.strategy.enums import ReduceOp
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.trace import Request, Site

if TYPE_CHECKING:
    from simstrategy.strategy.engine import Engine
    from simstrategy.strategy.strategy import Strategy

__all__ = [
    "CrossReplica",
    "Mode",
    "ReplicaContext",
    "Scope",
    "current_mode",
    "enter_mode",
    "leave_mode",
    "require_cross_replica",
]


@final
class CrossReplica:
    """The mode of a strategy's scope, of merge functions and of updates: no replica runs."""

    __slots__ = ("engine", "permanent", "strategy")
    replica = None

    def __init__(self, strategy: "Strategy", *, permanent: bool = False) -> None:
        self.strategy = strategy
        self.engine = strategy.extended.engine
        self.permanent = permanent
        """Whether it was set, and not entered: it ends only where another is set."""


_MODE: ContextVar["Mode | None"] = ContextVar("simstrategy.mode", default=None)


def current_mode() -> "Mode | None":
    """Returns the current mode, or None where no strategy is current."""
    return _MODE.get()


def enter_mode(mode: "Mode | None") -> "Token[Mode | None]":
    """Makes a mode, or none, current until `leave_mode` gets the token back."""
    return _MODE.set(mode)


def leave_mode(token: "Token[Mode | None]") -> None:
    """Goes back to the mode before `enter_mode`."""
    _MODE.reset(token)


@final
class Scope:
    """What `strategy.scope()` returns: inside, the strategy is current, in its cross-replica context."""

    __slots__ = ("_entered", "_strategy")

    def __init__(self, strategy: "Strategy") -> None:
        self._strategy = strategy
        self._entered: list[tuple[Mode, Token[Mode | None]]] = []

    def __enter__(self) -> "Strategy":
        require_cross_replica(self._strategy, "scope")
        # The default strategy is what is current without a scope: its own scope changes nothing.
        mode = CrossReplica(self._strategy)
        self._entered.append((mode, _MODE.set(_MODE.get() if mode.engine.kind is DEFAULT else mode)))
        return self._strategy

    def __exit__(self, *_: object) -> None:
        if not self._entered:
            raise ContextError(f"The scope of {self._strategy!r} was left and not entered. Use it in a with statement.")
        mode, token = self._entered[-1]
        current = _MODE.get()
        if mode.engine.kind is not DEFAULT and current is not mode:
            raise ContextError(
                f"Scope nesting error: the scope of {self._strategy!r} was left while "
                f"{'nothing' if current is None else repr(current.strategy)} is current. Leave what was entered inside "
                f"it first, in the thread that entered it."
            )
        self._entered.pop()
        _MODE.reset(token)


def require_cross_replica(strategy: "Strategy", method: str) -> None:
    """Raises ContextError inside a replica function, and under another strategy."""
    mode = _MODE.get()
    if mode is None:
        return
    if mode.strategy is not strategy:
        raise ContextError(
            f"Mixing different strategies: {method} of {strategy!r} was called while {mode.strategy!r} is current. "
            f"Leave the other strategy's scope first."
        )
    if mode.replica is not None:
        raise ContextError(
            f"Method requires being in cross-replica context: {method} was called inside replica "
            f"{mode.replica.replica_id_in_sync_group}. Use get_replica_context().merge_call()."
        )


_frame: Final = sys._getframe

_AXIS_FREE: Final = None
"""Stands in a gathered shape for the size that replicas choose freely."""


@final
class ReplicaContext:
    """One replica's view of its run: who it is, and how it meets the others.

    Made by `Strategy.run` for each replica, and usable only in that replica, while it runs.
    """

    __slots__ = ("_placement", "engine", "index", "num_replicas_in_sync", "park", "replica_id_in_sync_group")

    def __init__(self, engine: "Engine", index: int, park: Park) -> None:
        device = engine.local_devices[index]
        self.engine = engine
        """The engine of the strategy whose replica this is."""
        self.park = park
        """How the rest of this room meets the other replicas: see `simstrategy.run`."""
        self._placement = device.placement
        self.index = index
        """The replica's place among this process's."""
        self.replica_id_in_sync_group: int = device.rank
        self.num_replicas_in_sync: int = engine.num_replicas

    @property
    def strategy(self) -> "Strategy":
        return self.engine.strategy

    @property
    def replica(self) -> "ReplicaContext":
        """Itself: as a mode, this is what a replica is in."""
        return self

    @property
    def devices(self) -> tuple[str, ...]:
        """The placement of this replica, as a tuple of one."""
        return (self._placement,)

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
        if _MODE.get() is not self:
            self._require_default("all_reduce")
        engine = self.engine
        op = reduce_op if type(reduce_op) is ReduceOp else ReduceOp.of(reduce_op)
        site = engine.source(_frame(1))
        if isinstance(value, engine.plain_types):
            shape, dtype, placement = engine.spec(value)
            if placement == self._placement:
                # The fast path of one array that is where it should be: a plain tuple for an Arrival, and the
                # very last request, where it was for the same.
                last_op, last_shape, last_dtype, request = engine.last_one
                if last_op is not op or last_shape != shape or last_dtype != dtype:
                    request = engine.request_one(op, shape, dtype)
                return self.park((request, value, site, engine.resolve_one, None))
        return self._all_reduce_nest(op, value, site)

    def _all_reduce_nest(self, op: ReduceOp, value: Any, site: Site) -> Any:
        engine, placement = self.engine, self._placement
        if engine.kind is DEFAULT:
            return value
        leaves, structure = tree.flatten(value)
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

    def _all_reduce(
        self, op: ReduceOp, arrays: tuple[Array, ...], structure: tree.Structure | None, site: Site
    ) -> tuple[Array, ...]:
        engine = self.engine

        def meet(values: tuple[Array, ...]) -> tuple[Array, ...]:
            specs = tuple([engine.spec(value)[:2] for value in values])
            request = engine.request_many(op.value, structure, specs)
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
        # Leaves are gathered one by one: each request says which leaf of what nest it is about.
        nest = None if structure is None else tree.describe(structure, [])
        gathered = [
            self._gather_leaf(engine.adopt(leaf, self.index), axis, nest and f"leaf {number} of {nest}", site)
            for number, leaf in enumerate(leaves)
        ]
        return tree.refill(value, structure, gathered)

    def _gather_leaf(self, array: Array, axis: int, subject: str | None, site: Site) -> Array:
        engine = self.engine
        gather = engine.reductions
        free = gather.axis_in(axis, engine.spec(array)[0], "all_gather")

        def forward(values: tuple[Array, ...]) -> tuple[Array, ...]:
            shape, dtype, _ = engine.spec(values[0])
            form = (*shape[:free], _AXIS_FREE, *shape[free + 1 :])
            request = Request("all_gather", None, free, subject, None, ((form, dtype),))
            return (self.park((request, values[0], site, gather.gather, shape[free])),)

        def backward(gradients: tuple[Array, ...]) -> tuple[Array, ...]:
            # Each replica takes its own part of the summed gradients.
            (total,) = self._all_reduce(ReduceOp.SUM, gradients, None, site)
            shape, _, _ = engine.spec(array)
            request = Request("sizes", None, free, None, None, ())
            sizes = self.park((request, None, site, gather.sizes, shape[free]))
            start = sum(sizes[: self.replica_id_in_sync_group])
            indices = self.xp.arange(start, start + shape[free])
            return (self.xp.take(total, indices, axis=free),)

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

    def merge_call(self, merge_fn: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Calls `merge_fn(strategy, *args, **kwargs)` once, when all replicas have come, and hands out its result.

        args, kwargs: nests whose leaves reach `merge_fn` as PerReplica values. The result's distributed
        values are handed to each replica as its component, everything else as it is. Raises
        ReplicasDisagree if the functions or the structures of the arguments differ.
        """
        if _MODE.get() is not self:
            self._require_default("merge_call")
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
