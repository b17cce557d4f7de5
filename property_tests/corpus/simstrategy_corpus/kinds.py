"""What a finding has to name: the kinds of bugs, each with a pattern of the words that name it, in any case."""

from collections.abc import Mapping

KINDS: Mapping[str, str] = {
    "mean of means": r"means? of means|mean .{0,40}(?:parts?|sizes?|counts?)|unequal (?:parts|counts|sizes)",
    "wrong factor": r"factor|times too (?:large|small)|(?:divided|multiplied|scaled) by|(?:summed|averaged) where",
    "not reduced": (
        r"not (?:reduced|averaged|synchroni[sz]ed)|diverge|(?:differs?|different|not equal) (?:values )?(?:on|between)"
        r"|written by one"
    ),
    "lost part": r"lost|only the last|overwritten|missing (?:part|micro-batch)",
    "clipping by part": r"clip",
    "different calls": (
        r"different collective calls|mismatch between collectives|never (?:make|call)|did not (?:make|call|join)"
        r"|ReplicasDisagree|ReplicasBlocked"
    ),
    "samples": r"(?:samples?|rows?) .{0,30}(?:twice|never|repeated|missing)|duplicat|coverage|same order",
    "same draws": r"same (?:draws|random|numbers|stream)|equal draws|draws",
    "resume": r"resum|restor|checkpoint",
    "schedule": r"learning rate|schedul",
}
