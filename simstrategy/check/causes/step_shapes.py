"""The steps of several runs, with those parameters alone that all of them hold whole."""

from collections.abc import Sequence

from simstrategy.check.causes.facts import Leaves, StepFacts

__all__ = ["of_one_shape"]

Steps = Sequence[StepFacts]


def of_one_shape(runs: Sequence[Steps]) -> list[Steps]:
    """Returns the runs without the parameters of which the runs, or their replicas, hold parts of other shapes."""
    firsts = [leaves for run in runs[:2] for leaves in run[0].before]
    kept = [number for number in range(len(firsts[0])) if len({leaves[number].shape for leaves in firsts}) == 1]
    if len(kept) == len(firsts[0]):
        return [*runs]

    def picked(values: tuple[Leaves, ...]) -> tuple[Leaves, ...]:
        return tuple(tuple([leaves[number] for number in kept]) for leaves in values)

    return [
        [
            step._replace(
                names=tuple([step.names[number] for number in kept]),
                before=picked(step.before),
                gradients=picked(step.gradients),
                terms=picked(step.terms),
                after=picked(step.after),
                made=picked(step.made),
            )
            for step in run
        ]
        for run in runs
        if kept
    ] or [[] for _ in runs]
