"""How a run ended: its exit code, a text for people, and data."""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, final

from simstrategy_torch_distributed.calls import Call
from simstrategy_torch_distributed.findings import Finding
from simstrategy_torch_distributed.record import Record

__all__ = ["RankReport", "Report"]

_VERSION: Final = 1
_LINES_MAX: Final = 20


class RankReport(NamedTuple):
    """code: the exit code, negative for a signal.  text: how it ended.  output: the end of what a file has of it."""

    rank: int
    code: int
    text: str
    output: str


@final
class Report(NamedTuple):
    """One run.  finding: what was wrong, or None.  failed: the first rank that failed by itself, or None.

    broken: what the laws found wrong. noted: what they remark. compared: how much the ranks have told each law.
    planted: what was observed of a fault, for each rank. calls: of ranks that had one, the first call that was not
    complete when the finding was made. has_joined: whether a rank has joined a default group.
    """

    ranks: tuple[RankReport, ...]
    finding: Finding | None
    failed: int | None
    remarks: tuple[str, ...]
    record: Record | None
    broken: tuple[Finding, ...] = ()
    noted: tuple[str, ...] = ()
    compared: Mapping[str, int] = {}
    planted: Mapping[int, Mapping[str, Any]] = {}
    calls: Mapping[int, Call] = {}
    has_joined: bool = False

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The finding of the run, and those of the laws."""
        return self.broken if self.finding is None else (self.finding, *self.broken)

    @property
    def exit_code(self) -> int:
        """The exit code of the command: the script's own, or 1 for a finding."""
        if self.failed is not None:
            code = self.ranks[self.failed].code
            return 128 - code if code < 0 else code
        return 1 if self.findings else 0

    def text(self) -> str:
        """Returns what the command prints at the end; empty where nothing is wrong or remarked by a law."""
        parts = [] if self.finding is None else [self.finding.text]
        if self.finding is not None and self.failed:
            output = self.ranks[self.failed].output.splitlines()
            if output:
                parts.append("\n  ".join([f"Rank {self.failed} printed, at the end:", *output[-_LINES_MAX:]]))
        parts += [one.text for one in self.broken]
        parts += [f"Remark: {text}." for text in self.noted]
        return "\n".join(parts)

    def as_json(self) -> str:
        """Returns the report as JSON."""
        data: dict[str, Any] = {
            "format": "simstrategy-torchrun",
            "version": _VERSION,
            "exit_code": self.exit_code,
            "finding": None if self.finding is None else self.finding.as_data(),
            "failed_rank": self.failed,
            "broken_laws": [one.as_data() for one in self.broken],
            "remarks": [*self.remarks, *self.noted],
            "ranks": [one._asdict() for one in self.ranks],
        }
        return json.dumps(data, indent=2) + "\n"
