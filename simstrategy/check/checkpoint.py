"""What a program saves while it runs, and restores when it starts again: for the law of resume.

A program takes part with a parameter named `checkpoint`. What it saves is kept as bytes, as in a file, so that a run
that restores shares no object with the run that saved.
"""

import inspect
import io
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any, Final, final

from simstrategy.errors import ContextError, InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr
from simstrategy.strategy import Strategy, Variable
from simstrategy.strategy.modes import current_mode
from simstrategy.values import DistributedValues

__all__ = ["Checkpoint", "takes_checkpoint", "with_checkpoint"]

_KEPT_MAX: Final = 64
"""Of how many saves the bytes are kept: a long run keeps every second one, every fourth one, and so on."""

_NAME: Final = "checkpoint"

Program = Callable[..., Any]
"""A function of a strategy, and perhaps of a checkpoint."""


@final
class Checkpoint:
    """What a program saves while it runs, and what it finds when it starts again.

    saved: the bytes of a save of another run, which `restore` returns; None for a program that starts for the first
    time. Raises InvalidArgument for anything else.

    >>> def program(strategy, checkpoint):
    ...     done, total = checkpoint.restore() or (0, 0.0)
    ...     for step in range(done, 4):
    ...         total += step
    ...         checkpoint.save((step + 1, total))
    ...     return total
    >>> first = Checkpoint()
    >>> program(None, first), program(None, Checkpoint(first.saved[2]))
    (6.0, 6.0)
    """

    __slots__ = ("_every", "begins_with", "restored", "saved", "saves")

    def __init__(self, saved: bytes | None = None) -> None:
        if not isinstance(saved, (bytes, type(None))):
            raise InvalidArgument(
                f"A checkpoint begins with the bytes of a save, or with nothing, got {short_repr(saved)}. Pass one of "
                f"the values of another checkpoint's `saved`."
            )
        self.begins_with = saved
        """The bytes that `restore` returns the value of; None where nothing was saved."""
        self._every = 1
        self.saved: dict[int, bytes] = {}
        """The number of a save, from 1, and its bytes; of long runs not all."""
        self.saves = 0
        """How often the program saved."""
        self.restored = False
        """Whether the program asked for what was saved."""

    def restore(self) -> Any:
        """Returns a copy of what was saved last; None where nothing was saved.  Raises ContextError in a replica."""
        _require_outside("restore")
        self.restored = True
        return None if self.begins_with is None else pickle.loads(self.begins_with)  # noqa: S301 - bytes of this process

    def save(self, nest: Any) -> None:
        """Keeps a copy of all that a new start needs: values of variables, the position in the data, generators.

        nest: of arrays, numbers, texts and what else `pickle` takes; variables as `strategy.save` gives them. Raises
        InvalidType for a variable, a distributed value or a strategy, and for what `pickle` refuses; ContextError in a
        replica.
        """
        _require_outside("save")
        stream = io.BytesIO()
        try:
            _Pickler(stream, protocol=pickle.HIGHEST_PROTOCOL).dump(nest)
        except InvalidType:
            raise
        except Exception as error:  # `pickle` raises several, and a method of the value may raise any
            raise InvalidType(
                f"checkpoint.save keeps values, as a file would, and this one has no such form: {error}. Save what it "
                f"can be made of again, such as the number of elements that were read."
            ) from error
        self.saves += 1
        if (self.saves - 1) % self._every == 0:
            self.saved[self.saves] = stream.getvalue()
        if len(self.saved) > _KEPT_MAX:
            self._every *= 2
            self.saved = {number: kept for number, kept in self.saved.items() if (number - 1) % self._every == 0}


class _Pickler(pickle.Pickler):
    """Refuses what belongs to a strategy: a copy of it would have no strategy."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, (Variable, DistributedValues, Strategy)):
            raise InvalidType(
                f"checkpoint.save keeps values, and a {type(obj).__name__} belongs to its strategy. Save "
                f"strategy.save(variables), variable.numpy() or strategy.experimental_local_results(value)."
            )
        return NotImplemented


def _require_outside(call: str) -> None:
    mode = current_mode()
    if mode is not None and mode.replica is not None:
        raise ContextError(
            f"checkpoint.{call} was called in a replica function, where each replica would do it. Call it outside of "
            f"strategy.run."
        )


def takes_checkpoint(program: Program) -> bool:
    """Returns whether a program has a parameter `checkpoint`, without a default, after its first one.

    >>> takes_checkpoint(lambda strategy, checkpoint: None), takes_checkpoint(lambda strategy, checkpoint=None: None)
    (True, False)
    """
    try:
        _, *others = inspect.signature(program).parameters.values()
    except (TypeError, ValueError):
        return False  # without a readable signature, or without parameters
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return any(one.name == _NAME and one.kind in by_name and one.default is one.empty for one in others)


def with_checkpoint(program: Program, saved: Checkpoint | None = None) -> Program:
    """Returns a program as a function of its strategy alone: one that takes a checkpoint gets a new one, or `saved`."""
    if not takes_checkpoint(program):
        return program
    return partial(program, **{_NAME: Checkpoint() if saved is None else saved})
