"""Makes an outcome of a script's run, so that the laws compare it like that of any program."""

import re
from typing import Any

import numpy as np

from simstrategy.check.meaning import COPIES
from simstrategy.check.outcome import Outcome, VariableKind
from simstrategy.check.scripts.facts import ScriptRun
from simstrategy.check.scripts.printed import numbers_in

__all__ = ["begins", "outcome_of"]


def outcome_of(run: ScriptRun, pattern: "re.Pattern[str] | None") -> Outcome:
    """Returns a run as an outcome.  pattern: of the lines of its output whose numbers are compared; None for none."""
    leaves: list[tuple[str, np.ndarray[Any, Any]]] = []
    computed, kinds, resolutions = [], [], []
    for value in run.values:
        paths = [value.path]
        if value.is_state:
            kinds.append(VariableKind(value.path, COPIES, "", "NONE"))
        if len(value.copies) > 1:
            paths = [f"{value.path} of local replica {rank}" for rank in range(len(value.copies))]
        leaves += zip(paths, value.copies, strict=True)
        computed += [value.computed] * len(paths)
    for one in () if pattern is None else numbers_in(run.output, pattern):
        leaves.append((one.path, one.value))
        computed.append("float32" if one.value.dtype.kind == "f" else one.value.dtype.name)
        resolutions.append((one.path, one.resolution))
    return Outcome(
        tuple(leaves),
        run.error,
        (),
        computed=tuple(computed),
        variables=tuple(kinds),
        floats_put=run.nudged,
        resolutions=tuple(resolutions),
        seeds=run.draws,
        missing=run.missing,
        named=frozenset(value.path for value in run.values if not value.is_state),
    )


def begins(run: ScriptRun) -> dict[str, list[bytes]]:
    """Returns with what parameters begin, by path."""
    return {value.path: [copy.tobytes() for copy in value.copies] for value in run.values if value.begins}
