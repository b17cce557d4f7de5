"""How a failure of `assert_lawful` is shown: its text first, then the example, the line, and how to repeat it.

Other failures, and those for which the user chose a style with `--tb`, are shown as pytest shows them.
"""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from simstrategy.errors import Difference, NotJudged, SimStrategyError

__all__ = ["shown"]


def shown(item: pytest.Item, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
    """Returns what a report shows of a failure; None where pytest's own form stays."""
    style = item.config.getoption("tbstyle", "auto")
    if style not in ("auto", "line", "no") or item.config.getoption("fulltrace", default=False):
        return None
    errors = sorted(_single(excinfo.value), key=lambda error: not isinstance(error, (Difference, NotJudged)))
    if not errors or not (_is_report(errors) or _has_no_line(item, excinfo)):
        return None
    texts = ["\n".join([str(errors[0]), *_notes(errors[0])])]
    texts += ["\n".join([f"{type(error).__name__}: {error}", *_notes(error)]) for error in errors[1:]]
    seed = _seed(item)
    repeat = ["python", "-m", "pytest", *([] if seed is None else [f"--hypothesis-seed={seed}"]), item.nodeid]
    kind = _class_of(errors[0])
    error = kind("\n\n".join([*texts, f"Repeat this test with: {shlex.join(repeat)}\n"]))
    # The trace is that of the innermost call in a test's file: pytest names its line.
    made = pytest.ExceptionInfo.from_exception(error.with_traceback(excinfo.tb))
    return made.getrepr(style="value", chain=False)


def _class_of(error: BaseException) -> type[SimStrategyError]:
    """Returns a class of ours that takes a text, as a user's subclass need not."""
    mine = [one for one in type(error).__mro__ if issubclass(one, SimStrategyError)]
    return next(one for one in mine if one.__module__ == SimStrategyError.__module__)


def _is_report(errors: Sequence[BaseException]) -> bool:
    """Returns whether the first error has a report, and the others are that too, or Hypothesis's remarks beside it."""
    others = [error for error in errors if not isinstance(error, (Difference, NotJudged))]
    return len(others) < len(errors) and all(type(error).__module__.startswith("hypothesis.") for error in others)


def _has_no_line(item: pytest.Item, excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
    """Returns whether an error is of all replicas of a test: it names their lines, and was raised at none of them."""
    of_replicas = isinstance(excinfo.value, SimStrategyError) and item.get_closest_marker("world_size") is not None
    return of_replicas and not any(entry.path == item.path for entry in excinfo.traceback)


def _single(error: BaseException) -> Iterator[BaseException]:
    """Yields an error, or those of a group: Hypothesis raises one for each of several failures."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _single(one)
    else:
        yield error


def _notes(error: BaseException) -> list[str]:
    """Returns the notes of an error, such as the failing example that Hypothesis found."""
    notes = getattr(error, "__notes__", None)
    return [] if not notes else ["", *map(str, notes)]


def _seed(item: pytest.Item) -> int | None:
    """Returns the seed from which Hypothesis drew; None for a test without it, and where the seed is fixed."""
    function = getattr(item, "obj", None)
    return getattr(function, "_hypothesis_internal_use_generated_seed", None)
