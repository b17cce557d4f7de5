"""What of a script of JAX is compared: what it trains has one form on every number of devices.

A name may also hold a part of a batch, whose shape follows the devices, or what each device keeps for itself.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from simstrategy.check.across import counted
from simstrategy.check.exempt import name_of
from simstrategy_xla.mesh_check.jobs import Found
from simstrategy_xla.mesh_check.running import DIVIDED, FIXED, REFUSED

__all__ = ["NOTHING_KEPT", "compared_names", "left_out", "other_batch", "untried_by", "without"]

Host = np.ndarray[Any, Any]

NOTHING_KEPT: Final = (
    "no name of the script holds arrays of floats that are computed from its value before, as in "
    "params = step(params, batch), and have one shape on every number of devices. Move what the script does into "
    "def program(mesh: jax.sharding.Mesh), and return losses and parameters"
)
"""Why a script may have nothing to compare, and what to do."""
_UNTRIED: Final = {
    DIVIDED: "its sizes are not divided by so many devices",
    FIXED: "its mesh has another number of devices",
    REFUSED: "the script refuses so many devices",
}
"""Why a script does not run with a number of devices, by what to do about it."""
_NAMES_MAX: Final = 8


def left_out(found: Sequence[Found], rows: Collection[str], state: Collection[str]) -> frozenset[str]:
    """Returns the paths of values that are not compared.

    found: of each number of devices. rows: of arrays with a row for each device. state: those that should be equal on
    all devices, or may have to be.
    """
    leaves = [dict(one.contents.leaves) for one in found]
    paths = {path for one in leaves for path in one}
    return frozenset(
        path for path in paths if not _has_one_form(path, leaves, in_rows=path in rows, is_state=path in state)
    )


def _has_one_form(path: str, found: Sequence[Mapping[str, Host]], *, in_rows: bool, is_state: bool) -> bool:
    leaves = [one[path] for one in found if path in one]
    shapes = {leaf.shape[1:] if in_rows else leaf.shape for leaf in leaves}
    if len(leaves) < len(found) or len(shapes) > 1:
        return False
    return not in_rows or is_state or all(len({row.tobytes() for row in leaf}) == 1 for leaf in leaves)


def without(found: Found, left: Collection[str]) -> Found:
    """Returns what a run gave without some of its values, and without the containers that they are in."""
    contents = found.contents
    leaves = [(path, leaf) for path, leaf in contents.leaves if path not in left]
    return found._replace(contents=contents._replace(leaves=leaves, structure=[]))


def untried_by(found: Found) -> str:
    """Returns why a script cannot run with a number of devices, which it did not choose; "" where that is not known."""
    return next((why for advice, why in _UNTRIED.items() if advice in found.notes), "")


def other_batch(one: Found, other: Found, counts: tuple[int, int]) -> str | None:
    """Returns which batch has another size on another number of devices, as a sentence; None where none is known to."""
    for name, size in one.sizes.items():
        there = other.sizes.get(name)
        if there is not None and there != size:
            return f"{name} has {size} elements with {counted(counts[0])}, and {there} with {counted(counts[1])}"
    return None


def compared_names(found: Sequence[Found], left: Collection[str]) -> str:
    """Returns what is compared of a script, and what is not, as sentences for the report."""
    paths = dict.fromkeys(path for one in found for path, _ in one.contents.leaves)
    kept = _named(path for path in paths if path not in left)
    others = [name for name in _named(path for path in paths if path in left) if name not in kept]
    if not kept:
        return ""
    text = f"Compared is what these names hold at the end: {_listed(kept)}."
    return f"{text} Not compared, since its form follows the devices: {_listed(others)}." if others else text


def _named(paths: Iterable[str]) -> list[str]:
    """Returns the names of a script in which paths begin, each once."""
    return [*dict.fromkeys(name_of(path).partition("/")[0] for path in paths)]


def _listed(names: Sequence[str]) -> str:
    return ", ".join([*names[:_NAMES_MAX], *(["…"] if len(names) > _NAMES_MAX else [])])
