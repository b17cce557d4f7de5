"""Where 200 generated datasets end, on the real strategy and on ours: what `ci/run.py deep ends` runs.

python -m pytest backends/tf_distribute/tests/every_end.py
"""

import sys
from collections import Counter

import ends_program
import pytest
from ending import Found, asked, judge

COUNT = 200


@pytest.fixture(scope="module")
def found() -> Found:
    return asked(COUNT)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(COUNT))
def test_each_worker_gets_what_the_real_strategy_gives_it(found: Found, number: int) -> None:
    judge(found, number)


@pytest.mark.slow
def test_the_ends_are_of_all_kinds(found: Found, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints what there was, and fails where a kind of end is missing."""
    cases = [ends_program.drawn(number) for number in range(COUNT)]
    words = Counter(f"{kind} {getattr(case, kind)}" for case in cases for kind in ("source", "policy", "way", "after"))
    for pair in zip(*found.theirs, strict=True):
        words["ends"] += pair[0][-1] == "end"
        words["without an end"] += pair[0][-1] != "end"
        empty = [[str(step).count("[0") > 0 for step in one] for one in pair]
        words["one worker's part is empty"] += any(one != other for one, other in zip(*empty, strict=True))
        words["errors"] += any(isinstance(step, str) and step != "end" for one in pair for step in one)
    with capsys.disabled():
        sys.stdout.write("\n" + ", ".join(f"{word}: {count}" for word, count in sorted(words.items())) + "\n")
    assert all(words[kind] > COUNT // 20 for kind in ("ends", "without an end", "one worker's part is empty"))
