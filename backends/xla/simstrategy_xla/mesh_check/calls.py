"""Puts the values that devices recorded together into calls, and counts steps.

Devices record at their own pace, and a device may compute independent operations of a program in another order than the
program has them. So a call is found by how often its place came before, and calls are ordered by their places, those in
a loop turn by turn.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simstrategy_xla.mesh_check.jobs import Moment, Record, Site

__all__ = ["Call", "Parts", "calls_of"]

Parts = tuple[np.ndarray[Any, Any], ...]
"""One value […] for each device, in the order of the mesh."""


class Call(NamedTuple):
    """One call at one site.  values: for each of its values, that of each device; None where it was not kept.

    JAX may compile a function several times: the site is then that of the first time.

    step: from 1. A step ends where a compiled program is called that was called in this step already. Of a program
    whose sites are all in loops, each turn is a step.
    """

    site: Site
    step: int
    values: tuple[Parts | None, ...]


class _Turn(NamedTuple):
    """The n-th moment of a site on device 0.  module, run: the compiled program, and which of its runs it is in."""

    site: Site
    number: int
    module: int
    run: int


class _Body(NamedTuple):
    """The sites of one block: the first and the last number, and how many turns each of them has in a run."""

    first: int
    last: int
    turns: int


def calls_of(record: Record) -> list[Call]:
    """Returns all calls that every device has recorded, in the order of the program."""
    moments: dict[tuple[int, int], list[Moment]] = {}
    times: dict[int, list[int]] = {}
    for time, moment in enumerate(record.moments):
        moments.setdefault((moment.site, moment.device), []).append(moment)
        if moment.device == 0:
            times.setdefault(moment.site, []).append(time)
    sites = [site for site in record.sites if site.number in times]
    turns = [turn for module in {site.module: None for site in sites} for turn in _turns(module, sites, times)]
    began: dict[tuple[int, int], int] = {}
    for turn in turns:
        time = times[turn.site.number][turn.number]
        began[turn.module, turn.run] = min(began.get((turn.module, turn.run), time), time)
    runs = sorted(began, key=lambda run: began[run])
    programs = _programs(sites)
    order, steps = {run: place for place, run in enumerate(runs)}, _steps(runs, programs)
    alike = _alike(sites, programs)
    paths = _paths(turns)
    turns.sort(key=lambda turn: (order[turn.module, turn.run], *paths[turn.site.number, turn.number]))
    found = []
    for turn in turns:
        of_all = [moments.get((turn.site.number, device), []) for device in range(turn.site.devices)]
        if all(turn.number < len(one) for one in of_all):
            now = [one[turn.number] for one in of_all]
            values = tuple([_of_all(value) for value in zip(*[one.values for one in now], strict=True)])
            site = alike[turn.site.number]
            site = site._replace(place=now[0].place or site.place)
            found.append(Call(site, steps[turn.module, turn.run], values))
    return found


def _turns(module: int, sites: Sequence[Site], times: Mapping[int, Sequence[int]]) -> list[_Turn]:
    """Returns the turns of all sites of a compiled program, each with its run.

    A site that is in no loop comes once in each run. One in a loop comes equally often in each; else its time decides.
    """
    own = [site for site in sites if site.module == module]
    straight = [site for site in own if not site.in_loop]
    if not straight:
        return [_Turn(site, number, module, number) for site in own for number in range(len(times[site.number]))]
    runs = max(len(times[site.number]) for site in straight)
    begins = [min(times[site.number][run] for site in straight if run < len(times[site.number])) for run in range(runs)]
    found = []
    for site in own:
        count = len(times[site.number])
        for number, time in enumerate(times[site.number]):
            run = number
            if site.in_loop:
                run = number * runs // count if count % runs == 0 else sum(begin <= time for begin in begins[1:])
            found.append(_Turn(site, number, module, run))
    return found


def _paths(turns: Sequence[_Turn]) -> dict[tuple[int, int], tuple[int, ...]]:
    """Returns for the number of each site, and of its turn, a key that orders the turns of one run of its program.

    All sites of a loop's body have equally many turns: one turn of all of them comes before the next one. What stands
    between two of them, with a multiple of their turns, is in a loop or a function inside of this body.
    """
    runs: dict[tuple[int, int], dict[int, list[_Turn]]] = {}
    for turn in turns:
        runs.setdefault((turn.module, turn.run), {}).setdefault(turn.site.number, []).append(turn)
    found = {}
    for sites in runs.values():
        blocks: dict[int, dict[int, list[_Turn]]] = {}
        for number in sorted(sites):
            blocks.setdefault(sites[number][0].site.block, {})[number] = sites[number]
        bodies = [_Body(min(one), max(one), len(one[min(one)])) for one in blocks.values() if _is_even(one)]
        for block in blocks.values():
            own = _Body(min(block), max(block), len(block[min(block)]))
            around = [one for one in bodies if one.first < own.first and own.last < one.last]
            around = [one for one in around if own.turns % one.turns == 0] if _is_even(block) else []
            for number, made in block.items():
                for place, turn in enumerate(made):
                    outer = [part for one in around for part in (one.first, place * one.turns // own.turns)]
                    inner = (own.first, place, number) if _is_even(block) else (number, place)
                    found[number, turn.number] = (*outer, *inner)
    return found


def _is_even(block: Mapping[int, Sequence[_Turn]]) -> bool:
    """Returns whether the sites of a block have equally many turns."""
    return len({len(made) for made in block.values()}) == 1


def _programs(sites: Sequence[Site]) -> dict[int, str]:
    """Returns a text for each compiled program, equal for those that JAX has compiled of one function."""
    texts: dict[int, list[str]] = {}
    for site in sites:
        # Which line calls a library's function is no part of that function.
        texts.setdefault(site.module, []).append(f"{site.kind} {site.op} {site.called or site.place}")
    return {module: "\n".join(one) for module, one in texts.items()}


def _alike(sites: Sequence[Site], programs: Mapping[int, str]) -> dict[int, Site]:
    """Returns for the number of each site the site that stands for it, of programs compiled of one function."""
    firsts: dict[tuple[str, int], Site] = {}
    counts: dict[int, int] = {}
    found = {}
    for site in sites:
        place = counts[site.module] = counts.get(site.module, 0) + 1
        found[site.number] = firsts.setdefault((programs[site.module], place), site)
    return found


def _steps(runs: Sequence[tuple[int, int]], programs: Mapping[int, str]) -> dict[tuple[int, int], int]:
    """Returns the step of each run of a compiled program.  runs: in the order of time."""
    found: dict[tuple[int, int], int] = {}
    step, seen = 1, set[str]()
    for module, run in runs:
        if programs[module] in seen:
            step += 1
            seen.clear()
        seen.add(programs[module])
        found[module, run] = step
    return found


def _of_all(values: Sequence[np.ndarray[Any, Any] | None]) -> Parts | None:
    known = tuple([value for value in values if value is not None])
    return known if len(known) == len(values) else None
