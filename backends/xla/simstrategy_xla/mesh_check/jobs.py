"""What a check gives a process with host devices to do, and what that process returns.  Plain data, without JAX."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.check.contents import Contents
from simstrategy.digests import blake2b
from simstrategy.trace import Event, value_digest

__all__ = [
    "TAKING",
    "Answer",
    "Found",
    "Job",
    "Moment",
    "Record",
    "Run",
    "Saved",
    "Shard",
    "Site",
    "Spread",
    "digest_of",
]

Host = np.ndarray[Any, Any]

TAKING: Final = frozenset({"dynamic_slice", "gather", "slice", "squeeze"})
"""Operations by which a device takes rows of an array of its own: their results are recorded in a `shard_map`."""


class Run(NamedTuple):
    """How a program is run once.

    arguments: beside the mesh. order: the devices of the mesh, by number. nudge: a pattern by which results move by one
    ulp; None for none. saved: the bytes of a save with which a program that takes a checkpoint begins. sums: whether a
    nudge also moves what rounding leaves of terms that cancel. zeros: whether it also moves what they leave exactly.
    watched: what is recorded: the values of collectives and of shard_maps ("calls"), of all lines as well ("lines"), or
    nothing (""). Runs of one job that are watched are the first ones, and all in one way. known: what an earlier run
    gave, as its `digest_of`, or b"": where the run before this one in its process gave the same, this one is not made,
    and what that one gave stands for it, without its record.
    """

    arguments: dict[str, Any]
    order: tuple[int, ...]
    nudge: int | None = None
    saved: bytes | None = None
    sums: bool = False
    zeros: bool = False
    watched: str = ""
    known: bytes = b""


class Job(NamedTuple):
    """Runs of one function of one file, in one process, on one number of devices.

    axes: the names of the mesh's axes; the first one has all devices. arguments: of a script.
    """

    file: str
    function: str
    axes: tuple[str, ...]
    replicas: int
    runs: tuple[Run, ...]
    arguments: tuple[str, ...] = ()


class Saved(NamedTuple):
    """What a run left in its checkpoint; fields as of `simstrategy.check.checkpoint.Checkpoint`."""

    saved: dict[int, bytes]
    saves: int
    restored: bool


class Site(NamedTuple):
    """A place in a compiled program whose values are recorded: a call of a collective, or a part of a shard_map.

    number: places count in the order of the program. module: the compiled program. kind, op: as of a recorded point;
    "enter" and "leave" for what the function of a shard_map receives and returns. place: file and line, as in
    ``train.py:31``. in_loop: whether it is in a loop of the compiled program. devices: how many run it. inputs: how
    many of its values are inputs; the others are outputs. own: whether they are a line's results in a shard_map, where
    each device computes its own. names: of all values, where they have any. cut: along which axis they are cut into
    parts, one for each device; None for a value that is the same on all. by_pmap: whether the shard_map is one of
    `jax.pmap`. transposed: whether differentiation made it of a call of the program. called: its line in a
    function of a library that the program's line calls, so that each moment has a place of its own; "" otherwise.
    added: as `partaking.added_up` gives it, of what a function of `jax.pmap` receives; () of others. block: a number
    of the function or loop's body of compiled code that it stands in. reaches: of a collective in a shard_map, the
    numbers of the results that are computed from it; None where it is not known. drawn: of a line's results, whether
    random numbers enter them; None where it is not known.
    """

    number: int
    module: int
    kind: str
    op: str | None
    place: str
    in_loop: bool
    devices: int
    inputs: int
    own: bool = False
    names: tuple[str, ...] = ()
    cut: tuple[int | None, ...] = ()
    by_pmap: bool = False
    transposed: bool = False
    called: str = ""
    added: tuple[frozenset[int] | None, ...] = ()
    block: int = 0
    reaches: frozenset[int] | None = None
    drawn: bool | None = None


class Moment(NamedTuple):
    """The values of one site on one device, once.

    values: […]; None for one that is too large. place: the line of the program that ran, where the site is in a
    function that any line calls.
    """

    site: int
    device: int
    values: tuple[Host | None, ...]
    place: str | None = None


class Record(NamedTuple):
    """What was recorded of a run: its sites, and their moments in the order of time."""

    sites: tuple[Site, ...]
    moments: tuple[Moment, ...]


class Shard(NamedTuple):
    """What one device has of an array.  device: its place in the mesh. part: which part of the array data […] is."""

    device: int
    part: tuple[slice, ...]
    data: Host


class Spread(NamedTuple):
    """What one process has of an array whose devices belong to several processes."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    shards: tuple[Shard, ...]


class Found(NamedTuple):
    """What one run gave.

    copies: of arrays of which several devices have one value: path and number of the copies. unequal: the copies […] of
    those that are not equal. by_device: paths of arrays with a row for each device. error, notes, events: as of an
    `Outcome`. dtypes: that its compiled programs compute with. printed: what it printed. spread: arrays of which other
    processes have parts or copies; in `contents` an empty array stands for each. sizes: of a script, how many elements
    the arrays have that calls in its loops take, by name. draws: the lines at which each of several devices draws.
    """

    contents: Contents
    copies: dict[str, int]
    unequal: dict[str, tuple[Host, ...]]
    by_device: frozenset[str]
    error: tuple[str, str] | None
    notes: tuple[str, ...]
    events: tuple[Event, ...]
    dtypes: tuple[str, ...]
    printed: str
    saved: Saved | None
    record: Record | None
    spread: Mapping[str, Spread] = {}
    sizes: Mapping[str, int] = {}
    draws: tuple[str, ...] = ()


class Answer(NamedTuple):
    """What a job gave: its runs; or why the program could not be loaded, or its result not be read, as a sentence.

    is_kept: whether a later run that compiles its functions anew could use some that the program keeps compiled.
    """

    runs: tuple[Found, ...]
    refused: str | None = None
    is_kept: bool = False


def digest_of(found: Found) -> bytes:
    """Returns 16 bytes, equal for runs that gave the same, whatever was recorded of them.

    >>> one = Found(Contents.none(), {}, {}, frozenset(), None, (), (), (), "a line", None, None)
    >>> digest_of(one) == digest_of(one._replace(record=Record((), ())))
    True
    >>> digest_of(one) == digest_of(one._replace(printed="another line"))
    False
    """
    digest = blake2b(digest_size=16)
    for part in _parts_of(found._replace(record=None)):
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()


def _parts_of(value: Any) -> Iterator[bytes]:
    """Yields what a nest of plain data is made of, in an order that is the same in every process."""
    if isinstance(value, np.ndarray):
        yield value_digest(value).encode()
    elif isinstance(value, bytes):
        yield value
    elif isinstance(value, tuple | list | frozenset | Mapping):
        items = list(value.items()) if isinstance(value, Mapping) else value
        ordered = sorted(items) if isinstance(items, frozenset) else items
        yield f"{type(value).__name__} of {len(ordered)}".encode()
        for one in ordered:
            yield from _parts_of(one)
    else:
        yield repr(value).encode("utf-8", "backslashreplace")
