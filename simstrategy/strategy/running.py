"""Runs a function on each replica of a group: `Strategy.run`."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, final

from simstrategy.device import GLOBAL_GENERATORS
from simstrategy.errors import CannotCompile, GeneratorsMixed
from simstrategy.regrouping import regroup
from simstrategy.run import (
    Body,
    CollectiveMatcher,
    Failed,
    Isolation,
    Match,
    Matcher,
    ReplicaTasks,
    Suspend,
    function_key,
)
from simstrategy.strategy.equality import require_equal_after
from simstrategy.strategy.group import Group
from simstrategy.strategy.modes import MODE, active_group, require_cross_replica
from simstrategy.strategy.programs import CompiledProgram
from simstrategy.strategy.replica import ReplicaContext
from simstrategy.strategy.validation import UNFINISHED, refuse_unfinished, require_call
from simstrategy.trace import Request, Site, describe_site
from simstrategy.values import component_rows, select

__all__ = ["RunStep", "Runner"]

RunStep: TypeAlias = Callable[[Callable[..., Any], Sequence[Any], Mapping[str, Any] | None, Site], Any]
"""Runs a function on each replica: the function, its arguments and named arguments, and the call site."""

_set_mode: Final = MODE.set


@final
class Runner:
    """Runs the replicas of one group.

    What a run consists of is chosen when this is made: what the group does without is not on the way of its runs.
    """

    __slots__ = ("_isolation", "_run_tasks", "_tasks", "after_run", "compiled_as", "group", "programs", "run")

    def __init__(self, group: Group) -> None:
        self.group = group
        self.programs: list[CompiledProgram] = []
        """What the group's steps were compiled to, in order."""
        self.compiled_as: Callable[[Callable[..., Any]], Any] | None = None
        """For checks: returns what `Strategy.compile` makes of a function that runs, or None where it runs as it is."""
        self.after_run: dict[str, Callable[[], Any]] = {}
        """What is compared at the end of every run, by name: see `Strategy.require_equal_after_run`."""
        settings = group.settings
        devices = group.local_devices
        self._tasks = ReplicaTasks(
            group.backend.capabilities.executor if settings.executor == "auto" else settings.executor,
            settings.schedule,
            wait_limit_s=settings.wait_limit_s,
            name=lambda index: f"replica {devices[index].rank}",
            processes=group.backend.capabilities.spans_processes,
        )
        generators = (*GLOBAL_GENERATORS, *group.backend.capabilities.generators)
        self._isolation = Isolation(generators, len(devices)) if settings.isolate else None
        self._run_tasks = self._tasks.runs_of(len(devices)) if self._isolation is None else None
        """Runs a task for each local replica; None where their generators are isolated."""
        self.run: RunStep = self._run if group.coordinator.observer is None else self._run_observed
        """Runs a function once on each local replica and regroups the results; see `Strategy.run`."""

    def close(self) -> None:
        """Ends the tasks' threads; the backend stays open."""
        self._tasks.close()

    def checked(
        self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None, site: Site
    ) -> dict[str, Any]:
        """Returns the named arguments of a run.  Raises ContextError, CannotCompile and what `require_call` raises."""
        group = self.group
        mode = MODE.get()
        if mode is not None:
            require_cross_replica(group, "run")
        if kwargs is not None or type(args) is not tuple or not callable(fn):
            require_call(fn, args, kwargs)
        if mode is not None and active_group(group) is not group:
            raise CannotCompile(
                f"A compiled step runs replicas again, {function_key(fn)} at {describe_site(site)}, and a program "
                f"is one run. Call the function itself, or run the step without compiling it."
            )
        return {} if kwargs is None else dict(kwargs)

    def record(self, fn: Callable[..., Any], site: Site) -> None:
        """Records in the trace that a run begins."""
        coordinator = self.group.coordinator
        if coordinator.trace is not None:
            request = Request("run", None, None, function_key(fn), None, ())
            coordinator.trace.record(coordinator.worker, request, (None,), (site,))

    def _run_observed(
        self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None, site: Site
    ) -> Any:
        observer, count = self.group.coordinator.observer, len(self.group.local_devices)
        assert observer is not None
        return observer.outside(
            [(args, kwargs)] * count, lambda: self._run(fn, args, kwargs, site), lambda result: [result] * count
        )

    def _run(self, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None, site: Site) -> Any:
        group, coordinator = self.group, self.group.coordinator
        named = self.checked(fn, args, kwargs, site)
        if coordinator.trace is not None:
            self.record(fn, site)
        body = self._body(fn, tuple(args), named)
        matcher: Matcher = CollectiveMatcher(coordinator, fn)
        if coordinator.observer is not None:
            matcher = coordinator.observer.matcher(matcher)
        run_tasks = self._run_tasks or partial(self._run_isolated, site)
        one_thread = coordinator.one_thread
        try:
            if group.kind.has_collectives:
                one_thread.enter(matcher, site)
            try:
                results = run_tasks(len(group.local_devices), body, matcher.match, matcher.failed)
                one_thread.ended(matcher, None)
            except BaseException as error:
                self._end_failed(fn, matcher, error)
                raise
            exposed = coordinator.processes > 1 and any(coordinator.end_run(fn, None, group.variables.exposed))
            if exposed or group.variables.pending:
                group.variables.end_run()
        finally:
            one_thread.leave(matcher, None)
        if type(results[0]) in UNFINISHED:
            refuse_unfinished(results, "run")
        if self.after_run:
            require_equal_after(group, self.after_run, site)
        return regroup(results)

    def _body(self, fn: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Body:
        """Returns what each task runs: the function in its replica's context, on its device, with its arguments."""
        group, backend = self.group, self.group.settings.backend
        function = backend.prepare(fn)
        # Made here, in the caller's thread, and entered in the tasks': see Backend.on.
        placements = list(map(backend.on, group.local_devices))
        if group.frontend.part is not None:
            placements = group.frontend.placements(placements)
        waits = group.frontend.part is not None and len(placements) > 1
        rows = component_rows(args, len(placements)) if args else []

        def body(index: int, suspend: Suspend) -> Any:
            # Not by `with`, which keeps a method for each task while it waits: what 10,000 tasks of the simulator keep
            # costs the garbage collector more than the tasks themselves.
            placement = placements[index]
            placement.__enter__()
            try:
                if waits:
                    suspend = group.frontend.suspend(suspend)
                _set_mode(ReplicaContext(group, index, suspend))
                given = rows[index] if rows else select(index, args) if args else args
                result = function(*given, **select(index, named)) if named else function(*given)
            except BaseException:
                placement.__exit__(*sys.exc_info())
                raise
            placement.__exit__(None, None, None)
            return result

        return body

    def _end_failed(self, fn: Callable[..., Any], use: object, error: BaseException) -> None:
        """Ends a run that has raised, in all processes.  Raises why it could not end, where it could not."""
        coordinator = self.group.coordinator
        try:
            coordinator.one_thread.ended(use, error)
        except BaseException as other:
            coordinator.end_run(fn, other)
            raise
        coordinator.end_run(fn, error)

    def _run_isolated(self, site: Site, count: int, body: Body, match: Match, failed: Failed) -> list[Any]:
        """Runs a task for each local replica, with random generators of its own.  count: as the isolation has it."""
        assert self._isolation is not None
        mixed = partial(self._warn_mixed, site)
        return self._isolation.run(
            self._tasks, body, match, failed, mixed=mixed, watch=self.group.settings.watches.draws
        )

    def _warn_mixed(self, site: Site, module: str, indices: Sequence[int]) -> None:
        """Warns once that the program drew from a generator that replicas had used differently."""
        ranks = [self.group.local_devices[index].rank for index in indices]
        who = f"replica {ranks[0]}" if len(ranks) == 1 else f"replicas {', '.join(map(str, ranks[:8]))}"
        text = (
            f"The program seeded or drew from the global generator of {module} outside of replica functions, where "
            f"{who} had drawn otherwise than replica {self.group.local_devices[0].rank}. Every replica goes on with "
            f"the program's generator: after a new seed this is what happens in processes of their own, after a draw "
            f"it is not. Draw there from a generator object, such as numpy.random.default_rng(seed)"
        )
        self.group.coordinator.warn_once(("generators", module), GeneratorsMixed, text, site)
