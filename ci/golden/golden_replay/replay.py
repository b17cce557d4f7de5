"""Runs recorded cases through the public API, one function per kind; returns answers of the recorded form.

An answer holds NumPy arrays, and `Raised` where a call raised. It compares nothing and opens no backend.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from golden_replay.asking import attempt, here, host, hosts, placed
from golden_replay.cases import Case
from golden_replay.conversions import convert_case
from golden_replay.datasets import (
    autoshard_case,
    dataset_iterator_case,
    input_context_case,
    input_fn_iterator_case,
    split_case,
)
from golden_replay.variables import variable_case
from golden_replay.verdict import Raised
from simstrategy.errors import SimStrategyWarning
from simstrategy.strategy import ReduceOp, Strategy, group_of
from simstrategy.values import DistributedValues

__all__ = ["BUILT", "dtypes_of", "replay"]

Body = Mapping[str, Any]


def replay(case: Case, strategy: Strategy) -> Any:
    """Returns the strategy's answer to a case of a kind in `BUILT`.

    strategy: of the case's number of replicas. Errors before the recorded call are raised. Our warnings are ignored,
    since no recorded answer has any.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimStrategyWarning)
        return BUILT[case.kind](case.body, strategy)


def dtypes_of(case: Case) -> frozenset[str]:
    """Returns the dtypes that the case's own arrays have: without them a backend cannot be asked."""
    if case.kind == "convert":
        # The dtype of a conversion is in its answers; a backend without it refuses the case.
        return frozenset(_dtypes_in(dict(case.answers))) | frozenset(filter(None, [case.body["dtype"]]))
    return frozenset(_dtypes_in(case.body)) | _DTYPES_OF_KINDS.get(case.kind, frozenset())


_DTYPES_OF_KINDS: Final = {
    "split": frozenset({"int64"}),
    "autoshard": frozenset({"int64"}),
    "make_dataset_iterator": frozenset({"int64"}),
    "make_input_fn_iterator": frozenset({"int64"}),
    "run": frozenset({"float32", "int32"}),
}


def _dtypes_in(value: Any) -> Iterator[str]:
    if isinstance(value, np.ndarray):
        yield value.dtype.name
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _dtypes_in(item)


# Reductions.


def _reduce(body: Body, strategy: Strategy) -> Any:
    value = placed(strategy, body["values"])
    axis = tuple(body["axis"]) if isinstance(body["axis"], list) else body["axis"]
    with strategy.scope():  # outside, 1.13 reduces nothing
        return attempt(lambda: {"value": host(strategy, strategy.reduce(ReduceOp[body["op"]], value, axis))})


def _all_reduce(body: Body, strategy: Strategy) -> Any:
    leaves = tuple(placed(strategy, column) for column in body["values"])
    keys = [f"k{number}" for number in range(len(leaves))]
    forms: dict[str, tuple[Callable[[Any], Any], Callable[[Any], list[Any]]]] = {
        "single": (lambda own: own[0], lambda result: [result]),
        "list": (list, lambda result: result if isinstance(result, list) else []),
        "tuple": (tuple, lambda result: [*result] if isinstance(result, tuple) else []),
        "dict": (lambda own: dict(zip(keys, own, strict=True)), lambda result: [result[key] for key in keys]),
    }
    join, split = forms[body["structure"]]
    result = attempt(lambda: strategy.run(lambda *own: here().all_reduce(body["op"], join(own)), args=leaves))
    if isinstance(result, Raised):
        return result
    return {"values": [hosts(strategy, leaf) for leaf in split(result)]}


# What replica functions return.


def _run(body: Body, strategy: Strategy) -> Any:
    shared = strategy.xp.asarray(7.0)

    def leaf(name: str) -> Any:
        rank, xp = here().replica_id_in_sync_group, here().xp
        makers: dict[str, Callable[[], Any]] = {
            "rid": lambda: xp.asarray(rank),
            "const": lambda: xp.asarray(3.0),
            "vec": lambda: xp.asarray([float(rank), 1.0]),
            "shared": lambda: shared,
            "none": lambda: None,
            "pystr": lambda: "s",
            "pyint": lambda: 5,
            "pyrid": lambda: rank,
        }
        return makers[name]()

    def nest(form: Any) -> Any:
        if isinstance(form, str):
            return leaf(form)
        if form["t"] == "dict":
            return {key: nest(item) for key, item in form["c"].items()}
        return {"list": list, "tuple": tuple}[form["t"]](nest(item) for item in form["c"])

    # The form is captured: as an argument it would be a nest for the strategy to take apart.
    return attempt(lambda: {"returns": _described(strategy, strategy.run(lambda: nest(body["returns"])))})


def _described(strategy: Strategy, value: Any) -> Any:
    if isinstance(value, dict):
        return {"t": "dict", "c": {key: _described(strategy, item) for key, item in value.items()}}
    if isinstance(value, (list, tuple)):
        return {"t": type(value).__name__, "c": [_described(strategy, item) for item in value]}
    if isinstance(value, DistributedValues):
        return {"kind": type(value).__name__, "values": [host(strategy, one) for one in value.values]}
    kind = "Tensor" if isinstance(value, group_of(strategy).array_types) else "python"
    return {"kind": kind, "values": [host(strategy, value)]}


BUILT: Final[dict[str, Callable[[Body, Strategy], Any]]] = {
    "split": split_case,
    "reduce": _reduce,
    "all_reduce": _all_reduce,
    "run": _run,
    "variable": variable_case,
    "convert": convert_case,
    "autoshard": autoshard_case,
    "input_context": input_context_case,
    "make_dataset_iterator": dataset_iterator_case,
    "make_input_fn_iterator": input_fn_iterator_case,
}
"""The kinds that can be replayed."""
