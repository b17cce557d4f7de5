"""Gives each task of a process its own global random generators, as if it ran in a process of its own.

A task's generators begin as copies of the program's, and are swapped where the task is suspended and goes on. Nothing
here runs where a strategy does not ask for it, and nothing else that tasks share is kept apart.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any, final

from simstrategy.device.generators import GlobalGenerator
from simstrategy.run.replica_tasks import ReplicaTasks
from simstrategy.run.task import Body, Failed, Match, SuspendTask

__all__ = ["Isolation", "WatchDraws"]

States = dict[str, Any]
"""The state of each generator, by the name of its module."""
Mixed = Callable[[str, Sequence[int]], None]
WatchDraws = Callable[[Sequence[States], Sequence[States]], None]
"""Receives the states of each task's generators at the start and at the end of a run."""


def _ignore(module: str, tasks: Sequence[int]) -> None:
    """Does nothing: for tasks between which no code of the program runs."""


@final
class Isolation:
    """The generators of a fixed number of tasks, kept from run to run.

    generators: of which those are swapped whose module is loaded. What runs between and after the tasks has the first
    task's: in a process of its own, that is the code around it.
    """

    __slots__ = ("_begun", "_current", "_generators", "_left", "_mixed", "_outside", "_own")

    def __init__(self, generators: Sequence[GlobalGenerator], count: int) -> None:
        self._generators = generators
        self._own: list[States] = [{} for _ in range(count)]
        self._left: States = {}
        """The program's, as it had them when the last task was left."""
        self._current: States = {}
        """The global ones, as they were read or written last: one object for equal states."""
        self._outside = True
        """Whether the generators are now the program's."""
        self._mixed: Mixed = _ignore
        self._begun: list[States] = []
        """Those of each task at the start of the run; [] before its first task."""

    def run(
        self,
        tasks: ReplicaTasks,
        body: Body,
        match: Match,
        failed: Failed,
        *,
        mixed: Mixed = _ignore,
        watch: WatchDraws | None = None,
    ) -> list[Any]:
        """Runs `tasks.run`, with the generators of each task swapped in while it runs.

        mixed: called with a generator's module and the tasks that had drawn otherwise than the first one, where the
        program then changed that generator outside of its tasks. watch: called after the run, also after an error.
        """
        self._mixed = mixed
        self._begun = []

        def isolated(index: int, suspend: SuspendTask) -> Any:
            def swapping(*call: Any) -> Any:
                self._leave(index)
                try:
                    return suspend(*call)
                finally:
                    self._enter(index)

            self._enter(index)
            try:
                return body(index, swapping)
            finally:
                self._leave(index)

        def outside(calls: list[Any], order: list[int]) -> Sequence[Any]:
            self._return()
            return match(calls, order)

        try:
            return tasks.run(len(self._own), isolated, outside, failed)
        finally:
            self._return()
            if watch is not None and self._begun:
                watch(self._begun, self._own)

    def _enter(self, index: int) -> None:
        """Makes a task's generators the global ones."""
        if self._outside:
            self._outside = False
            self._pass_on(self._read())
            self._begun = self._begun or [dict(own) for own in self._own]
        self._write(self._own[index])

    def _leave(self, index: int) -> None:
        self._own[index] = self._read()

    def _return(self) -> None:
        """Makes the program's generators the global ones."""
        if not self._outside:
            self._left = dict(self._own[0])
            self._write(self._left)
            self._outside = True

    def _pass_on(self, now: States) -> None:
        """Gives tasks what the program has now: new ones, and those that were where the program was."""
        left, self._left = self._left, now
        mixed: dict[str, list[int]] = {}
        for index, own in enumerate(self._own):
            for module, state in now.items():
                if module not in own:
                    own[module] = state
                elif state != left.get(module):
                    if own[module] != left.get(module):
                        mixed.setdefault(module, []).append(index)
                    own[module] = state
        for module, tasks in mixed.items():
            self._mixed(module, tasks)

    def _read(self) -> States:
        states: States = {}
        for one in self._generators:
            module = sys.modules.get(one.module)
            if module is not None:
                state, known = one.read(module), self._current.get(one.module)
                states[one.module] = known if state == known else state
        self._current = states
        return dict(states)

    def _write(self, states: States) -> None:
        for one in self._generators:
            # A write costs more than a read, and most tasks draw nothing between two calls.
            if one.module in states and states[one.module] is not self._current.get(one.module):
                one.write(sys.modules[one.module], states[one.module])
        self._current = self._current | states
