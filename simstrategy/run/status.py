"""The status messages that processes exchange before every group-call, and what follows from them.

A message is canonical JSON, so equal messages are equal bytes, and nothing that comes from another process is ever
executed.
"""

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, NoReturn

from simstrategy.errors import ContextError, PeerFailed, ReplicasDisagree, SimStrategyError
from simstrategy.run.calls import Sizes
from simstrategy.run.frames import is_library, places_of
from simstrategy.short_repr import error_text
from simstrategy.trace import Request, Site, Subject, describe_request, describe_site

__all__ = [
    "StatusMessage",
    "add_note",
    "compare_messages",
    "disagreement",
    "fingerprint",
    "located",
    "raise_located",
    "raised_site",
    "raised_where",
    "read_replies",
    "stated_site",
    "words_of",
]

_RAISED_AT: Final = " raised at "
_STATED: Final = re.compile(_RAISED_AT + r"(.+?):(\d+)")
_ENCODE: Final = json.JSONEncoder(separators=(",", ":")).encode


class StatusMessage(NamedTuple):
    """The status of one process at a synchronization point.  `lines` are for people: one per local replica."""

    status: Literal["request", "returned", "disagree", "failed", "left"]
    request: str
    lines: tuple[str, ...]
    sizes: Sizes

    def encode(self) -> bytes:
        return _ENCODE(self).encode()

    @staticmethod
    def decode(data: bytes) -> "StatusMessage":
        status, request, lines, sizes = json.loads(data)
        return StatusMessage(status, request, tuple(lines), tuple(sizes))


class Replies(NamedTuple):
    """What all processes have sent at one synchronization point.

    sizes: of all ranks, where all processes sent the same; else None. lines: one for each replica. one_site: whether
    all of them end with one call site.
    """

    messages: tuple[StatusMessage, ...]
    sizes: Sizes | None
    lines: tuple[str, ...]
    one_site: bool


@lru_cache(maxsize=4)
def read_replies(replies: tuple[bytes, ...]) -> Replies:
    """Reads the messages of all processes.  The workers of a simulated cluster all receive the same."""
    messages = tuple(map(StatusMessage.decode, replies))
    first, lines = messages[0], tuple([line for one in messages for line in one.lines])
    alike = all((one.status, one.request) == (first.status, first.request) for one in messages)
    sizes = tuple([size for one in messages for size in one.sizes])
    return Replies(
        messages,
        sizes if alike and first.status not in ("failed", "disagree") else None,
        lines,
        len({words_of(line)[2] for line in lines}) <= 1,
    )


def words_of(line: str) -> tuple[str, str, str]:
    """Returns who, what and where, of a line on a replica or a worker.

    >>> words_of("replica 1: all_reduce SUM float32[] at train.py:7")
    ('replica 1', 'all_reduce SUM float32[]', 'train.py:7')
    """
    who, _, rest = line.partition(": ")
    what, _, site = rest.rpartition(" at ")
    return who, what, site


def fingerprint(request: Request) -> str:
    """Returns a text that is equal in two processes exactly if the requests are."""
    if isinstance(request.subject, Subject):
        request = request._replace(subject=request.subject.fingerprint())
    return f"{describe_request(request)} {request.structure is None}"


def compare_messages(messages: Sequence[StatusMessage], worker: int) -> Sizes:
    """Returns the sizes of all ranks if all processes sent the same request.

    Raises `PeerFailed` where another process failed, and `ReplicasDisagree`, the same in every process,
    where their requests differ.
    """
    first = messages[0]
    lines = [line for one in messages for line in one.lines]
    failed = [one for index, one in enumerate(messages) if one.status == "failed" and index != worker]
    if failed:
        failures = [line for one in failed for line in one.lines]
        waiting = messages[worker].lines
        raise PeerFailed(
            "\n  ".join(["Another process of the cluster failed, so this one cannot continue:", *failures])
            + "\n  ".join(["\nThis process was at:", *waiting])
            + "\nFix that failure first; the output of that process has the traceback."
        )
    if any(one.status == "disagree" for one in messages):
        raise ReplicasDisagree(disagreement(lines))
    if any((one.status, one.request) != (first.status, first.request) for one in messages):
        raise ReplicasDisagree(disagreement(lines))
    return tuple(size for one in messages for size in one.sizes)


def disagreement(lines: Sequence[str], *, who: str = "replicas") -> str:
    """Writes the message of ReplicasDisagree: one line per replica, and where lines that read alike differ.

    who: what the lines are about, as in "ranks".
    """
    head = f"{who.capitalize()} make different collective calls here. Make the same calls in the same order in all"
    return "\n  ".join([f"{head} {who}:", *lines])


def located(error: PeerFailed, lines: Sequence[str]) -> PeerFailed:
    """Returns a backend's error with the calls of this process; lines: one per local replica."""
    if any(line in error_text(error) for line in lines):
        return error
    return PeerFailed("\n  ".join([f"{error}\nThis process was at:", *lines]))


def raise_located(error: Exception, request: Request, lines: Sequence[str]) -> NoReturn:
    """Raises again what an answer has raised, with the calls of this process; called in its `except` block.

    An error of this project names the call itself, but for a backend that refuses where the call is made. A merge
    function and an update are the user's code.
    """
    if isinstance(error, PeerFailed):
        raise located(error, lines) from error
    if request.kind not in ("merge_call", "update"):
        if not isinstance(error, SimStrategyError):
            add_note(error, "\n  ".join(["In the answer to", *lines]))
        elif type(error) is ContextError and not any(line.rpartition(" at ")[2] in str(error) for line in lines):
            raise ContextError("\n  ".join([f"{error}\nThe call:", *lines])) from error
    raise  # noqa: PLE0704 - of the `except` block


def add_note(error: BaseException, text: str) -> None:
    """Adds a note to an exception, whose text it stands below, where its class takes one."""
    with suppress(Exception):  # of a user's class
        error.add_note(text)


def raised_where(error: BaseException, *, with_text: bool = True, site: Site | None = None) -> str:
    """Writes an exception's type, the first line of its text, and the user's line that raised it.

    with_text: False where the text stands beside it already. site: that line, where the caller has it. The line is left
    out where no user's line is known.
    """
    text = type(error).__name__
    if with_text:
        text += f"({''.join(error_text(error).splitlines()[:1])})"
    site = site or raised_site(error)
    return text if site is None else f"{text}{_RAISED_AT}{describe_site(site)}"


def raised_site(error: BaseException) -> Site | None:
    """Returns the user's line that raised an exception; None where none is known."""
    users = [place for place in places_of(error) if not is_library(place[0])]
    return (users[-1][0].f_code.co_filename, users[-1][1]) if users else None


def stated_site(texts: Iterable[str], folder: Path) -> Site | None:
    """Returns the line of the first text that `raised_where` has written with one.  folder: in which the file is.

    >>> stated_site(["rank 0: returned", "rank 1: ValueError(bad) raised at train.py:31"], Path("/home/user"))
    ('/home/user/train.py', 31)
    """
    for text in texts:
        found = _STATED.search(text)
        if found is not None:
            return str(folder / found[1]), int(found[2])
    return None
