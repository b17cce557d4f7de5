"""Records the values of collectives, and what the functions of a `shard_map` receive and return, on each device.

Callbacks are put into the compiled programs, since these are what runs: a program is not interpreted again. Recorded is
also what each line computes: in a `shard_map` on each device, and outside of it, where JAX chooses the collectives, as
whole arrays.
"""

from collections.abc import Sequence
from typing import Any, Final, final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import mlir

from simstrategy.trace import describe_site
from simstrategy_xla.mesh_check.edges import (
    Edge,
    axes_of,
    cuts_of,
    devices_of,
    is_between_devices,
    is_pmap,
    is_small,
    names_of,
)
from simstrategy_xla.mesh_check.jobs import TAKING, Moment, Record, Site
from simstrategy_xla.mesh_check.lowering import Place, Rule, Rules, not_shared, place_of, running_line
from simstrategy_xla.mesh_check.noting import COLLECTIVES, meaning_of
from simstrategy_xla.mesh_check.partaking import added_up
from simstrategy_xla.mesh_check.reaching import Operation, Reached, reached_in
from simstrategy_xla.mesh_check.stacks import is_inner, is_repeated

__all__ = ["Watch"]

_COMPUTED: Final = frozenset(
    {
        *("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "dot_general", "conv_general_dilated", "cumsum"),
        *("add", "sub", "mul", "div", "max", "min", "exp", "log", "sqrt", "rsqrt", "integer_pow", "pow"),
        *("tanh", "logistic", "select_n", "argmax", "argmin", "random_bits", "threefry2x32"),
    }
)
"""Operations whose results are recorded."""
_WHOLE_BYTES: Final = 1 << 20
"""Up to which size a value is kept; larger ones are not compared."""
_COMPUTED_BYTES: Final = 1 << 18
"""The same of an array that a line computes, since there are many."""
_TOTAL_BYTES: Final = 256 << 20
"""Of all values of a run; later ones are not kept."""

_WITH_BODIES: Final = frozenset(
    {
        *("jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"),
        *("checkpoint", "scan", "while", "cond"),
    }
)
"""Operations that have functions of their own, whose code JAX makes once for all operations that are alike."""
_CALLED: Final = frozenset({"jit", "pjit"})
"""Those of them that call a function by its name."""
_SITES_MAX: Final = 5000
"""How many sites there may be before functions share their code."""


@final
class Watch:
    """Records the programs that are compiled until `close`, from each `clear` on.

    lines: whether the values are recorded that each line computes.
    """

    def __init__(self, rules: Rules, *, lines: bool) -> None:
        self._rules = rules
        self._lines = lines
        self._mark = rules.mark
        self._sites: list[Site] = []
        self._moments: list[Moment] = []
        self._modules: list[Any] = []
        self._blocks: list[Any] = []
        self._edges: list[Edge] = []
        self._bytes = 0
        self._reached: list[Reached] = []
        """Of the shard_maps that code is being made of, what depends on what; the innermost last."""
        self._observe = Primitive("simstrategy_observe")
        self._observe.multiple_results = True
        mlir.register_lowering(self._observe, self._observed, cacheable=False)
        rules.put_around(COLLECTIVES, self._of_collective)
        rules.put_around(_WITH_BODIES, self._of_function)
        if lines:
            rules.put_around(_COMPUTED | TAKING, self._of_result)
            rules.keep_apart()
        rules.put_around({"shard_map"}, self._of_shard_map)

    def clear(self) -> None:
        """Forgets the values that were recorded.  A program that was compiled before may run again."""
        self._moments = []
        self._bytes = 0

    def close(self) -> None:
        """Leaves what is compiled later as it is."""
        self._rules.restore(self._mark)

    def record(self) -> Record:
        return Record(tuple(self._sites), tuple(self._moments))

    # The rules.

    def _of_collective(self, name: str, rule: Rule) -> Rule:
        def watched(ctx: Any, *values: Any, **params: Any) -> Sequence[Any]:
            results = rule(ctx, *values, **params)
            place = place_of(ctx.traceback)
            if place is not None and axes_of(ctx) and is_between_devices(params):
                kind, op = meaning_of(name, place.through)
                site = self._site(ctx, kind, op, place, len(values))
                if self._reached:
                    site = site._replace(reaches=self._reached[-1].results.get((name, ctx.traceback)))
                    self._sites[-1] = site
                self._emit(ctx, site, [*values, *results], [*ctx.avals_in, *ctx.avals_out])
            return results

        return watched

    def _of_result(self, name: str, rule: Rule) -> Rule:
        def watched(ctx: Any, *values: Any, **params: Any) -> Sequence[Any]:
            results = rule(ctx, *values, **params)
            inner = is_inner(str(ctx.name_stack), ctx.module_context.module)
            place = place_of(ctx.traceback, inner=inner)
            own = bool(axes_of(ctx))
            # The code of an operation that is not in a function of the program is shared by all its lines.
            if place is None or self._rules.is_apart or not all(map(_is_computed, ctx.avals_out)):
                return results
            counts = inner and not any(jnp.issubdtype(aval.dtype, jnp.inexact) for aval in ctx.avals_out)
            if not own and (not place.inside or counts or name in TAKING):
                return results
            if own:
                self._emit_own(ctx, (name, ctx.traceback), name, place, results)
            else:
                site = self._site(ctx, name, None, place, 0)
                self._sites[-1] = site = site._replace(called=place.called)
                self._emit_whole(ctx, site, results)
            return results

        return watched

    def _of_function(self, name: str, rule: Rule) -> Rule:
        """Has the code of a function made anew for each call: XLA may run two calls in any order."""

        def watched(ctx: Any, *values: Any, **params: Any) -> Sequence[Any]:
            before = len(self._sites)
            results = rule(not_shared(ctx) if before < _SITES_MAX else ctx, *values, **params)
            if self._lines and len(self._sites) == before and name in _CALLED:
                self._of_call(ctx, (name, ctx.traceback), str(params["name"]).strip("_"), results)
            return results

        return watched

    def _of_call(self, ctx: Any, operation: Operation, name: str, results: Sequence[Any]) -> None:
        """Records what a function returns of which no operation has a line of the program, as `jnp.where`."""
        is_float = all(jnp.issubdtype(aval.dtype, jnp.inexact) and _is_computed(aval) for aval in ctx.avals_out)
        place = place_of(ctx.traceback, inner=is_inner(str(ctx.name_stack), ctx.module_context.module))
        if place is not None and axes_of(ctx) and is_float and results and not self._rules.is_apart:
            self._emit_own(ctx, operation, name, place, mlir.ir_tree_registry.flatten(results)[0])

    def _of_shard_map(self, name: str, rule: Rule) -> Rule:
        def watched(ctx: Any, *values: Any, jaxpr: Any, **params: Any) -> Sequence[Any]:
            place = place_of(ctx.traceback)
            if place is None or not jaxpr.eqns or len(axes_of(ctx)):
                return rule(ctx, *values, jaxpr=jaxpr, **params)
            arguments, results = names_of(jaxpr.debug_info)
            devices = int(params["mesh"].size)
            added = added_up(jaxpr) if is_pmap(place) else ()
            enter = Edge("enter", place, arguments, cuts_of(params["in_specs"]), devices, added)
            leave = Edge("leave", place, results, cuts_of(params["out_specs"]), devices)
            first = self._equation(jaxpr, enter, jaxpr.invars)
            last = self._equation(jaxpr, leave, jaxpr.outvars)
            self._reached.append(reached_in(jaxpr))
            try:
                return rule(ctx, *values, jaxpr=jaxpr.replace(eqns=[first, *jaxpr.eqns, last]), **params)
            finally:
                self._reached.pop()

        return watched

    def _equation(self, jaxpr: Any, edge: Edge, variables: Sequence[Any]) -> Any:
        """Returns an equation that observes variables, made of one that is there."""
        self._edges.append(edge)
        return jaxpr.eqns[0].replace(
            primitive=self._observe,
            invars=list(variables),
            outvars=[],
            params={"edge": len(self._edges) - 1},
            effects=frozenset(),
        )

    def _observed(self, ctx: Any, *values: Any, edge: int) -> Sequence[Any]:
        one = self._edges[edge]
        inputs = len(values) if one.kind == "enter" else 0
        site = self._site(ctx, one.kind, None, one.place, inputs)
        site = site._replace(names=one.names, cut=one.cut, devices=one.devices, added=one.added)
        self._sites[-1] = site
        self._emit(ctx, site, values, ctx.avals_in)
        return []

    def _site(
        self,
        ctx: Any,
        kind: str,
        op: str | None,
        place: Place,
        inputs: int,
    ) -> Site:
        """Returns a new site."""
        module = ctx.module_context.module
        if not any(module is one for one in self._modules):
            self._modules.append(module)
        number = next(place for place, one in enumerate(self._modules) if one is module)
        block = mlir.ir.InsertionPoint.current.block
        if block not in self._blocks:
            self._blocks.append(block)
        stack = str(ctx.name_stack)
        found = Site(
            len(self._sites),
            number,
            kind,
            op,
            describe_site((place.file, place.line)),
            is_repeated(stack, ctx.module_context.module),
            devices_of(ctx),
            inputs,
            by_pmap=is_pmap(place),
            transposed="transpose(" in stack,
            block=self._blocks.index(block),
        )
        self._sites.append(found)
        return found

    # The callbacks.

    def _emit(self, ctx: Any, site: Site, values: Sequence[Any], avals: Sequence[Any]) -> None:
        """Adds a callback that each device makes."""
        axes = tuple(axes_of(ctx))
        index = self._rules.add(lambda: [lax.axis_index(axes)], ctx, [], [])
        kept = [number for number, aval in enumerate(avals) if is_small(aval, _WHOLE_BYTES)]

        def note(device: Any, *given: Any) -> tuple[()]:
            found = dict(zip(kept, given, strict=True))
            self._note(site.number, int(device), [found.get(number) for number in range(len(avals))])
            return ()

        operands = [*index, *[values[number] for number in kept]]
        own = ctx.replace(primitive=None, avals_in=[_INDEX, *[avals[number] for number in kept]], avals_out=[])
        mlir.emit_python_callback(own, note, None, operands, own.avals_in, [], has_side_effect=True, partitioned=True)

    def _emit_own(self, ctx: Any, operation: Operation, name: str, place: Place, results: Sequence[Any]) -> None:
        """Adds a callback with what each device has as the results of an operation."""
        drawn = self._reached[-1].is_drawn(operation) if self._reached else None
        site = self._sites[-1] = self._site(ctx, name, None, place, 0)._replace(own=True, drawn=drawn)
        self._emit(ctx, site, results, ctx.avals_out)

    def _emit_whole(self, ctx: Any, site: Site, results: Sequence[Any]) -> None:
        """Adds a callback with whole arrays, made once for all devices."""

        def note(*given: Any) -> None:
            self._note(site.number, 0, given, running_line() if site.called else None)

        def call(*found: Any) -> list[Any]:
            jax.debug.callback(note, *found)
            return []

        self._rules.add(call, ctx, results, ctx.avals_out)

    def _note(self, site: int, device: int, values: Sequence[Any], place: str | None = None) -> None:
        arrays = [None if value is None else np.array(value) for value in values]
        self._bytes += sum(array.nbytes for array in arrays if array is not None)
        if self._bytes <= _TOTAL_BYTES:
            self._moments.append(Moment(site, device, tuple(arrays), place))


_INDEX: Final = jax.core.ShapedArray((), np.dtype(np.int32))


def _is_computed(aval: Any) -> bool:
    """Returns whether the result of an operation is kept."""
    return is_small(aval, _COMPUTED_BYTES)
