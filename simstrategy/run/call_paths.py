"""Call sites with the lines that they were called from, up to the replica function.

Equal requests from one line of a helper are distinguished by the calls that led there. Taken under strict checks and by
`simstrategy.check` alone: every frame of the program is read.
"""

from collections.abc import Callable
from types import FrameType
from typing import Final

from simstrategy.digests import blake2b
from simstrategy.run.frames import is_users
from simstrategy.trace import CallPath, Request, Site, describe_request, describe_site

__all__ = ["described", "path_source", "path_text"]

_TASKS: Final = frozenset(f"simstrategy.run.{name}" for name in ("greenlets", "inline", "threads"))
"""The modules whose functions call a task's body."""
_SHOWN_MAX: Final = 10


def path_source(source: Callable[[FrameType], tuple[str, int]]) -> Callable[[FrameType], Site]:
    """Returns a function from a frame to its call site, with the program's lines that led there from a task's begin.

    source: a backend's, from a frame to its line.
    """

    def site(frame: FrameType) -> Site:
        callers = []
        above = frame.f_back
        while above is not None and str(above.f_globals.get("__name__")) not in _TASKS:
            if is_users(above):
                callers.append(source(above))
            above = above.f_back
        # Outside a run there is nothing that replicas could be compared by.
        return CallPath(*source(frame), tuple(callers) if above is not None else ())

    return site


def described(request: Request, site: Site) -> str:
    """Returns a call as text for messages: what it requests, and where.

    >>> described(Request("broadcast", None, None, "root 0", None, (((2,), "float32"),)), ("/home/user/train.py", 31))
    'broadcast root 0 float32[2] at train.py:31'
    """
    return f"{describe_request(request)} at {path_text(site)}"


def path_text(site: Site) -> str:
    """Returns a call site with the lines that it was called from; a line that calls itself is written once.

    Of many lines the first ones are written, and a digest of all.
    """
    callers = site.callers if isinstance(site, CallPath) else ()
    texts: list[str] = []
    for text in map(describe_site, callers):
        if not texts or texts[-1].partition(" × ")[0] != text:
            texts.append(text)
        else:
            texts[-1] = f"{text} × {int(texts[-1].partition(' × ')[2] or 1) + 1}"
    if len(texts) > _SHOWN_MAX:
        digest = blake2b(repr(callers).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
        texts[_SHOWN_MAX:] = [f"{len(texts) - _SHOWN_MAX} more lines ({digest})"]
    return describe_site(site) + (f" called from {', '.join(texts)}" if texts else "")
