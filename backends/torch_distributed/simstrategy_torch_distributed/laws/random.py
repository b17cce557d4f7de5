"""The law of random draws: what ranks draw is equal where it must be.

A finding is what no purpose explains: parameters that are drawn unequally and trained with equal gradients, and shares
of a DistributedSampler that are cut from other orders. Whether equal draws are meant, as for what ranks share, or not,
as for noise of each rank's own samples, no run shows: they are remarks.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

from simstrategy.trace import describe_site
from simstrategy_torch_distributed.findings import Finding, drawn_apart, orders_differ

__all__ = ["Random"]

_AT_END: Final = -1
_NAMED_MAX: Final = 3
_REPEATED_MIN: Final = 2
"""So many draws at a line, of which one in training, are noise that may be meant to differ."""
_GENERATORS: Final = ("random", "numpy.random")
_ALIKE: Final = (
    "right for what ranks share, such as data of which each takes its part, and wrong for noise of a rank's own "
    "samples: seed each rank with a number of its own when the model is made, as in torch.manual_seed(seed + rank)"
)

_Report = Mapping[str, Any]


class _Entry(NamedTuple):
    """A parameter of one rank before a step.  value, gradient: digests; None for a gradient that is none or zero.

    first: its first elements. size: how many it has. is_written: whether a call of the script has written it.
    """

    name: str
    value: str
    first: Sequence[float]
    gradient: str | None
    size: int
    is_written: bool


@final
class Random:
    """Collects what ranks draw.  ranks: how many there are."""

    __slots__ = ("_draws", "_passes", "_ranks", "_steps", "_workers")

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._steps: dict[int, dict[int, dict[int, _Report]]] = {}
        """By optimizer, step and rank."""
        self._passes: dict[tuple[str, int, int], dict[int, _Report]] = {}
        self._draws: dict[int, _Report] = {}
        self._workers: dict[int, Sequence[Sequence[Any]]] = {}

    def receive(self, rank: int, report: _Report) -> None:
        """Takes what a rank has drawn; `hooks/draws.py` and `hooks/beginnings.py` have the fields."""
        if report["what"] == "step":
            self._steps.setdefault(report["optimizer"], {}).setdefault(report["step"], {})[rank] = report
        elif report["what"] == "share":
            key = (report["site"][0], report["site"][1], report["pass"])
            self._passes.setdefault(key, {})[rank] = report
        elif report["what"] == "workers":
            self._workers[rank] = report["seeds"]
        else:
            self._draws[rank] = report

    def close(self) -> Iterator[Finding | str]:
        """Yields findings, and remarks as texts."""
        if self._ranks == 1:
            return
        yield from self._orders()
        if len(self._draws) < self._ranks:
            return  # a rank has not come to its end
        for number in sorted(self._steps):
            yield from self._parameters(self._steps[number])
        yield from self._alike()
        yield from self._between_steps()
        yield from self._of_workers()

    def _orders(self) -> Iterator[Finding]:
        """Yields a finding for each line whose shares are cut from other orders, in the first pass that has them."""
        seen = set()
        for (file, line, number), of_ranks in sorted(self._passes.items()):
            passes = [of_ranks[rank] for rank in sorted(of_ranks)]
            shares = {one["share"][0] for one in passes}
            is_one_set = len(passes) == len(shares) == self._ranks and {one["share"][1] for one in passes} == {
                self._ranks
            }
            if not is_one_set or (file, line) in seen or len({one["order"] for one in passes}) == 1:
                continue
            seen.add((file, line))
            place = describe_site((file, line))
            lines = [
                f"rank {rank}: DistributedSampler, share {one['share'][0]} of {one['share'][1]}, seed {one['seed']}, "
                f"epoch {one['epoch']}, at {place}"
                for rank, one in enumerate(passes)
            ]
            yield orders_differ(lines, f"pass {number + 1} at {place}")

    def _parameters(self, steps: Mapping[int, Mapping[int, _Report]]) -> Iterator[Finding | str]:
        """Yields what is wrong with the parameters of one optimizer."""
        whole = {step: of_ranks for step, of_ranks in steps.items() if len(of_ranks) == self._ranks}
        if 1 not in whole or _AT_END not in whole or any(len(one) != self._ranks for one in steps.values()):
            return
        tables = {step: [_entries(of_ranks[rank]) for rank in range(self._ranks)] for step, of_ranks in whole.items()}
        names = [name for name in tables[1][0] if _is_apart([[one.get(name) for one in of] for of in tables.values()])]
        reduced = {size for report in whole[_AT_END].values() for size in report["reduced"]}
        total = sum(one.size for one in tables[1][0].values())
        sizes = {tables[1][0][name].size for name in names}
        if not any(size > 1 and {size, total} & reduced for size in sizes):
            return
        drawn = self._drawn_before()
        lines = []
        for rank in range(self._ranks):
            first = tables[1][rank][names[0]]
            begin = ", ".join(f"{value:g}" for value in first.first)
            place = describe_site((whole[1][rank]["site"][0], whole[1][rank]["site"][1]))
            lines.append(
                f"rank {rank}: {names[0]} begins with [{begin}]{drawn.get(rank, '')}, before its step 1 at {place}"
            )
        if drawn:
            yield drawn_apart(lines, _listed(names))
        else:
            yield f"{_listed(names)}: unequal on the ranks and trained with equal gradients: {'; '.join(lines)}"

    def _drawn_before(self) -> dict[int, str]:
        """Returns for each rank what it drew before the first step from a state that others did not have, in words."""
        for lines in self._lines():
            if len({line[2][0] for line in lines}) > 1 and all(line[3] < len(line[2]) for line in lines):
                return {rank: f", drawn by {_drawn(line)}" for rank, line in enumerate(lines)}
        for place, generator in enumerate(_GENERATORS):
            states = [self._draws[rank]["states"] for rank in range(self._ranks)]
            firsts = [one["steps"][0][place] if one["steps"] else "" for one in states]
            has_drawn = all(first != one["begin"][place] for first, one in zip(firsts, states, strict=True))
            if has_drawn and len(set(firsts)) > 1:
                seeds = [one["seeds"].get(generator, "without a seed of the script") for one in states]
                return {rank: f", with {generator} {seed}" for rank, seed in enumerate(seeds)}
        return {}

    def _lines(self) -> list[list[Sequence[Any]]]:
        """Returns what each rank has drawn at each line at which all have, first values of parameters first."""
        keys = [{(line[0], *line[1]): line for line in self._draws[rank]["lines"]} for rank in range(self._ranks)]
        common = [key for key in keys[0] if all(key in one for one in keys)]
        found = [[one[key] for one in keys] for key in common]
        return sorted(found, key=lambda lines: not str(lines[0][0]).endswith("_"))

    def _alike(self) -> Iterator[str]:
        """Yields a remark for each line at which all ranks draw the same noise, or one rank the same in every call."""
        for lines in self._lines():
            line = lines[0]
            count = len(line[2])
            is_noise = line[5] == "noise" or (not line[5] and line[3] and count >= _REPEATED_MIN)
            if not is_noise:
                continue
            if all(len(one[2]) > 1 and len(set(one[2])) == 1 for one in lines):
                yield f"{_drawn(line)} draws the same numbers in each of its {count} calls: seed once, before the first"
            elif all(one[2] == line[2] for one in lines):
                times = f"each of {count} calls" if count > 1 else "its call"
                yield f"all ranks draw the same numbers in {_drawn(line)}, in {times}: {_ALIKE}"

    def _between_steps(self) -> Iterator[str]:
        """Yields a remark for a generator of Python or NumPy from which all ranks draw the same between steps."""
        for place, generator in enumerate(_GENERATORS):
            states = [self._draws[rank]["states"] for rank in range(self._ranks)]
            steps = [[one[place] for one in found["steps"]] for found in states]
            if any(one != steps[0] for one in steps):
                continue
            count = sum(one != other for one, other in zip(steps[0], steps[0][1:], strict=False))
            if count:
                seed = states[0]["seeds"].get(generator, "")
                words = f", {seed}," if seed else ""
                times = f"before {count} of {len(steps[0])} steps"
                yield f"all ranks draw the same numbers from {generator}{words} {times}: {_ALIKE}"

    def _of_workers(self) -> Iterator[str]:
        """Yields remarks on workers of DataLoaders that a script seeds alike."""
        first = self._workers[0]
        if not first:
            return
        for generator, place in sorted({(one[0], one[3]) for one in first}):
            of_ranks = [
                [(one[1], one[2]) for one in self._workers[rank] if (one[0], one[3]) == (generator, place)]
                for rank in range(self._ranks)
            ]
            seeds = list(dict.fromkeys(seed for _, seed in of_ranks[0]))
            workers = {worker for worker, _ in of_ranks[0]}
            if len(workers) > 1 and len(seeds) == 1:
                yield (
                    f"all {len(workers)} workers of a DataLoader draw the same numbers from {generator}, seeded with "
                    f"{seeds[0]} at {place}: add the worker and the rank, as in seed + workers * rank + worker"
                )
            elif all(one == of_ranks[0] for one in of_ranks):
                named = ", ".join([*seeds[:_NAMED_MAX], *(["…"] if len(seeds) > _NAMED_MAX else [])])
                yield (
                    f"workers of DataLoaders draw the same numbers from {generator} on all ranks, seeded with {named} "
                    f"at {place}: add the rank, as in seed + workers * rank + worker"
                )


def _entries(report: _Report) -> dict[str, _Entry]:
    return {one[0]: _Entry(*one) for one in report["entries"]}


def _is_apart(every: Sequence[Sequence[_Entry | None]]) -> bool:
    """Returns whether a parameter is never equal on all ranks, nor written by a call, and its gradients always are.

    every: what the ranks have of it before each step and at the end.
    """
    steps = [[one for one in ranks if one is not None] for ranks in every]
    if any(len(found) != len(ranks) for found, ranks in zip(steps, every, strict=True)):
        return False
    if any(len({one.value for one in found}) == 1 or any(one.is_written for one in found) for found in steps):
        return False
    if len({one.size for found in steps for one in found}) > 1:
        return False
    gradients = [{one.gradient for one in found} for found in steps]
    return all(len(found) == 1 for found in gradients) and gradients[0] != {None}


def _drawn(line: Sequence[Any]) -> str:
    """Returns a line's draws in words, as in "dropout at train.py:12, seeded with 0 at train.py:3,"."""
    seed = f", {line[4]}" if line[4] else ""
    return f"{line[0]} at {describe_site((line[1][0], line[1][1]))}{seed}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return f"{len(names)} parameter{'s' if len(names) > 1 else ''} ({', '.join(names[:_NAMED_MAX])}{more})"
