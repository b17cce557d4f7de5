"""What weights mean: sentences on what a step does to its samples.  A cause that they do not prove is not named."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from simstrategy.ledger.weights import Weight

__all__ = ["Parts", "numbers_in_words", "problems_of"]

Parts: TypeAlias = Sequence[Sequence[int]] | None
"""Of each sample the replicas that contribute it; None where that is not known."""


def problems_of(
    rows: Sequence[Sequence[Weight]], extra: Sequence[int], parts: Parts, shares: Sequence[Weight] | None, replicas: int
) -> Iterator[str]:
    """Yields what is wrong with one result, as sentences; nothing where every sample weighs 1.

    rows: the weights on each replica, or one row for all. extra: the samples that have a weight with several replicas
    and none with one. shares: the weights with one replica, in their ratio; None where that is not known.
    """
    if extra:
        yield f"{_samples(extra)} {_counts(extra)} with {replicas} replicas, and not at all with one."
    if any(row != rows[0] for row in rows):
        yield from _differing(rows)
        return
    weights = rows[0]
    lost = [sample for sample, weight in enumerate(weights) if weight == 0]
    left = {sample: weight for sample, weight in enumerate(weights) if weight}
    if lost and not left:
        yield f"All samples are lost: with {replicas} replicas the result does not depend on any of them."
        return
    if lost:
        yield f"{_samples(lost)} {'is' if len(lost) == 1 else 'are'} lost: weight 0.{_missing(parts, replicas)}"
    if parts is not None and _is_per_replica(left, parts):
        cause = _of_means(left, parts, shares, replicas)
        if cause is not None:
            yield cause
            return
    several = {sample for sample in left if parts is not None and len(parts[sample]) > 1}
    if several and len(several) < len(left):
        yield from _repeated(left, sorted(several), parts or ())
        left = {sample: weight for sample, weight in left.items() if sample not in several}
    ones = [Fraction(1)] * len(weights) if shares is None else [share or Fraction() for share in shares]
    is_kept = sum(ones) == sum((weight or 0) * share for weight, share in zip(weights, ones, strict=True))
    if is_kept and (lost or several) and len(set(left.values())) == 1:
        (value,) = set(left.values())
        if value != 1:
            yield f"Every other sample counts {value} times, so that the total is that of one replica."
        return
    yield from _factors(left, replicas, rest=bool(lost or several), shared=len(several) == len(weights))


def _differing(rows: Sequence[Sequence[Weight]]) -> Iterator[str]:
    counted = [[sample for sample, weight in enumerate(row) if weight] for row in rows]
    each = "; ".join(
        f"replica {replica} counts {numbers_in_words(samples) if samples else 'none'}"
        for replica, samples in enumerate(counted)
    )
    if all(set(one).isdisjoint(other) for place, one in enumerate(counted) for other in counted[:place]):
        yield f"The replicas return different results, each of its own samples: a reduction is missing ({each})."
    else:
        yield f"The replicas return different results ({each})."


def _missing(parts: Parts, replicas: int) -> str:
    """Returns a sentence on replicas that contribute nothing."""
    if parts is None:
        return ""
    present = {replica for one in parts for replica in one}
    absent = [replica for replica in range(replicas) if replica not in present]
    if not absent or not present:
        return ""
    names = ", ".join(map(str, absent))
    return f" Replica{'s' if len(absent) > 1 else ''} {names} contribute{'' if len(absent) > 1 else 's'} no sample."


def _is_per_replica(left: dict[int, Fraction], parts: Sequence[Sequence[int]]) -> bool:
    """Returns whether each sample has one replica, and weights differ between replicas and not within."""
    if any(len(parts[sample]) != 1 for sample in left):
        return False
    of: dict[int, Fraction] = {}
    return all(of.setdefault(parts[sample][0], weight) == weight for sample, weight in left.items())


def _of_means(
    left: dict[int, Fraction], parts: Sequence[Sequence[int]], shares: Sequence[Weight] | None, replicas: int
) -> str | None:
    """Returns the sentence on a mean or a sum of means, if the weights are exactly those of one."""
    if shares is None:
        return None
    sizes: dict[int, Fraction] = {}
    for sample in left:
        sizes[parts[sample][0]] = sizes.get(parts[sample][0], Fraction()) + (shares[sample] or 0)
    total = sum(sizes.values(), Fraction())
    means = {weight * sizes[parts[sample][0]] / total for sample, weight in left.items()}
    if len(means) > 1 or len(sizes) < 2:
        return None
    (share,) = means
    uneven = len(set(sizes.values())) > 1
    if share == 1 and uneven:
        return (
            "A sum of means: each replica divides by the number of its own samples, and the results are added up. "
            "Divide by the number of samples of the global batch."
        )
    if share == Fraction(1, replicas) and len(sizes) < replicas and not uneven:
        return (
            f"A mean of means over {replicas} replicas, of which {len(sizes)} have samples. Divide by the number of "
            f"samples of the global batch, and add up."
        )
    if share in (Fraction(1, replicas), Fraction(1, len(sizes))) and uneven:
        return (
            "A mean of means: each replica divides by the number of its own samples, so samples of small parts count "
            "more. Divide by the number of samples of the global batch, and add up."
        )
    return None


def _repeated(left: dict[int, Fraction], several: Sequence[int], parts: Sequence[Sequence[int]]) -> Iterator[str]:
    others = {weight for sample, weight in left.items() if sample not in several}
    base = min(others)
    for weight in sorted({left[sample] for sample in several}):
        these = [sample for sample in several if left[sample] == weight]
        who = " and ".join(map(str, parts[these[0]]))
        times = weight / base
        if times != 1:
            yield (
                f"{_samples(these)} {_counts(these)} {times} times as much as the others: more than one replica has "
                f"{'it' if len(these) == 1 else 'them'} ({_samples(these[:1]).lower()}: replicas {who})."
            )


def _factors(left: dict[int, Fraction], replicas: int, *, rest: bool, shared: bool) -> Iterator[str]:
    """Yields what the other weights are: one factor, or several."""
    values = sorted(set(left.values()))
    who = "Every other sample" if rest else "Every sample"
    if len(values) == 1 and values[0] != 1:
        if shared and values[0] == replicas:
            cause = "every replica contributes all of them, and the results are added up"
        elif values[0] == replicas:
            cause = "a sum over the replicas where a mean is meant, or each divides by its own number of samples"
        elif values[0] == Fraction(1, replicas):
            cause = "the result is divided by the number of replicas once too often"
        elif values[0] in (replicas**2, Fraction(1, replicas**2)):
            cause = "the square of the number of replicas, so it enters twice"
        else:
            cause = f"a factor that is neither {replicas} nor 1/{replicas}; its cause is not recognized"
        yield f"{who} counts {values[0]} times: {cause}."
    elif len(values) > 1:
        usual = 1 if 1 in values else None
        for value in values:
            these = [sample for sample, weight in left.items() if weight == value]
            if value != usual:
                yield f"{_samples(these)} {_counts(these)} {value} times."
        if usual is None:
            yield "The samples do not count alike; the cause is not recognized."


def _samples(samples: Sequence[int]) -> str:
    return f"Sample{'' if len(samples) == 1 else 's'} {numbers_in_words(samples)}"


def _counts(samples: Sequence[int]) -> str:
    return "counts" if len(samples) == 1 else "count"


def numbers_in_words(numbers: Sequence[int]) -> str:
    """Returns ascending numbers in short: runs with a dash, equal steps by their first ones.

    >>> numbers_in_words([0, 1, 2, 3, 7, 9]), numbers_in_words([0, 4, 8, 12, 16])
    ('0–3, 7, 9', '0, 4, … 16')
    """
    steps = {after - before for before, after in pairwise(numbers)}
    if len(numbers) > 3 and len(steps) == 1 and steps != {1}:
        return f"{numbers[0]}, {numbers[1]}, … {numbers[-1]}"
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = [
        str(first) if first == last else f"{first}{'–' if last > first + 1 else ', '}{last}" for first, last in runs
    ]
    return ", ".join(texts) if len(texts) <= 8 else f"{', '.join(texts[:7])}, … {texts[-1]} ({len(numbers)} in all)"
