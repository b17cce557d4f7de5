"""What limits what agreement states: replicas that exchange nothing, and steps that change nothing."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from simstrategy.check.causes.wording import listed
from simstrategy.check.scripts.facts import Host, ScriptRun, bits_equal

__all__ = ["remarks_on"]


def remarks_on(runs: Mapping[int, ScriptRun]) -> Iterator[str]:
    """Yields sentences on the first run of each number of replicas.  Clauses: G-110, G-111."""
    whole = {count: run for count, run in runs.items() if run.error is None and run.values}
    apart = [count for count, run in whole.items() if count > 1 and not run.is_joint]
    if apart:
        yield (
            f"With {listed(apart)} replicas these exchange no values: each works alone, so agreement states "
            f"nothing of distributed training."
        )
    still = [count for count, run in whole.items() if _is_still(run)]
    if still:
        yield (
            f"With {listed(still)} {'replicas' if still != [1] else 'replica'} no step changes a parameter, so "
            f"agreement states little. Is the loss constant, or the learning rate 0? Or does the optimizer have others "
            f"than the model, such as those that it had before fully_shard?"
        )


def _is_still(run: ScriptRun) -> bool:
    """Returns whether the run has stepped parameters, and each has the bits that it began with after every step."""
    found: dict[str, list[Host]] = defaultdict(list)
    for value in run.values:
        if value.is_state:
            found[value.name].extend(value.copies[:1])
    return bool(found) and all(len(copies) > 1 and bits_equal(copies) for copies in found.values())
