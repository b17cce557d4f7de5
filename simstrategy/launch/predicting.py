"""Calls layers of a library as in a prediction: what they do in training alone may be why two runs differ.

Of layers that compute statistics of a batch, or draw numbers, that is all that the training changes.
"""

import inspect
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

__all__ = ["without_training"]


@contextmanager
def without_training(layers: Collection[type], called: Callable[[Any], None] = lambda layer: None) -> Iterator[None]:
    """Calls the method `call` of some classes with training=False in this context.

    called: receives each layer that would have trained. A class whose `call` has no argument `training` is left as it
    is.
    """
    own = {layer: vars(layer).get("call") for layer in layers}
    for layer in layers:
        setattr(layer, "call", _predicting(getattr(layer, "call"), called))  # noqa: B009, B010 - known by name alone
    try:
        yield
    finally:
        for layer, call in own.items():
            if call is None:
                delattr(layer, "call")
            else:
                setattr(layer, "call", call)  # noqa: B010


def _predicting(call: Callable[..., Any], called: Callable[[Any], None]) -> Callable[..., Any]:
    signature = inspect.signature(call)

    @wraps(call)
    def predicting(*args: Any, **settings: Any) -> Any:
        given = signature.bind(*args, **settings)
        if "training" in signature.parameters:
            given.apply_defaults()
            if given.arguments["training"]:
                called(args[0])
            given.arguments["training"] = False
        return call(*given.args, **given.kwargs)

    return predicting
