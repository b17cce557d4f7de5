"""The engine of a strategy: its group, its lanes and its meetings.

What users and libraries call is in `strategy.py`, `extended.py` and `context.py`; all of it drives this.
"""

import sys
from collections.abc import Callable, Sequence
from copy import deepcopy
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Literal, final

import numpy as np

from simstrategy import tree
from simstrategy.device import Array, ArraySpec, Backend, Frontend, Spec, Strict
from simstrategy.errors import CannotCompile, InvalidArgument
from simstrategy.run import Lanes, Meeting, MeetingRoom, Park, Resolve, Sizes, function_key
from simstrategy.schedules import InOrder, Schedule
from simstrategy.strategy.compiling import CompiledStep, Made
from simstrategy.strategy.context import ReplicaContext
from simstrategy.strategy.doors import host_array, require_call, require_settings
from simstrategy.strategy.enums import ReduceOp
from simstrategy.strategy.framework import Framework
from simstrategy.strategy.kinds import DEFAULT, MIRRORED, Kind
from simstrategy.strategy.modes import CrossReplica, engine_here, enter_mode, leave_mode, require_cross_replica
from simstrategy.strategy.reductions.reducing import reduce_leaf, reduce_nest
from simstrategy.strategy.reductions.reduction import Reductions
from simstrategy.strategy.semantics import Semantics
from simstrategy.strategy.variables.components import VariableComponent
from simstrategy.strategy.variables.divergence import Divergence
from simstrategy.strategy.variables.variable import Variable
from simstrategy.trace import Request, Site, Trace, describe_site
from simstrategy.values import MODE, Mirrored, PerReplica, component_rows, regroup, select

if TYPE_CHECKING:
    from simstrategy.strategy.compiling import Tracing
    from simstrategy.strategy.strategy import Strategy

__all__ = ["Engine"]

_set_mode: Final = MODE.set

Watch = Callable[[str, Sequence[Array], Site], None]


@final
class Engine:
    """Runs the replicas of one strategy.

    backend: an opened backend, which is not closed here. The others are described in `opening.Settings`.
    """

    watch: Watch | None = None
    """Is shown what enters `reduce`: the call, the local replicas' arrays, the call site.  For checks."""
    tracing: "Tracing | None" = None
    """Where this engine traces a step of another's strategy: see `compiling.py`."""
    _lone: ReplicaContext | None = None
    _last_many: tuple[Request | None, list[list[Spec]]] = (None, [])
    """A request for a nest, and the specs of its arrays for each local replica."""
    _strategy: "Strategy | None" = None

    def __init__(
        self,
        backend: Backend,
        *,
        kind: Kind = MIRRORED,
        semantics: Semantics | None = None,
        schedule: Schedule | None = None,
        checks: bool | Literal["strict"] = True,
        trace: Trace | None = None,
        lanes: Literal["auto", "greenlet", "thread"] = "auto",
        seed: int = 0,
    ) -> None:
        require_settings(checks, lanes, seed)
        self._settings = {"kind": kind, "semantics": semantics, "checks": checks, "lanes": lanes, "seed": seed}
        self._opened = backend
        self._seeds_drawn: dict[tuple[str, int], int] = {}
        self.kind = kind
        self.seed = seed
        self.backend: Backend = Strict(backend) if checks else backend
        self.semantics = Semantics.TF1_15 if semantics is None else semantics
        self.schedule: Schedule = InOrder() if schedule is None else schedule
        self.room = MeetingRoom(self.backend, trace=trace, checks=checks)
        self.reductions = Reductions(self.backend)
        self.created: list[Variable] = []
        """The strategy's variables, in creation order."""
        self.programs: list[Made] = []
        """What steps were compiled to, in order."""
        self.divergence = Divergence(self.room, self.created)
        self._lanes = Lanes(self.backend.capabilities.carrier if lanes == "auto" else lanes, self.schedule)
        # What the hot paths ask for, in one look-up each.
        self.devices, self.local_devices = self.backend.devices, self.backend.local_devices
        self.num_replicas = len(self.devices)
        self._on = backend.on
        self.xp = self.backend.xp
        self.spec = backend.spec
        self.form: Callable[[Array], object] = getattr(backend, "form", backend.spec)
        self.source = backend.source
        self.array_types = self.backend.array_types
        self.autodiff = self.backend.autodiff
        self.composites = self.backend.composites
        self.framework = Framework.of(self.backend.frontend)
        self.own = self.framework.own
        self.plain_types = self.array_types if kind is not DEFAULT else ()
        """The types of arrays that all_reduce may take the short way, unless a gradient has to flow through them."""
        self.tracks = None if self.autodiff is None else self.autodiff.tracks
        self.resolve_one: Resolve = self.reductions.one
        self.last_request = Request("all_reduce", None, None, None, None, ())
        self.last_one: tuple[ReduceOp | None, list[Spec], Request] = (None, [], self.last_request)
        """The last request to all-reduce one array, and the array's spec for each local replica: replicas mostly ask
        for the same, and so share one object."""

    @property
    def frontend(self) -> Frontend | None:
        """What the framework's own words are asked of; None where the backend has none."""
        return self.framework.frontend

    @property
    def strategy(self) -> "Strategy":
        """The strategy that this engine drives."""
        assert self._strategy is not None
        return self._strategy

    def attach(self, strategy: "Strategy") -> None:
        """Binds the engine to its strategy, once."""
        if self._strategy is not None:
            raise InvalidArgument(
                "This StrategyExtended drives a Strategy already: Strategy(extended) takes one that is new. Use "
                "copy.deepcopy(strategy) for another."
            )
        self._strategy = strategy

    def another(self) -> "Engine":
        """Returns an engine of the same settings on the same backend and trace, with no strategy and no variables."""
        settings: dict[str, Any] = self._settings
        return Engine(self._opened, schedule=deepcopy(self.schedule), trace=self.room.trace, **settings)

    def traced(self, backend: Backend, tracing: "Tracing") -> "Engine":
        """Returns the engine that traces this strategy's step on a backend whose local device is every rank's."""
        engine = Engine(
            backend, kind=self.kind, semantics=self.semantics, checks=False, trace=tracing.trace, seed=self.seed
        )
        engine._strategy = self._strategy
        engine.tracing, engine.own = tracing, tracing.own
        return engine

    @property
    def holds_rank_0(self) -> bool:
        """Whether rank 0 is one of this process's."""
        return self.local_devices[0].process == self.devices[0].process

    def lone_context(self) -> ReplicaContext:
        """Returns the context of the default strategy's one replica, which is current where nothing was entered."""
        if self._lone is None:
            meeting = Meeting(self.room, self.lone_context)
            self._lone = ReplicaContext(self, 0, lambda arrival: meeting.meet([arrival], [0])[0])
        return self._lone

    def seed_of(self, label: str, rank: int) -> int:
        """Returns a new seed for a label and a replica; see `ReplicaContext.seed`."""
        if self.tracing is not None:
            raise CannotCompile(
                f"A compiled step asked for the seed {label!r}, which is another for every replica and call. Draw it "
                f"outside, one for each replica, and pass the values as an argument."
            )
        count = self._seeds_drawn.get((label, rank), 0)
        self._seeds_drawn[label, rank] = count + 1
        text = f"{self.seed}/{rank}/{count}/{label}"
        return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")

    def close(self) -> None:
        """Ends the lanes' threads; the backend stays open."""
        self._lanes.close()

    # Running replicas.

    def request_one(self, op: ReduceOp, shape: tuple[int, ...], dtype: str) -> Request:
        """Returns the request to all-reduce one array, and keeps it in `last_one`."""
        request = self.request_many(op.value, None, ((shape, dtype),))
        self.last_one = (op, [(shape, dtype, device.placement) for device in self.local_devices], request)
        return request

    def request_many(
        self, op: str, structure: tree.Structure | None, specs: tuple[tuple[tuple[int, ...], str], ...]
    ) -> Request:
        """Returns the request to all-reduce a nest.  Raises InvalidArgument for bool."""
        last = self.last_request
        if last[5] == specs and last[4] == structure and last[1] == op:
            return last
        self.reductions.require_numbers(specs, "all_reduce")
        self.last_request = Request("all_reduce", op, None, None, structure, specs)
        return self.last_request

    def specs_of_last(self) -> list[list[Spec]]:
        """Returns the specs of the arrays in `last_request`, for each local replica."""
        request, specs = self._last_many
        if request is not self.last_request:
            request = self.last_request
            forms: Any = request.leaves  # of all-reduces, whose sizes nobody chooses
            specs = [[(shape, dtype, one.placement) for shape, dtype in forms] for one in self.local_devices]
            self._last_many = (request, specs)
        return specs

    def run(self, fn: Callable[..., Any], args: Any, kwargs: Any, site: Site) -> Any:
        strategy = self.strategy
        require_cross_replica(strategy, "run")
        require_call(fn, args, kwargs)
        named = {} if kwargs is None else dict(kwargs)
        if engine_here(self) is not self:
            raise CannotCompile(
                f"A compiled step runs replicas again, {function_key(fn)} at {describe_site(site)}, and a program is "
                f"one run. Call the function itself, or run the step without compiling it."
            )
        if type(fn) is CompiledStep and self.tracing is None:
            return fn.run(args, named, site)
        room = self.room
        if room.trace is not None:
            request = Request("run", None, None, function_key(fn), None, ())
            room.trace.record(room.worker, request, (None,), (site,))
        compiled = self.framework.compiled(fn, strategy.run)
        if compiled is not None:
            return compiled(args, named)
        function = self.backend.prepare(fn)
        # Made here, in the caller's thread, and entered in the lanes': see Backend.on.
        placements = self.framework.around(map(self._on, self.local_devices))
        args = tuple(args)
        rows = component_rows(args, len(placements))

        def body(index: int, park: Park) -> Any:
            # Not by `with`, which keeps a method for each lane while it waits: what 10,000 lanes of the simulator keep
            # costs the garbage collector more than the lanes themselves.
            placement = placements[index]
            placement.__enter__()
            try:
                _set_mode(ReplicaContext(self, index, park))
                own = rows[index] if rows else select(index, args)
                result = function(*own, **select(index, named)) if named else function(*own)
            except BaseException:
                placement.__exit__(*sys.exc_info())
                raise
            placement.__exit__(None, None, None)
            return result

        meeting = Meeting(room, fn)
        try:
            results = self._lanes.run(len(placements), body, meeting.meet, meeting.failed)
        except BaseException as error:
            room.end_run(fn, error)
            raise
        room.end_run(fn, None)
        if self.divergence.pending:
            self.divergence.end_run()
        return regroup(results)

    def resolve_merge(self, request: Request, payloads: list[Any], sizes: Sizes) -> Sequence[Any]:
        """Calls the first replica's merge function once, with all replicas' arguments regrouped."""
        merge_fn = self.backend.prepare(payloads[0][0])
        args = [regroup([payload[1][i] for payload in payloads]) for i in range(len(payloads[0][1]))]
        named = {name: regroup([payload[2][name] for payload in payloads]) for name in payloads[0][2]}
        token = enter_mode(CrossReplica(self.strategy, engine=self))
        try:
            result = merge_fn(self.strategy, *args, **named)
        finally:
            leave_mode(token)
        if self.tracing is not None:
            result = tree.map_leaves(self.tracing.original, result)
        return [select(index, result) for index in range(len(payloads))]

    # Reducing.

    def reduce(self, reduce_op: str, value: Any, axis: int | tuple[int, ...] | None, site: Site) -> Any:
        """Reduces each leaf of a nest over all replicas; see `Strategy.reduce`."""
        return reduce_nest(self, reduce_op, value, axis, site)

    def reduce_leaf(self, reduce_op: str, leaf: Any, axis: int | tuple[int, ...] | None, site: Site) -> Any:
        return reduce_leaf(self, reduce_op, leaf, axis, site)

    # Bringing data in.

    def adopt(self, value: Any, index: int, *, dtype: str | None = None) -> Array:
        """Returns an array or host data on local replica `index`'s device; host data is never written to.

        dtype: what Python numbers become (default float32, int32, bool); NumPy data keeps its own.
        """
        device = self.local_devices[index]
        if isinstance(value, self.array_types):
            return value if self.spec(value)[2] == device.placement else self.backend.put(value, device)
        if not isinstance(value, (np.ndarray, np.generic)):
            if isinstance(value, (Mirrored, PerReplica)):
                return self.adopt(value.here(), index, dtype=dtype)
            if isinstance(value, (Variable, VariableComponent)):
                return self.adopt(value.value(), index, dtype=dtype)
            if self.composites is not None and isinstance(value, self.composites.types):
                return self.backend.put(self.composites.dense(value), device)
            value = host_array(value, dtype)
        return self.backend.put(np.asarray(value), device)

    def from_rank_0(self, array: Array | None, shape: tuple[int, ...], dtype: str) -> tuple[Array, ...]:
        """Returns rank 0's array on every local device; elsewhere `array` plays no part."""
        if self.room.processes == 1:
            assert array is not None
            return tuple([self.backend.put(array, device) for device in self.local_devices])
        root = array if self.holds_rank_0 else None
        return self.backend.broadcast(root, spec=ArraySpec(shape, dtype, self.devices[0].placement), root=0)

    def distribute(self, values: Sequence[Any], *, structure: tree.Structure | None) -> Any:
        """Makes one nest of the local replicas' lists of host leaves, each on its device."""
        columns = [[self.adopt(leaf, index) for leaf in leaves] for index, leaves in enumerate(values)]
        if len(columns) == 1:
            return tree.unflatten(structure, columns[0])
        return tree.unflatten(structure, [PerReplica(leaf) for leaf in zip(*columns, strict=True)])
