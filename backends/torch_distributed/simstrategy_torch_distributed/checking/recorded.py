"""Makes a recording of a script's run, for the page of a check: calls with their tensors, steps, and named values.

Ranks are processes that run at the same time: their order here is that of their calls, and between two calls that of
each rank; what several ranks do alike between two calls stands once. What was printed is known without its place.
"""

import hashlib
import tokenize
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, final

from simstrategy.run import stated_site
from simstrategy.trace import Recorder, Recording, Request, Site
from simstrategy.trace.recording import HOLDS, OPTIMIZER_STEP
from simstrategy_torch_distributed.calls import Call, request_of
from simstrategy_torch_distributed.checking.ends import end_values
from simstrategy_torch_distributed.checking.merging import Moment, merged
from simstrategy_torch_distributed.checking.moments import (
    Leaf,
    NamedMoment,
    Shared,
    StepMoment,
    calls_of,
    moments_of,
)
from simstrategy_torch_distributed.record import Record
from simstrategy_torch_distributed.report import Report
from simstrategy_torch_distributed.settings import OF_RANK, Settings

__all__ = ["recorded_run"]

_NO_CALL: Final = Request("the run", None, None, None, None, ())
_GRADIENT: Final = "gradient of {}"


def recorded_run(
    settings: Settings,
    report: Report,
    files: Sequence[Path],
    error: tuple[str, str] | None,
) -> Recording:
    """Returns the recording of a run.

    files: what its ranks have recorded, in rank order. error: class and text of how it failed; None for a run that did
    not.
    """
    script = Path(settings.script)
    words = [text.replace(OF_RANK, "RANK") for text in settings.arguments]
    recorder = Recorder(root=None if settings.is_module else script.absolute().parent)
    recorder.describe(
        replicas=settings.ranks,
        workers=1,
        order=settings.order,
        arrivals="not recorded",
        command=" ".join(["torchrun", f"--nproc-per-node {settings.ranks}", settings.script, *words]),
        **({} if settings.is_module else {"source": _source(script)}),
    )
    writer = _Writer(recorder, settings.ranks)
    record = report.record or Record()
    for found in merged([moments_of(file, rank, record) for rank, file in enumerate(files)]):
        writer.put(found)
    site = None if report.finding is None else stated_site(report.finding.lines, script.absolute().parent)
    if report.finding is not None:
        lines = _lines(report.finding.lines, settings.ranks)
        brought = {rank: calls_of(files[rank], [call])[0] for rank, call in report.calls.items()}
        error = report.finding.error, report.finding.text
        writer.put_failed(report.calls, brought, lines, error, site)
    for one in report.ranks:
        if one.output:
            recorder.printed(0, one.rank, one.output)
    recorder.ended(0, _end_values(files), error, site=site)
    recorder.close()
    return recorder.recording()


def _source(script: Path) -> dict[str, str]:
    with tokenize.open(script) as stream:
        text = stream.read()
    return {"file": script.name, "sha256": hashlib.sha256(script.read_bytes()).hexdigest(), "text": text}


def _end_values(files: Sequence[Path]) -> list[tuple[str, Leaf]]:
    """Returns the values at the end of a run with their paths: of each replica, where they are not equal."""
    found: list[tuple[str, Leaf]] = []
    for value in end_values(files):
        paths = (
            [value.path]
            if len(value.copies) == 1
            else [f"{value.path} of replica {n}" for n in range(len(value.copies))]
        )
        found += zip(paths, value.copies, strict=True)
    return found


def _lines(lines: Sequence[str], ranks: int) -> list[str]:
    """Returns what each rank was doing, by the lines of a finding, which may leave ranks out."""
    found = dict(line.split(": ", 1) for line in lines if ": " in line)
    return [f"rank {rank}: {found.get(f'rank {rank}', 'is not in this call')}" for rank in range(ranks)]


@final
class _Writer:
    """Writes moments to a recorder.  ranks: how many there are."""

    def __init__(self, recorder: Recorder, ranks: int) -> None:
        self._recorder = recorder
        self._ranks = ranks

    def put(self, found: Mapping[int, Moment]) -> None:
        """Writes what some ranks did together."""
        moments = {rank: one.what for rank, one in found.items()}
        first = next(iter(moments.values()))
        if isinstance(first, NamedMoment):
            self._recorder.begin_step(0, first.step)
        elif isinstance(first, StepMoment):
            self._recorder.begin_step(0, first.number)
        if isinstance(first, Shared):
            self._call({rank: one for rank, one in moments.items() if isinstance(one, Shared)})
        elif isinstance(first, StepMoment):
            self._step({rank: one for rank, one in moments.items() if isinstance(one, StepMoment)})
        elif isinstance(first, NamedMoment):
            named = {rank: one for rank, one in moments.items() if isinstance(one, NamedMoment)}
            self._holds(first.name, {rank: one.value for rank, one in named.items()}, first.site)

    def put_failed(
        self,
        calls: Mapping[int, Call],
        brought: Mapping[int, Shared],
        lines: Sequence[str],
        error: tuple[str, str],
        raised: Site | None,
    ) -> None:
        """Writes the point at which a run ended.

        calls: of ranks whose call was not complete. lines: of all ranks. raised: the line that raised the error.
        """
        ranks = sorted(calls)
        request = request_of(calls[ranks[0]]) if ranks else _NO_CALL
        sites = [_site(calls[rank]) for rank in ranks]
        depth = self._recorder.depth(0)
        inputs = [brought[rank].brought for rank in ranks]
        self._recorder.begin(0, request, ranks or [None], sites or [raised or ("", 0)], inputs, lines)
        self._recorder.leave(0, depth, error=error)

    def _call(self, found: Mapping[int, Shared]) -> None:
        ones = list(found.values())
        depth = self._recorder.depth(0)
        sites = [_site(one.call) for one in ones]
        self._recorder.begin(0, request_of(ones[0].call), list(found), sites, [one.brought for one in ones])
        self._recorder.leave(0, depth, [one.got for one in ones])

    def _step(self, found: Mapping[int, StepMoment]) -> None:
        """Writes a step of an optimizer: a point that writes the parameters, which brings the gradients."""
        ones = list(found.values())
        first = ones[0]
        depth = self._recorder.depth(0)
        request = Request(OPTIMIZER_STEP, None, None, str(first.number), None, ())
        gradients = [tuple(one.gradients.values()) for one in ones]
        self._recorder.begin(0, request, list(found), [one.site for one in ones], gradients)
        for name in first.names:
            self._holds(_GRADIENT.format(name), _of_name(name, {rank: one.gradients for rank, one in found.items()}))
            before = _of_name(name, {rank: one.before for rank, one in found.items()})
            after = _of_name(name, {rank: one.after for rank, one in found.items()})
            self._write(name, "step", after, before)
        self._recorder.leave(0, depth, [tuple(one.after.values()) for one in ones])

    def _holds(self, name: str, values: Mapping[int, Leaf], site: Site | None = None) -> None:
        self._write(name, HOLDS, values, {}, site)

    def _write(
        self, name: str, what: str, after: Mapping[int, Leaf], before: Mapping[int, Leaf], site: Site | None = None
    ) -> None:
        """Writes a value: once where all ranks have one, else for each rank that has.  site: None for the point's."""
        if len(after) == self._ranks:
            old = [before[rank] for rank in after] if before.keys() >= after.keys() else []
            self._recorder.wrote(0, None, name, what, old, list(after.values()), site)
            return
        for rank, value in after.items():
            self._recorder.wrote(0, rank, name, what, [before[rank]] if rank in before else [], [value], site)


def _of_name(name: str, ranks: Mapping[int, Mapping[str, Leaf]]) -> dict[int, Leaf]:
    return {rank: leaves[name] for rank, leaves in ranks.items() if name in leaves}


def _site(call: Call) -> Site:
    return str(call.site[0]), int(call.site[1])
