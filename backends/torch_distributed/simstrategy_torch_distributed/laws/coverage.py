"""The law of coverage: what ranks draw in one pass over a dataset covers it, no sample lost and none repeated.

A finding needs a sampler that shares out the samples. What padding, a dropped remainder, draws at random or a purpose
of the script may explain is a remark.
"""

import base64
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

import numpy as np

from simstrategy.trace import describe_site
from simstrategy_torch_distributed.findings import Finding, uncovered

__all__ = ["Coverage"]

_SAMPLES_MIN: Final = 8
"""With fewer samples, draws at random may look like a share."""
_NAMED_MAX: Final = 5
_SHARE: Final = "DistributedSampler(dataset, num_replicas=dist.get_world_size(), rank=dist.get_rank())"

_Report = Mapping[str, Any]
_Site = tuple[str, int]
_Pass = tuple[_Report, list[int]]
"""What a rank reports, and the indices that it draws."""


class _Ledger(NamedTuple):
    """How often samples are drawn in one pass.  draws: of all ranks, each share once."""

    lost: tuple[int, ...]
    repeated: tuple[int, ...]
    extra: int
    """How many draws are repetitions."""
    draws: int
    samples: int


@final
class Coverage:
    """Collects the passes of all ranks.  ranks: how many there are."""

    __slots__ = ("_passes", "_ranks")

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._passes: dict[tuple[_Site, int], dict[int, _Pass]] = {}

    def receive(self, rank: int, report: _Report) -> None:
        """Takes one pass of a rank; `hooks/samplers.py` has the fields."""
        drawn = np.frombuffer(base64.b64decode(report["drawn"]), dtype=np.int64).tolist()
        site = (report["site"][0], report["site"][1])
        self._passes.setdefault((site, report["pass"]), {})[rank] = (report, drawn)

    def close(self) -> Iterator[Finding | str]:
        """Yields one finding or remark for each place that draws, and one for shuffled passes of one order."""
        seen: set[tuple[_Site, type]] = set()
        for (site, number), of_ranks in sorted(self._passes.items()):
            if len(of_ranks) != self._ranks or self._ranks == 1:
                continue
            passes = [of_ranks[rank] for rank in range(self._ranks)]
            found = _judged(passes, _what(passes[0][0], number, site), site, self._later(site))
            if found is not None and (site, type(found)) not in seen:
                seen.add((site, type(found)))
                yield found
        yield from self._same_orders()

    def _later(self, site: _Site) -> list[Mapping[int, _Pass]]:
        return [found for (other, _), found in sorted(self._passes.items()) if other == site]

    def _same_orders(self) -> Iterator[Finding | str]:
        """Yields what is wrong at each place whose shuffled passes have one order: a remark, unless it trains."""
        for site in sorted({site for site, _ in self._passes}):
            passes = [[found[rank] for rank in sorted(found)] for found in self._later(site) if 0 in found]
            if len(passes) < 2 or not passes[0][0][0]["seeded"] or (passes[0][0][0]["count"] or 0) < _SAMPLES_MIN:
                continue
            if not all([drawn for _, drawn in one] == [drawn for _, drawn in passes[0]] for one in passes):
                continue
            where = _what(passes[0][0][0], None, site)
            if all(_trains(report) for one in passes for report, _ in one):
                text = f"{where}: each of the {len(passes)} passes draws the shuffled samples in the same order"
                yield uncovered(_lines(passes[0], site), text, "Call sampler.set_epoch(epoch) before each pass")
            else:
                yield (
                    f"the {len(passes)} passes over {where} draw the samples in one order: call "
                    f"sampler.set_epoch(epoch) before each"
                )


def _trains(report: _Report) -> bool:
    """Returns whether a pass trains: gradients are recorded, and between batches something is reduced or stepped."""
    return bool(report["graded"]) and report["acts"] > 0


def _what(report: _Report, number: int | None, site: _Site) -> str:
    """Returns what a pass is called.  report: of rank 0. number: from 0; None for all passes."""
    made = (report["made"][0], report["made"][1])
    loader = "" if made == site else f", whose loader is made at {describe_site(made)},"
    which = "" if number is None else f" of pass {number + 1}"
    return f"the data{which} at {describe_site(site)}{loader}".rstrip(",")


def _judged(
    passes: Sequence[_Pass],
    what: str,
    site: _Site,
    every: Sequence[Mapping[int, _Pass]],
) -> Finding | str | None:
    """Judges one pass of all ranks.  every: all passes at this place."""
    kinds = {report["kind"] for report, _ in passes}
    if len(kinds) > 1 or any(
        len({*drawn}) != len(drawn) for report, drawn in passes if report["kind"] != "distributed"
    ):
        return None  # other samplers on other ranks, or draws with replacement
    if kinds == {"distributed"}:
        return _of_shares(passes, what, site)
    return _of_other_samplers(passes, what, site, every)


def _of_other_samplers(
    passes: Sequence[_Pass], what: str, site: _Site, every: Sequence[Mapping[int, _Pass]]
) -> Finding | str | None:
    """Judges a pass of samplers of the script or of torch's that draw without replacement."""
    count = passes[0][0]["count"] or 1 + max((max(drawn, default=-1) for _, drawn in passes), default=-1)
    if count < _SAMPLES_MIN:
        return None
    if all(sorted(drawn) == sorted(passes[0][1]) for _, drawn in passes):
        drawn = f"{what}: each rank draws the same {len(passes[0][1])} indices"
        return f"{drawn}. If the ranks have one dataset, and it is for training, share it out"
    ledger = _ledger([drawn for _, drawn in passes], count)
    remainder = len(passes) * passes[0][0]["batch"]
    if not (ledger.lost or ledger.repeated) or abs(ledger.draws - count) > remainder:
        return None
    if passes[0][0]["kind"] == "own" and ledger.lost and ledger.repeated and _is_planned(passes, every, count):
        return uncovered(
            _lines(passes, site), f"{what}: {_text(ledger)}", "Let each sample be in the share of one rank"
        )
    return f"{what}: {_text(ledger)}"


def _is_planned(passes: Sequence[_Pass], every: Sequence[Mapping[int, _Pass]], count: int) -> bool:
    """Returns whether shares are not drawn at random: each ascends, or each pass loses the same samples."""
    if all(drawn == sorted(drawn) for _, drawn in passes):
        return True
    lost = {_ledger([drawn for _, drawn in one.values()], count).lost for one in every if len(one) == len(passes)}
    return len(every) > 1 and len(lost) == 1


def _of_shares(passes: Sequence[_Pass], what: str, site: _Site) -> Finding | str | None:
    """Judges a pass of DistributedSamplers.  Ranks with one share draw the same; each share counts once."""
    shares: dict[int, list[int]] = {}
    for report, drawn in passes:
        if shares.setdefault(report["share"][0], drawn) != drawn:
            return f"{what}: ranks with the share {report['share'][0]} of DistributedSampler draw other samples"
    report = passes[0][0]
    count, replicas = report["count"], report["share"][1]
    if count is None or len({one["share"][1] for one, _ in passes}) > 1:
        return None
    ledger = _ledger(list(shares.values()), count)
    if not ledger.lost and not ledger.extra:
        return None
    dropped = replicas * (report["batch"] - 1) + (0 if ledger.extra else replicas - 1)
    if ledger.extra < replicas and len(ledger.lost) <= dropped and len(shares) == replicas:
        why = "padding of DistributedSampler" if ledger.extra else "the remainder, which is dropped"
        return f"{what}: {_text(ledger)}: {why}"
    if not ledger.lost and not ledger.repeated:
        return None
    text = f"{what}: {_text(ledger)}"
    if len(shares) != replicas:
        verb = "is" if len(shares) == 1 else "are"
        text += f"; only {len(shares)} of the {replicas} shares of DistributedSampler {verb} drawn"
    return uncovered(_lines(passes, site), text, f"Make it as {_SHARE}, with one seed and one epoch on all ranks")


def _ledger(draws: Sequence[Sequence[int]], count: int) -> _Ledger:
    found = Counter(index for drawn in draws for index in drawn)
    lost = tuple(index for index in range(count) if index not in found)
    repeated = tuple(sorted(index for index, times in found.items() if times > 1))
    return _Ledger(lost, repeated, sum(times - 1 for times in found.values()), found.total(), count)


def _text(ledger: _Ledger) -> str:
    texts = []
    if ledger.lost:
        texts.append(f"{len(ledger.lost)} of {ledger.samples} samples are drawn by no rank ({_named(ledger.lost)})")
    if ledger.repeated:
        texts.append(f"{len(ledger.repeated)} are drawn more than once ({_named(ledger.repeated)})")
    return " and ".join(texts)


def _named(numbers: Sequence[int]) -> str:
    return ", ".join([*map(str, numbers[:_NAMED_MAX]), *(["…"] if len(numbers) > _NAMED_MAX else [])])


def _lines(passes: Sequence[_Pass], site: _Site) -> list[str]:
    lines, place = [], describe_site(site)
    for rank, (report, drawn) in enumerate(passes):
        share = f", share {report['share'][0]} of {report['share'][1]}" if report["share"] else ""
        lines.append(f"rank {rank}: {report['name']}{share} draws {len(drawn)} samples ({_named(drawn)}) at {place}")
    return lines
