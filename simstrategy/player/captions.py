"""What happens at a stop, in plain words, one or two sentences; what it was about in values the views show."""

from collections.abc import Mapping, Sequence
from typing import Final

from simstrategy.errors import ReplicasDisagree
from simstrategy.player.names import name_sentence, plural
from simstrategy.player.stops import BEGINS, ENDS, Event
from simstrategy.trace import Printed, Result, StepParts, SyncPoint, Value, VariableWrite
from simstrategy.trace.recording import HOLDS, OPTIMIZER_STEP

__all__ = ["caption", "label"]

_NAMED_MAX: Final = 6
_TEXT_MAX: Final = 120
_WRITES: Final = {
    "assign": "its components become {}",
    "assign_add": "{} is added to its components",
    "assign_sub": "{} is subtracted from its components",
}
_COMBINED: Final = {
    "SUM": "the sum of the replicas' values",
    **dict.fromkeys(("MEAN", "AVG"), "the mean of the replicas' values"),
}
_CALLS: Final = {
    "all_to_all": "Every replica sends a part of its values to each of the others.",
    "barrier": "The replicas wait until all of them are here.",
    "init_process_group": "The replicas become one group.",
    "monitored_barrier": "The replicas wait until all of them are here.",
    "new_group": "Some replicas become a group of their own.",
    "reduce_scatter": "The values are combined, and every replica gets a part of the result.",
    "scatter": "One replica gives each of them a part of its values.",
    "send": "One replica sends values, and the other receives them.",
    "next": "The next step of the dataset is drawn.",
    "sizes": "The replicas exchange how many rows they have.",
    "merge_call": "The function runs once, outside replica functions, on the values of all replicas.",
    "update": "The function updates the components of the variable.",
    "update_non_slot": "The function updates values that belong to no variable.",
    "compiled": "A compiled program runs; what happens inside it is not recorded.",
    "require_equal": "The values of the replicas are compared: they have to be equal.",
    "broadcast": "Every replica gets the value of one of them.",
    "broadcast_to": "A value is copied to devices.",
    "raised": "A replica function raised an exception.",
}


def label(event: Event) -> str:
    """Returns a few words for a list of events."""
    if isinstance(event, SyncPoint):
        if event.kind == OPTIMIZER_STEP:
            return f"step {event.subject} of the optimizer"
        axis = None if event.axis is None else f"axis={event.axis}"
        # Of a variable its name comes first: the end of a long label is cut off where the list is narrow.
        named = event.kind == "variable" or event.kind in _WRITES
        words = [event.kind, event.subject, event.op] if named else [event.kind, event.op, axis, event.subject]
        return _cut(" ".join(word for word in words if word is not None))
    if isinstance(event, StepParts):
        return f"parts of a step, {sum(count for _, count in event.rows)} rows"
    if isinstance(event, VariableWrite):
        return _cut(event.variable if event.operation == HOLDS else f"{event.operation} {event.variable}")
    if isinstance(event, Printed):
        return _cut(f"print {event.text.strip()!r}")
    return "the program raised" if event.error is not None else "the program returned"


def caption(event: Event, phase: int, *, replicas: int, workers: int, held: Mapping[int, Value] | None = None) -> str:
    """Returns the sentences on a stop.  replicas: of all workers. held: of a name, what replicas hold, by rank."""
    worker = f" of worker {event.worker}" if workers > 1 else ""
    if isinstance(event, SyncPoint):
        return _of_point(event, phase, replicas, worker)
    if isinstance(event, StepParts):
        return _of_parts(event, worker)
    if isinstance(event, VariableWrite):
        return _of_write(event, worker) if held is None else name_sentence(event, _cut(event.variable), held)
    if isinstance(event, Printed):
        who = f"The program{worker}" if event.replica is None else f"Replica {event.replica}"
        return f"{who} prints {_cut(event.text.strip())!r}."
    return _of_result(event, worker)


def _of_write(write: VariableWrite, worker: str) -> str:
    name, by = _cut(write.variable), f"{write.operation}{_at([write.site])}"
    if write.replica is not None:
        return f"Replica {write.replica} writes its component of the variable {name}, by {by}."
    return f"All components{worker} of the variable {name} are written, by {by}."


def _of_point(point: SyncPoint, phase: int, replicas: int, worker: str) -> str:
    what = _cut(" ".join(word for word in (point.kind, point.op) if word is not None))
    if point.error is not None and phase != BEGINS:
        return _failed(point, what)
    if phase == ENDS:
        return _ended(point, what, worker)
    return _begun(point, phase, what, replicas, worker) + (
        "" if point.ended else " The recording stops here, before this has ended."
    )


def _begun(point: SyncPoint, phase: int, what: str, replicas: int, worker: str) -> str:
    where, subject = _at(point.sites), _cut(point.subject or "a function")
    if point.kind == "run":
        return f"The program{worker} calls run: each replica begins {subject}."
    if point.kind == OPTIMIZER_STEP:
        who = _who(point.replicas, replicas).rpartition(" ")[0]
        step = f"step {subject} of {'its' if len(point.replicas) == 1 else 'their'} optimizer{where}"
        return f"{who} made {step}: gradients are what was brought, and the parameters after the step what was got."
    if point.kind == "variable":
        return f"The program{worker} creates the variable {subject}{where}."
    if any(rank is None for rank in point.replicas):
        return f"The program{worker} calls {what}{where}. {_does(point)}"
    if phase == BEGINS and point.kind != "merge_call":
        return f"{_who(point.replicas, replicas)} arrived at {what}{where}. It ends when all workers did."
    return f"{_who(point.replicas, replicas)} made {what}{where}. {_does(point)}"


def _does(point: SyncPoint) -> str:
    """Returns what a call does with the replicas' values."""
    kind, op = point.kind, point.op
    if kind in _CALLS:
        return _CALLS[kind]
    if kind in ("all_gather", "gather"):
        who = "Every replica gets" if kind == "all_gather" else "One replica gets"
        joined = "The values are joined along the axis" if point.axis is not None else f"{who} the values of all"
        return f"{joined}, in the order of the ranks."
    if kind in _WRITES:
        return (
            f"The variable {_cut(point.subject or '')}: {_WRITES[kind].format(_COMBINED.get(op or '', 'the value'))}."
        )
    if kind == "all_reduce" and op in _COMBINED:
        divided = "" if op == "SUM" else ", divided by their number"
        return f"The values are added{divided}, and every replica gets the result."
    if kind == "reduce" and op in _COMBINED:
        return _reduced(op, point.axis)
    return "All replicas take part, and wait for each other." if len(point.replicas) > 1 else ""


def _reduced(op: str | None, axis: int | None) -> str:
    if axis is None:
        return f"The values of all replicas are added{'' if op == 'SUM' else ', and divided by their number'}."
    divided = "" if op == "SUM" else "; the result is divided by the number of all rows"
    return f"Each replica's rows are added along axis {axis}, then these sums{divided}."


def _ended(point: SyncPoint, what: str, worker: str) -> str:
    if point.kind == "run":
        return f"{_cut(point.subject or 'The function')} has returned on every replica{worker}: run ends."
    return f"{what}{worker} has ended, and the replicas continue with its result."


def _failed(point: SyncPoint, what: str) -> str:
    assert point.error is not None
    if point.kind == "raised":
        others = ", so the other replicas cannot make their next call" if len(point.requests) > 1 else ""
        return f"A replica function raised {point.error[0]}{others}."
    if point.requests and point.error[0] == ReplicasDisagree.__name__:
        return f"The replicas do not all make the same call here: {what} ends with {point.error[0]} in every replica."
    others = " Not all replicas had made this call." if point.requests else ""
    return f"{what} ends with {point.error[0]}{_at(point.sites)}.{others}"


def _of_parts(parts: StepParts, worker: str) -> str:
    counts = [count for _, count in parts.rows]
    total = sum(counts)
    rows = f"{total} {plural('row', 'rows', total)}"
    drawn = f"The program{worker} draws a step of {rows} from its dataset{_at([parts.site])}."
    if not counts:
        return drawn
    if len(set(counts)) == 1:
        return f"{drawn} Each replica gets {counts[0]}."
    empty = [rank for rank, count in enumerate(counts) if not count]
    text = f"{drawn} The parts are not equal: {_counted(counts)}."
    return f"{text} {_who(empty, len(counts) + 1)} got no row." if empty else text


def _counted(counts: Sequence[int]) -> str:
    shown = ", ".join(f"replica {rank} gets {count}" for rank, count in enumerate(counts[:_NAMED_MAX]))
    return shown if len(counts) <= _NAMED_MAX else f"{shown}, and so on"


def _of_result(result: Result, worker: str) -> str:
    if result.error is not None:
        return f"The program{worker} ends with {result.error[0]}{_at([result.site])}."
    count = len(result.leaves)
    return f"The program{worker} has returned. It leaves {count} {plural('value', 'values', count)}."


def _who(replicas: Sequence[int | None], count: int) -> str:
    """Returns ranks in words, with `have`."""
    ranks = sorted(rank for rank in replicas if rank is not None)
    if len(ranks) == 1:
        return f"Replica {ranks[0]} has"
    if len(ranks) == count:
        return f"All {count} replicas have"
    if len(ranks) > _NAMED_MAX:
        return f"{len(ranks)} of {count} replicas have"
    return f"Replicas {', '.join(map(str, ranks[:-1]))} and {ranks[-1]} have"


def _at(sites: Sequence[str]) -> str:
    different = list(dict.fromkeys(site for site in sites if site))
    if not different:
        return ""
    if len(different) == 1:
        return f" at {different[0]}"
    more = len(different) - 1
    return f" at {different[0]} and {'another line' if more == 1 else f'{more} other lines'}"


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_MAX else f"{text[:_TEXT_MAX]} …"
