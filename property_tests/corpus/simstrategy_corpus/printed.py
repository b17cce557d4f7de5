"""What programs print for a comparison: lines of a name and numbers.

result NAME NUMBERS      what all runs should agree on; rank 0 prints it
rank R NAME NUMBERS      what one rank has
epoch E NAME NUMBERS     what belongs to one epoch
"""

import math
import re
from collections.abc import Mapping, Sequence

SAME = 1e-4
"""Lines within this distance are equal: float32, and sums in another order."""
OTHER = 1e-2
"""Lines beyond this distance are different for certain."""
_LINE = re.compile(r"^(result|rank|epoch) (?:(\d+) )?(\S+) (.+)$", re.MULTILINE)


def lines_of(text: str, word: str) -> dict[str, dict[int, tuple[str, ...]]]:
    """Returns the lines that begin with a word: the numbers as texts, by name and by rank or epoch.

    A name that is printed twice keeps the numbers of both lines.
    """
    found: dict[str, dict[int, tuple[str, ...]]] = {}
    for line in _LINE.finditer(text):
        if line[1] == word:
            by_number, number = found.setdefault(line[3], {}), int(line[2] or 0)
            by_number[number] = (*by_number.get(number, ()), *line[4].split())
    return found


def distance(one: Sequence[str], other: Sequence[str]) -> float:
    """Returns the largest difference of two lines relative to their largest number; inf where they cannot be compared.

    >>> distance(["2.0", "4.0"], ["2.0", "5.0"])
    0.2
    """
    if len(one) != len(other):
        return math.inf
    pairs = [(_number(first), _number(second)) for first, second in zip(one, other, strict=True)]
    if any(first is None or second is None for first, second in pairs):
        return 0.0 if list(one) == list(other) else math.inf
    numbers = [(first, second) for first, second in pairs if first is not None and second is not None]
    if any(math.isfinite(first) != math.isfinite(second) for first, second in numbers):
        return math.inf
    finite = [pair for pair in numbers if math.isfinite(pair[0])]
    largest = max((abs(number) for pair in finite for number in pair), default=0.0)
    return max((abs(first - second) / largest for first, second in finite if largest), default=0.0)


def largest_distance(those: Sequence[Mapping[str, Sequence[str]]]) -> float:
    """Returns how far the first of several sets of lines is from the others; inf where the names differ."""
    first, *others = those
    if any(first.keys() != other.keys() for other in others):
        return math.inf
    return max((distance(first[name], other[name]) for other in others for name in first), default=0.0)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
