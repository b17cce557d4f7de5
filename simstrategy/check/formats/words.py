"""What the words of a report's page mean: the kinds of causes, the columns of its table and what stands in them.

The meaning of a kind is what J-22 to J-27 demand of the numbers; it proves nothing here.
"""

import re
from collections.abc import Iterator
from html import escape
from typing import Final

from simstrategy.check.causes.facts import (
    AGAIN,
    BATCH_GROWS,
    CLIPPING,
    DIVIDED,
    DRAWS,
    DUPLICATED,
    FACTOR,
    FUNCTION,
    LOST,
    MEAN_OF_MEANS,
    MISSING_REDUCTION,
    MISSING_SAMPLES,
    NORMS_AGAIN,
    NOT_RESTORED,
    ONE_REPLICA,
    ORDER,
    OTHER_BATCHES,
    OTHER_CALLS,
    RATE,
    REPEATED,
    ROOT,
    SCALED,
    STATISTICS,
    STEPS_COUNTED,
    SUM_OF_MEANS,
    SUMMED,
)
from simstrategy.check.compare import MARGIN

__all__ = ["COLUMN_MEANINGS", "KIND_MEANINGS", "kinds_in", "linked_kinds", "words_of"]

KIND_MEANINGS: Final = {
    MEAN_OF_MEANS: "Each replica takes the mean over its own part, and these means are averaged. Where the parts have "
    "different sizes, the examples of a small part weigh more.",
    SUM_OF_MEANS: "Each replica takes the mean over its own part, and these means are added where averaging was meant.",
    SUMMED: "Values are added over the replicas where their mean gives the reference's.",
    SCALED: "Values are too large by the number of replicas.",
    DIVIDED: "Values are too small by the number of replicas: there is one division too many.",
    ROOT: "Values differ from the reference's by the square root of the number of replicas.",
    NORMS_AGAIN: "Squared norms that are combined over the replicas already are added over them once more.",
    AGAIN: "What the replicas hold is combined already, in part, and is combined over them once more.",
    STEPS_COUNTED: "Each replica adds to one count of steps, which grows faster by the number of replicas.",
    FACTOR: "All values that differ are one number times the reference's, and that number has no kind of its own.",
    CLIPPING: "Each replica limits its own value (its norm, or the size of its elements) before the values are "
    "combined; the reference limits the combined one.",
    REPEATED: "A term that does not depend on the examples, such as a weight decay, is added on every replica, and the "
    "sum has it once for each of them.",
    STATISTICS: "Means or spreads are those of each replica's own part, as in a normalisation that does not look at "
    "the whole batch. A mean of such spreads is not the spread of all rows.",
    DRAWS: "Random numbers, or the values with which replicas begin, are not those of the reference: the replicas have "
    "others where they need the same, or the same where each needs its own.",
    DUPLICATED: "Some examples are used by several replicas, or several times.",
    MISSING_SAMPLES: "Some examples of the reference are used by no replica.",
    ONE_REPLICA: "The value is that of one replica, and the values of the others do not count; or one replica alone "
    "writes what all of them should have.",
    MISSING_REDUCTION: "Nothing combines the replicas' values where the result depends on all of them, or what does "
    "comes too late.",
    FUNCTION: "A function such as a square or a root is applied to each replica's value before these are combined. The "
    "square of a sum is not the sum of the squares.",
    ORDER: "The elements are the reference's, in other places.",
    OTHER_BATCHES: "A step has other examples than in the reference.",
    BATCH_GROWS: "A step has the examples of several steps of the reference: the batch is larger by the number of "
    "replicas.",
    NOT_RESTORED: "A run that starts again from what was saved sets a value otherwise than it was before.",
    LOST: "Only the last of several values counts, and what the others bring is lost.",
    RATE: "The learning rate of a step is not the reference's.",
    OTHER_CALLS: "Replicas make one collective call for different things.",
}
"""What each of `check.causes.facts.KINDS` means."""

COLUMN_MEANINGS: Final = {
    "law": "What the row demands; the list of the laws has it in words.",
    "backend": "What holds the arrays of the replicas and adds them up; sim is the simulator.",
    "replicas": "How many copies of the computation run. In 3 against 1, a run with 3 is compared with one with 1.",
    "schedule": "The order in which the replicas take their turns; in InOrder() it is that of their numbers. Some laws "
    "have a setting or a planted fault here.",
    "values": "What came of comparing the values that the runs give.",
    "trace": "How many events the run has: one for each call of the program, and of each replica, that reaches the "
    "strategy. Equal stands behind it where the events of two runs were compared and are the same.",
}
"""What each of `check.row.COLUMNS` states."""

_CELLS: Final = {
    "reference": "A run with which others are compared.",
    "rounding moves it": "How far the values move, relative to their size, where the inputs are moved by one ulp: the "
    "distance from a number to the next one that its type has.",
    "equal to the bit": "All values that were compared have the same bits.",
    "agree:": f"The values have other bits, and are no further apart than {MARGIN:g} times what rounding moves them.",
    "DIFFERS": "The law is broken; the first difference is at the top of this page.",
    "FAILED": "The run with which others are compared breaks a law itself, or raised an error.",
    "NOT JUDGED": "There is no verdict on this row; the reason follows.",
    "reference; raises": "The run with which others are compared ended with an error.",
    "raises the same": "The run ended with an error, and the run with which it is compared ended with the same one.",
}
"""What stands in the column of values, by a text that its cell has."""

_ONE: Final = "|".join(map(re.escape, sorted(KIND_MEANINGS, key=len, reverse=True)))
_KINDS: Final = re.compile(rf"(?<=The kind is )(?:{_ONE})(?:, or (?:{_ONE}))*")
_KIND: Final = re.compile(_ONE)


def kinds_in(text: str) -> list[str]:
    """Returns the kinds that the sentences of a cause name.

    >>> kinds_in("The kind is sum of means, or missing reduction: the values are 2 times the mean of means.")
    ['sum of means', 'missing reduction']
    """
    return [kind for found in _KINDS.findall(text) for kind in _KIND.findall(found)]


def linked_kinds(text: str) -> str:
    """Returns HTML in which each kind that a sentence names is a link to its meaning.

    >>> linked_kinds("The kind is lost part.").partition(" title=")[0]
    'The kind is <a class="term" href="#kind-lost-part"'
    """
    return _KINDS.sub(lambda found: _KIND.sub(lambda one: _link(one[0]), found[0]), text)


def words_of(kinds: Iterator[str], cells: Iterator[str]) -> Iterator[tuple[str, str, str]]:
    """Yields the words of a page, each with its place (an id) and its meaning.

    kinds: that the page names. cells: of its column of values.
    """
    for kind in dict.fromkeys(kinds):
        yield kind, _place(kind), KIND_MEANINGS[kind]
    for name, meaning in COLUMN_MEANINGS.items():
        yield name, f"column-{name}", meaning
    texts = [*cells]
    for word, meaning in _CELLS.items():
        if any(word in text for text in texts):
            name = word.rstrip(":")
            yield name, f"cell-{re.sub(r'[^a-z]+', '-', name.lower())}", meaning


def _link(kind: str) -> str:
    return f'<a class="term" href="#{_place(kind)}" title="{escape(KIND_MEANINGS[kind])}">{kind}</a>'


def _place(kind: str) -> str:
    return f"kind-{kind.replace(' ', '-')}"
