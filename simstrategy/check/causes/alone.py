"""What some replicas write and others do not: parameters with which they begin, the state of an optimizer."""

from collections.abc import Sequence

from xxhash import xxh3_64_hexdigest

from simstrategy.check.causes.facts import ONE_REPLICA, Finding, Host, StepFacts
from simstrategy.check.causes.held import Change, Traced, is_near

__all__ = ["begun_alone", "with_state_given_alone", "written_at"]

_REMEDY = "Let all replicas do the same, or broadcast what one of them has"


def begun_alone(traced: Traced, step: StepFacts) -> Finding | None:
    """Returns which line of some replicas gives a step parameters that others have otherwise; None for no such line.

    It has written, on each replica that runs it, what a parameter has when the step begins.  Clause: G-101.
    """
    if len(traced.changes) != len(step.before) or len(step.before) < 2:
        return None
    for number, name in enumerate(step.names):
        values = [leaves[number] for leaves in step.before]
        if all(is_near(values[0], one) for one in values[1:]):
            continue
        for site in dict.fromkeys(one.site for changes in traced.changes for one in changes if _is_before(one, step)):
            found = _alone(traced, step, site, values)
            if found:
                return _finding(found, len(values), site, f"it sets {name!r}, with which the step begins there")
    return None


def with_state_given_alone(finding: Finding, traced: Traced, step: StepFacts) -> Finding:
    """Returns a finding with the line of some replicas that gives an optimizer another state before a step, if any.

    Others do not run that line. It proves no kind.  Clause: G-101.
    """
    sites = [[one.site for one in changes if _is_before(one, step) and one.is_state] for changes in traced.changes]
    for site in dict.fromkeys(site for found in sites for site in found):
        ranks = [rank for rank, found in enumerate(sites) if site in found]
        if len(ranks) < len(sites):
            given = _finding(ranks, len(sites), site, "it gives an optimizer another state, as one that is loaded")
            return given._replace(kind=None, reason=f"{finding.reason}, and {given.reason}")
    return finding


def written_at(traced: Traced, step: StepFacts) -> str | None:
    """Returns the line that has written, after a step, what a parameter has before the next one; None if unknown.

    Clause: G-93.
    """
    for rank, (made, after) in enumerate(zip(step.made, step.after, strict=False)):
        for one, other in zip(made, after, strict=True):
            if rank < len(traced.changes) and one.tobytes() != other.tobytes():
                digest = xxh3_64_hexdigest(other.tobytes())
                later = [each for each in traced.changes[rank] if each.step > step.number]
                found = next((each.site for each in later if digest in each.digests), None)
                if found is not None:
                    return found
    return None


def _alone(traced: Traced, step: StepFacts, site: str, values: Sequence[Host]) -> list[int]:
    """Returns the replicas whose line has written last what they begin with, where others have not run that line."""
    ranks = []
    for rank, changes in enumerate(traced.changes):
        digest = xxh3_64_hexdigest(values[rank].tobytes())
        before = [one for one in changes if _is_before(one, step)]
        here = [one for one in before if one.site == site and not one.is_state]
        last = next((one for one in reversed(before) if digest in one.digests), None)
        if here and (last is None or last.site != site):
            return []
        ranks += [rank] if here else []
    return ranks if len(ranks) < len(values) else []


def _is_before(one: Change, step: StepFacts) -> bool:
    return one.step <= step.number


def _finding(ranks: Sequence[int], count: int, site: str, what: str) -> Finding:
    kind = ONE_REPLICA if len(ranks) == 1 and count > 1 else None
    verb = "alone runs" if len(ranks) == 1 else "alone run"
    listed = f"replica{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"
    return Finding(kind, f"{listed} {verb} {site}: {what}", _REMEDY, source=site)
