"""The law of late results: the result of an asynchronous call is not used before it is waited for."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, final

from simstrategy.trace import describe_site
from simstrategy_torch_distributed.findings import Finding, used_early

__all__ = ["Late"]

_SHOWN: Final = 10


@final
class Late:
    """Collects the uses, and the results that were never waited for."""

    __slots__ = ("_forgotten", "_uses")

    def __init__(self) -> None:
        self._uses: dict[int, list[str]] = {}
        self._forgotten: dict[int, list[str]] = {}

    def receive(self, rank: int, report: Mapping[str, Any]) -> None:
        """Takes a use, of which `hooks/results.py` has the fields, or under "forgotten" calls as text."""
        if "forgotten" in report:
            self._forgotten[rank] = list(report["forgotten"])
            return
        site = describe_site((report["site"][0], report["site"][1]))
        text = f"{report['call']} is used by {report['how']} at {site}"
        found = self._uses.setdefault(rank, [])
        if text not in found and len(found) < _SHOWN:
            found.append(text)

    def close(self) -> Iterator[Finding | str]:
        """Yields a finding for results that are used early, and a remark for others that nothing waits for."""
        if self._uses:
            yield used_early([f"rank {rank}: {'; '.join(texts)}" for rank, texts in sorted(self._uses.items())])
        calls: dict[str, list[int]] = {}
        for rank, texts in sorted(self._forgotten.items()):
            for text in texts:
                calls.setdefault(text, []).append(rank)
        for text, ranks in calls.items():
            of = f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
            yield f"the result of {text} is never waited for on {of}: the tensor holds none until wait() has returned"
