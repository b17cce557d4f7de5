"""What limits what agreement states: replicas that exchange nothing, and steps that change nothing."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from simstrategy.check.causes.wording import listed
from simstrategy.check.scripts.facts import Host, ScriptRun, bits_equal

__all__ = ["empty_agreement", "remarks_on"]

_APART: Final = (
    "the replicas exchange no values: each trains alone, so that its results agree states nothing of distributed "
    "training. Is the model wrapped, and its process group that of all ranks? A script that exchanges on GPUs alone "
    "takes --device cpu-for-cuda"
)

_STILL: Final = (
    "Is the loss constant, or the learning rate 0? Or does the optimizer have others than the model, such as those "
    "that it had before fully_shard?"
)


def empty_agreement(runs: Mapping[int, ScriptRun], *, has_output: bool) -> tuple[str, str] | None:
    """Returns why it states nothing that two runs agree, in few words and as a text; None where it states something.

    runs: by the number of replicas. has_output: whether printed numbers are compared. Clauses: G-110, G-111.
    """
    if any(count > 1 and _is_apart(run) and _is_trained(run) for count, run in runs.items()):
        return "nothing exchanged", _APART
    if not has_output and all(_is_still(run) and _is_state_alone(run) for run in runs.values()):
        return "nothing changes", f"no step changes a parameter, and nothing else is compared. {_STILL}"
    return None


def remarks_on(runs: Mapping[int, ScriptRun]) -> Iterator[str]:
    """Yields sentences on the first run of each number of replicas.  Clauses: G-110, G-111."""
    whole = {count: run for count, run in runs.items() if run.error is None and run.values}
    apart = [count for count, run in whole.items() if count > 1 and _is_apart(run) and not _is_trained(run)]
    if apart:
        yield (
            f"With {listed(apart)} replicas these exchange no values: each works alone, so agreement states "
            f"nothing of distributed training."
        )
    still = [count for count, run in whole.items() if _is_still(run)]
    if still:
        word = "replicas" if still != [1] else "replica"
        yield f"With {listed(still)} {word} no step changes a parameter, so agreement states little. {_STILL}"


def _is_apart(run: ScriptRun) -> bool:
    return run.error is None and not run.is_joint


def _is_trained(run: ScriptRun) -> bool:
    return any(value.is_state for value in run.values)


def _is_state_alone(run: ScriptRun) -> bool:
    return run.error is None and all(value.is_state for value in run.values)


def _is_still(run: ScriptRun) -> bool:
    """Returns whether the run has stepped parameters, and each has the bits that it began with after every step."""
    found: dict[str, list[Host]] = defaultdict(list)
    for value in run.values:
        if value.is_state:
            found[value.name].extend(value.copies[:1])
    return bool(found) and all(len(copies) > 1 and bits_equal(copies) for copies in found.values())
