"""Compares the arrays and objects that the functions of replicas hold: only the first replica's function is called.

What is certain to differ is a disagreement before: see `functions.py`. Values that belong to one replica are passed as
arguments; where a function holds them instead, the other replicas' are lost, and that is a warning.
"""

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from simstrategy.digests import blake2b
from simstrategy.errors import CannotCompile, FunctionsDiffer, InvalidType, Unsupported
from simstrategy.run.calls import Sizes
from simstrategy.run.captured import Host, differences
from simstrategy.run.coordinator import Coordinator
from simstrategy.run.functions import held_parts, hold_the_same
from simstrategy.trace import Site, describe_site

__all__ = ["compare_held", "held_print"]


def compare_held(
    coordinator: Coordinator, functions: Sequence[Callable[..., Any]], sizes: Sizes, call: str, site: Site
) -> None:
    """Warns once per call site where functions hold other values than the first one; raises where checks are strict.

    functions: of the local replicas, equal by `function_key`; one, where no replica runs. sizes: `held_print` of every
    rank, where the group spans processes. Nothing is compared without checks.
    """
    first = functions[0]
    if not coordinator.checks or (
        (not sizes or len(set(sizes)) == 1) and all(map(hold_the_same, functions, repeat(first)))
    ):
        return
    key = (call, describe_site(site))
    if coordinator.has_warned(key):
        return
    host = _host_of(coordinator)
    for rank, function in zip(coordinator.ranks, functions, strict=False):
        found = None if hold_the_same(first, function) else next(differences(first, function, host), None)
        if found is not None:
            _report(coordinator, key, f"replicas {coordinator.ranks[0]} and {rank}", f", {found}", site)
            return
    others = [rank for rank, one in enumerate(sizes) if one != sizes[0]]
    if others:
        _report(coordinator, key, f"replicas 0 and {others[0]}", "", site)


def _report(coordinator: Coordinator, key: tuple[str, str], who: str, found: str, site: Site) -> None:
    call, where = key
    text = (
        f"{call} at {where}: the functions of {who} hold other values{found}, and only the first replica's function is "
        f"called. Pass values that belong to one replica as arguments: {call}(function, args=(value,))"
    )
    coordinator.warn_once(key, FunctionsDiffer, text, site)


def _host_of(coordinator: Coordinator) -> Host:
    backend = coordinator.backend

    def host(value: Any) -> np.ndarray[Any, Any] | None:
        if isinstance(value, np.ndarray) and not isinstance(value, backend.array_types):
            return value
        if not isinstance(value, backend.array_types):
            return None
        try:
            return backend.get(value)
        except (CannotCompile, InvalidType, Unsupported):  # while a framework traces: there is nothing to compare yet
            return np.zeros(0)

    return host


def held_print(coordinator: Coordinator, function: Callable[..., Any]) -> int:
    """Returns a number that is equal in processes whose functions hold equal arrays, directly or in containers."""
    host, digest = _host_of(coordinator), blake2b(digest_size=7)
    for _, value, _ in held_parts(function):
        array = host(value)
        if array is not None:
            digest.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return int.from_bytes(digest.digest(), "little")
