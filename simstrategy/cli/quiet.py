"""Drops what a program prints, by Python or by a library below it, and keeps an output for results."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Final, TextIO

from simstrategy.cli.leaving import is_flushed

__all__ = ["program_output"]

_STREAMS: Final = (1, 2)
"""The descriptors of standard output and of standard error."""


@contextmanager
def program_output(*, quiet: bool) -> Iterator[None]:
    """Drops, while the block runs, everything that this process and those it starts print, if `quiet`.

    Nothing is kept, so the memory that megabytes of output take is none. Both streams are restored afterwards, also
    where the program closed them, or has put others in their place.
    """
    if not quiet:
        kept = sys.stdout, sys.stderr
        try:
            yield
        finally:
            _flush(sys.stdout, sys.stderr)
            sys.stdout, sys.stderr = map(_usable, kept, _STREAMS)
        return
    with ExitStack() as stack:
        _flush(sys.stdout, sys.stderr)
        nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
        for descriptor in _STREAMS:
            _divert(stack, descriptor, nowhere.fileno())
        # Before the descriptors are restored: what the program left in Python's buffers is dropped too.
        stack.callback(_flush, sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
        stack.enter_context(redirect_stdout(nowhere))
        stack.enter_context(redirect_stderr(nowhere))
        yield


def _usable(stream: TextIO | None, descriptor: int) -> TextIO | None:
    """Returns a stream, or another one of its descriptor where the program has closed or detached it."""
    try:
        if stream is not None and not stream.closed:
            return stream
    except ValueError:  # it has no buffer any more
        pass
    try:
        return None if stream is None else open(descriptor, "w", encoding="utf-8", errors="replace", closefd=False)
    except OSError:  # the descriptor is closed, too
        return stream


def _divert(stack: ExitStack, descriptor: int, target: int) -> None:
    try:
        kept = os.dup(descriptor)
    except OSError:  # it was closed before
        return

    def restore() -> None:
        os.dup2(kept, descriptor)
        os.close(kept)

    stack.callback(restore)
    os.dup2(target, descriptor)


def _flush(*streams: TextIO | None) -> None:
    for stream in streams:
        is_flushed(stream)
