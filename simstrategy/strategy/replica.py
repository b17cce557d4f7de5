"""The replica context: a replica's number, and its collective calls.

While a replica runs, its context is the current mode: see `modes.py`.
"""

import sys
from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import Any, Final, TypeVar, final, overload

from simstrategy import tree
from simstrategy.device import UNKNOWN, Array
from simstrategy.device.terms import HostData
from simstrategy.errors import Unsupported
from simstrategy.not_copied import REPLICA_CONTEXT, NotCopied
from simstrategy.run import ReplicaLocal, Sizes, Suspend, function_key, held_print
from simstrategy.strategy.cards import replica_text
from simstrategy.strategy.composites import all_reduce_leaves, is_composite
from simstrategy.strategy.enums import ReduceOp
from simstrategy.strategy.equality import equality_request, held_here, resolve_equal
from simstrategy.strategy.group import Group
from simstrategy.strategy.merging import MergeCall, require_merge, resolve_merge
from simstrategy.strategy.modes import MODE as _MODE
from simstrategy.strategy.modes import stale_context, takes_captured
from simstrategy.strategy.requests import GradientOf
from simstrategy.strategy.validation import axis_in, text_in
from simstrategy.trace import Request, Site, describe_site

__all__ = ["ReplicaContext"]

_frame: Final = sys._getframe
_mode: Final = _MODE.get

N = TypeVar("N")
"""An array, or a nest of them."""

_ANY_SIZE: Final = None
"""The size, in a gathered shape, that replicas choose freely."""


@final
class ReplicaContext(ReplicaLocal, NotCopied):
    """One replica's state in a run: its number, and its collective calls.

    Made by `Strategy.run`, and usable in its own replica only, while that runs. Source: `tf.distribute.ReplicaContext`.

    >>> import simstrategy as ss
    >>> ss.Strategy.mirrored("sim", replicas=2).run(lambda: ss.get_replica_context().all_reduce("SUM", 1.5)).values
    (SimArray(3., dtype=float32), SimArray(3., dtype=float32))
    """

    __slots__ = ("_calls", "group", "home", "index", "suspend")
    not_copied = REPLICA_CONTEXT
    updating = None
    __repr__ = replica_text

    # As short as possible: every replica of every run makes one.
    def __init__(self, group: Group, index: int, suspend: Suspend) -> None:
        self.group = self.home = group
        """The group of the strategy whose replica this is."""
        self.suspend = suspend
        """For the modules of this package: waits for the same call of all replicas."""
        self.index = index
        """The replica's place among this process's."""
        self._calls = 0
        """How many collectives it has called that may have gradients."""

    @property
    def replica_id_in_sync_group(self) -> int:
        """The replica's rank; while a step is compiled, an array [] without a value."""
        tracing = self.group.tracing
        if tracing is not None:
            return tracing.rank  # type: ignore[return-value]  # stands for the number while a step is compiled
        return self.group.local_devices[self.index].rank

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas over which values are reduced, over all workers."""
        return self.group.num_replicas

    @property
    def strategy(self) -> Any:
        """The `Strategy` whose replica this is."""
        return self.group.owner

    @property
    def replica(self) -> "ReplicaContext":
        """The context itself: as a mode, it has a replica."""
        return self

    @property
    def takes_captured(self) -> bool:
        """Whether a captured PerReplica value stands for this replica's component: see `modes.takes_captured`."""
        return takes_captured(self.group)

    @property
    def devices(self) -> tuple[str, ...]:
        """The placement of this replica, as a tuple of one."""
        return (self.group.local_devices[self.index].placement,)

    @property
    def xp(self) -> Any:
        """The `ArrayNamespace` of this replica's device; its arrays are of the backend's type, with its operators."""
        return self.group.xp

    @overload
    def all_reduce(self, reduce_op: ReduceOp | str, value: HostData, *, name: str | None = None) -> Any: ...
    @overload
    def all_reduce(self, reduce_op: ReduceOp | str, value: N, *, name: str | None = None) -> N: ...
    def all_reduce(self, reduce_op: ReduceOp | str, value: N, *, name: str | None = None) -> N:
        """Combines a nest of arrays over all replicas; every replica gets the result.

        value: arrays or host data, [any shape], of equal structure, shapes and dtypes on all replicas. MEAN of integers
        is float64 (8- and 16-bit ones: float32). The gradient of the result is all-reduced with the same op. name: a
        text that the calls of all replicas have in common, which distinguishes calls of one line. Raises
        ReplicasDisagree, and InvalidArgument for bool.
        """
        if _mode() is not self:
            self._require_default("all_reduce")
        group = self.group
        site = group.source(_frame(1))
        cache = group.requests
        array: Any = value
        plain = name is None and isinstance(array, cache.plain_types)
        if cache.tracks is not None:
            self._calls += 1
            plain = plain and not cache.tracks(array)
        if not plain and name is None and (put := cache.puts.get(type(array))) is not None:
            array, plain = put(array, group.local_devices[self.index]), True
        if plain:
            # The quick way of one array like the last one, on the right device.
            last_op, last_forms, request = cache.last_one
            if last_op is reduce_op and cache.form(array) == last_forms[self.index]:
                return self.suspend(request, array, site, cache.resolve_one, None)  # type: ignore[no-any-return]  # as given
        op = reduce_op if type(reduce_op) is ReduceOp else ReduceOp.of(reduce_op)
        array = array if array is value else group.adopt(value, self.index)
        if plain and cache.spec(array)[2] == group.local_devices[self.index].placement:
            return self.suspend(cache.one(reduce_op, op, array, self.index), array, site, cache.resolve_one, None)  # type: ignore[no-any-return]  # as given
        return self._all_reduce_nest(op, value, site, None if name is None else text_in(name, "all_reduce"))

    def _all_reduce_nest(self, op: ReduceOp, value: N, site: Site, name: str | None) -> N:
        if not (group := self.group).kind.has_collectives:
            return value
        like_last = group.requests.last_nest(op.value, value, self.index) if name is None else None
        if like_last is not None:
            request, leaves = like_last
            answer = self.suspend(request, leaves, site, group.reductions.many, None)
            return tree.refill(value, request.structure, answer)
        leaves, structure = tree.flatten(value)
        composites = group.backend.composites
        if composites is not None and any(isinstance(leaf, composites.types) for leaf in leaves):
            return tree.refill(value, structure, all_reduce_leaves(self, op, leaves, site))
        placement = group.local_devices[self.index].placement
        arrays, specs = [], []
        for leaf in leaves:
            array = leaf if isinstance(leaf, group.array_types) else group.adopt(leaf, self.index)
            shape, dtype, place = group.spec(array)
            arrays.append(array if place == placement else group.adopt(array, self.index))
            specs.append((shape, dtype))
        # Checked here, so that an error of the program is never raised through a framework.
        request = group.requests.many(op.value, structure, tuple(specs))
        if name is not None:
            request = request._replace(subject=name)
        if group.backend.autodiff is not None:
            return tree.refill(value, structure, self._all_reduce(op, tuple(arrays), structure, site, name))
        if structure is None:
            # Another replica may have come by the quick way: one request, one form of payload.
            return self.suspend(request, arrays[0], site, group.requests.resolve_one, None)  # type: ignore[no-any-return]  # as given
        return tree.refill(value, structure, self.suspend(request, arrays, site, group.reductions.many, None))

    def all_reduce_leaf(self, op: ReduceOp, leaf: Any, site: Site) -> Array:
        """All-reduces one array [any shape] of a nest that has others than arrays: for the modules of this package."""
        self._calls += 1
        return self._all_reduce(op, (self.group.adopt(leaf, self.index),), None, site, None)[0]

    def _all_reduce(
        self,
        op: ReduceOp,
        arrays: tuple[Array, ...],
        structure: tree.Structure | None,
        site: Site,
        subject: str | GradientOf | None,
    ) -> tuple[Array, ...]:
        """All-reduces, also the gradients.  subject: of the first request; later ones are gradients of this call."""
        group = self.group
        subjects = chain([subject], repeat(subject if isinstance(subject, GradientOf) else GradientOf(self._calls)))

        def combine(values: tuple[Array, ...]) -> tuple[Array, ...]:
            # A gradient function that received host data computes wherever the framework puts it.
            values = tuple([group.adopt(value, self.index) for value in values])
            specs = tuple([group.spec(value)[:2] for value in values])
            request = group.requests.many(op.value, structure, specs)
            about = next(subjects)
            if about is not None:
                request = request._replace(subject=about)
            if structure is None:
                # Another replica may have come by the quick way: one request, one form of payload.
                return (self.suspend(request, values[0], site, group.requests.resolve_one, None),)
            return self.suspend(request, values, site, group.reductions.many, None)

        autodiff = group.backend.autodiff
        return combine(arrays) if autodiff is None else autodiff.differentiable(combine, combine, arrays)

    def all_gather(self, value: Any, axis: int, *, name: str | None = None) -> Any:
        """Concatenates each array of a nest over all replicas along `axis`; every replica gets the result.

        value: arrays […, n, …], where n, the size along `axis`, may differ between replicas. name: as of `all_reduce`.
        Raises InvalidArgument for a scalar or an axis out of range, Unsupported for composite values, and
        ReplicasDisagree.
        """
        if _MODE.get() is not self:
            self._require_default("all_gather")
        group = self.group
        if not group.kind.has_collectives:
            return value
        site = group.source(sys._getframe(1))
        leaves, structure = tree.flatten(value)
        for leaf in leaves:
            if is_composite(group, leaf):
                raise Unsupported(
                    f"all_gather does not support {type(leaf).__name__} ({describe_site(site)}). Gather its parts, or "
                    f"make it dense first."
                )
        # Leaves are gathered one by one: each request names the leaf and its nest.
        nest = None if structure is None else tree.describe(structure, [])
        words = [] if name is None else [text_in(name, "all_gather")]
        gathered = []
        for number, leaf in enumerate(leaves):
            subject = " ".join([*words, f"leaf {number} of {nest}"] if nest else words) or None
            gathered.append(self.gather_leaf(group.adopt(leaf, self.index), axis, subject, site))
        return tree.refill(value, structure, gathered)

    def gather_leaf(self, array: Array, axis: int, subject: str | None, site: Site) -> Array:
        """Gathers one array [..., n, ...]: for the modules of this package.

        axis: the one along which n may differ. subject: the leaf and its nest, for messages.
        """
        group = self.group
        free = axis_in(axis, group.spec(array)[0], "all_gather")
        self._calls += 1
        gradient = GradientOf(self._calls)

        def forward(values: tuple[Array, ...]) -> tuple[Array, ...]:
            own = group.adopt(values[0], self.index)
            shape, dtype, _ = group.spec(own)
            form = (*shape[:free], _ANY_SIZE, *shape[free + 1 :])
            request = Request("all_gather", None, free, subject, None, ((form, dtype),))
            size = UNKNOWN if shape[free] is None else shape[free]
            return (self.suspend(request, own, site, group.reductions.gather, size),)

        def backward(gradients: tuple[Array, ...]) -> tuple[Array, ...]:
            # Each replica takes its part of the summed gradients.
            (total,) = self._all_reduce(ReduceOp.SUM, gradients, None, site, gradient)
            shape, _, _ = group.spec(array)
            request = Request("sizes", None, free, gradient, None, ())
            size: Any = shape[free]
            if size is None and group.frontend.part is not None:
                size = group.frontend.part.count(array, (free,))
            sizes = self.suspend(request, None, site, group.reductions.sizes, size)
            return (self.xp.take(total, self._gathered_places(sizes, size), axis=free),)

        autodiff = group.backend.autodiff
        if autodiff is None:
            return forward((array,))[0]
        return autodiff.differentiable(forward, backward, (array,))[0]

    def seed(self, label: str) -> int:
        """Returns an integer in range(2**64), the same on every backend and under every schedule.

        Computed from the strategy's seed, the label, this replica's id, and the number of its earlier calls with the
        label. Raises InvalidType for a label that is no text.
        """
        rank, compiled = self.replica_id_in_sync_group, self.group.tracing is not None
        return self.group.seeds.draw(text_in(label, "seed"), rank, compiled=compiled)

    def _gathered_places(self, sizes: Sizes, size: int) -> Array:
        """Returns the indices of this replica's part of what was gathered, given every rank's size."""
        xp = self.group.xp
        if self.group.tracing is not None:  # all sizes are equal, and the rank has no value yet
            return xp.add(xp.arange(size), xp.multiply(self.replica_id_in_sync_group, size))
        start = sum(sizes[: self.replica_id_in_sync_group])
        return xp.arange(start, start + size)

    def merge_call(self, merge_fn: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """Calls `merge_fn(strategy, *args, **kwargs)` once, when all replicas have made this call; all get the result.

        args, kwargs: nests; `merge_fn` receives their leaves as PerReplica values. Each replica gets its component of
        the distributed values in the result, and other values unchanged. Raises ReplicasDisagree if the functions or
        the structures of the arguments differ, and InvalidType for another type of an argument.
        """
        if _MODE.get() is not self:
            self._require_default("merge_call")
        named = require_merge(merge_fn, args, kwargs)
        group = self.group
        site = group.source(sys._getframe(1))
        structure = tree.flatten((tuple(args), named))[1]
        request = Request("merge_call", None, None, function_key(merge_fn), structure, ())
        size = held_print(group.coordinator, merge_fn) if group.coordinator.compares_held else None
        return self.suspend(request, MergeCall(merge_fn, tuple(args), named, site), site, resolve_merge(group), size)

    def require_equal(self, value: Any, *, name: str | None = None) -> None:
        """Waits for all replicas, and raises ReplicasDisagree unless what they hold is equal, to the bit.

        value: a nest of arrays of any library, variables, numbers, texts and None, such as a model's state. All NaNs
        are one value, and so are both zeros. name: a text for messages, the same on all replicas. The error names the
        leaf, the first element that differs, and each replica's value and line. Raises InvalidType for what cannot be
        compared, and CannotCompile in a compiled step. Clauses: R-11.
        """
        if _MODE.get() is not self:
            self._require_default("require_equal")
        group, site = self.group, self.group.source(sys._getframe(1))
        held, size = held_here(group, value, self.index, site)
        if group.kind.has_collectives:
            request = equality_request(None if name is None else text_in(name, "require_equal"))
            self.suspend(request, held, site, resolve_equal(group), size)

    def _require_default(self, method: str) -> None:
        """Raises ContextError unless this is the default context, which is current where nothing was entered."""
        if _MODE.get() is not None or self.group.kind.has_collectives:
            raise stale_context(self, method)
