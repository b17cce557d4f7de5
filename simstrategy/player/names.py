"""What a name of a script holds on each replica, and a sentence that states it; no component of a variable."""

from collections.abc import Mapping, Sequence
from typing import Final

from simstrategy.player.components import Components
from simstrategy.player.stops import Event
from simstrategy.player.values import element_text
from simstrategy.trace import Recording, Value, VariableWrite
from simstrategy.trace.recording import HOLDS

__all__ = ["differ", "held_at", "name_sentence", "plural"]

Held = Mapping[int, Value]
"""A value for each rank that has one."""

_ELEMENTS_MAX: Final = 4
_TEXT_MAX: Final = 60
"""Of a value in a sentence; a longer one is shown by the views alone."""
_NAMED_MAX: Final = 6


def held_at(recording: Recording, columns: Sequence[Sequence[int]], events: Sequence[Event]) -> dict[int, Held]:
    """Returns for each event at which a name gets a value what replicas hold under that name then, by its place."""
    components = Components(recording, columns)
    return {
        place: components.write(event)
        for place, event in enumerate(events)
        if isinstance(event, VariableWrite) and event.operation == HOLDS
    }


def differ(held: Held) -> bool:
    """Returns whether replicas hold different values."""
    return len({value.digest for value in held.values()}) > 1


def name_sentence(write: VariableWrite, name: str, held: Held) -> str:
    """Returns what a name holds, in words.  name: as it is shown. held: under that name, after the write."""
    after = f"After {write.site} has run, " if write.site else ""
    if write.replica is not None:
        return f"{after}{_alone(name, write.replica, held)}."
    own = write.after[0]
    if len(write.after) == 1:
        return f"{after}{name} {_is(own, 'has this value')}."
    if not differ(held):
        return f"{after}{name} {_is(own, 'has the same value')} on all replicas."
    groups = _groups(held)
    texts = [_short(held[ranks[0]]) for ranks in groups]
    if None in texts or len(groups) > _NAMED_MAX:
        return f"{after}{name} has a value on each replica, and these are not all equal."
    listed = ", ".join(f"{text} on {_who(ranks)}" for text, ranks in zip(texts, groups, strict=True))
    return f"{after}{name} differs between replicas: it is {listed}."


def _alone(name: str, replica: int, held: Held) -> str:
    """Returns what a name holds on one replica, and what it holds on the others."""
    own = held[replica]
    text = f"{name} {_is(own, 'has this value')} on replica {replica}"
    others = _groups({rank: value for rank, value in held.items() if rank != replica})
    if not others:
        return text
    listed = [f"{_who(ranks)} {plural('has', 'have', len(ranks))} {_other(held[ranks[0]], own)}" for ranks in others]
    more = ", and so on" if len(listed) > _NAMED_MAX else ""
    return f"{text}; {', '.join(listed[:_NAMED_MAX])}{more}"


def _other(value: Value, own: Value) -> str:
    """Returns the value of another replica in words."""
    if value.digest == own.digest:
        return "the same value"
    return _short(value) or "another value"


def _groups(held: Held) -> list[list[int]]:
    """Returns the ranks that hold one value, for each value, in the order of their first ranks."""
    found: dict[str, list[int]] = {}
    for rank, value in sorted(held.items()):
        found.setdefault(value.digest, []).append(rank)
    return [*found.values()]


def _is(value: Value, otherwise: str) -> str:
    text = _short(value)
    return otherwise if text is None else f"is {text}"


def _short(value: Value) -> str | None:
    """Returns a value as a text for a sentence; None where it is too long for one, or not known."""
    if not value.digest or value.array is None or value.array.size > _ELEMENTS_MAX:
        return None
    text = " ".join(element_text(one) for one in value.array.reshape(-1))
    if len(text) > _TEXT_MAX:
        return None
    return f"[{text}]" if value.shape else text


def _who(ranks: Sequence[int]) -> str:
    if len(ranks) > _NAMED_MAX:
        return f"{len(ranks)} replicas"
    shown = " and ".join(one for one in (", ".join(map(str, ranks[:-1])), str(ranks[-1])) if one)
    return f"{plural('replica', 'replicas', len(ranks))} {shown}"


def plural(one: str, many: str, count: int) -> str:
    """Returns the word for a count."""
    return one if count == 1 else many
