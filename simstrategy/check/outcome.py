"""The outcome of one run of a program: values, variables, error and trace, on the host."""

import hashlib
import io
import tokenize
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.check.callables import function_of
from simstrategy.check.checkpoint import with_checkpoint
from simstrategy.check.contents import Contents, contents_of
from simstrategy.check.distances import is_float, one_unit
from simstrategy.check.prints import WORKER
from simstrategy.check.probe import GroupCallProbe
from simstrategy.check.untyped import untyped_advice
from simstrategy.run import raised_site, raised_where
from simstrategy.short_repr import error_notes, error_text, stable_repr
from simstrategy.strategy import Strategy, group_of
from simstrategy.strategy.group import Group
from simstrategy.strategy.reductions.arithmetic import MEAN_DTYPES
from simstrategy.trace import AnyTrace, Event, Recorder, Site

__all__ = [
    "Outcome",
    "Program",
    "VariableKind",
    "Watch",
    "computed_in",
    "program_folder",
    "program_name",
    "read_after_error",
    "run_program",
    "source_of",
]

Program = Callable[[Strategy], Any]

Watch = Callable[[Group], None]
"""Attaches to a group what watches a run."""

_PART_DTYPES: Final = {"complex64": "float32", "complex128": "float64"}
"""The dtype of both parts of a complex number."""


class VariableKind(NamedTuple):
    """How the components of a variable give its value.

    path: of the components' leaves, without the replica. layout, cross_read: of its policy
    (`strategy/variables/policies.py`). aggregation: the name of it.
    """

    path: str
    layout: str
    cross_read: str
    aggregation: str


class Outcome(NamedTuple):
    """leaves: path and value of every array returned and of every variable's components, in order.

    After an error they are the variables'. A value that is not a number is kept as its text. error: class name, and
    message without addresses.
    """

    leaves: tuple[tuple[str, np.ndarray[Any, Any]], ...]
    error: tuple[str, str] | None
    events: tuple[Event, ...]
    notes: tuple[str, ...] = ()
    """Where the error was raised, and which replicas were waiting."""
    not_finite: str | None = None
    """The first value that is not finite, in words: one that entered a collective or a `reduce`, or, of a program whose
    collectives are not observed in every run, one that it returns.  None where all are, or none was looked at."""
    wrong_call: str | None = None
    """The first group-call whose result does not follow from the values that entered it, in words."""
    structure: tuple[tuple[str, str], ...] = ()
    """Path and description of every container in the result: its type, and its length, keys or attributes."""
    computed: tuple[str, ...] = ()
    """The dtype in which each leaf was computed (`computed_in`); () stands for the leaves' own."""
    written_alone: tuple[str, ...] = ()
    """The paths of components that a replica writes at any time, without the others."""
    exempt: tuple[tuple[str, str], ...] = ()
    """Path and reason of every value that the program exempts from the laws."""
    variables: tuple[VariableKind, ...] = ()
    """Of each variable, how its components give its value."""
    floats_put: bool = True
    """Whether the program put floats on a device, so that nudged runs show how far rounding moves its results."""
    seeds: tuple[str, ...] = ()
    """The labels of the seeds that replicas drew: another one for each replica."""
    resolutions: tuple[tuple[str, float], ...] = ()
    """Path of every value that was read from a text, and how far two such values are apart at least."""
    partly: tuple[tuple[str, str], ...] = ()
    """Path and reason of what is compared by a name or a text that is not the whole of it (`check/contents.py`)."""
    missing: tuple[tuple[str, str], ...] = ()
    """Path and reason of values that the program had and that are not known: no other run's value is compared."""
    unsettled: tuple[tuple[str, str], ...] = ()
    """Path and reason of values that are not equal on all replicas, of which it is not known whether they should be."""
    named: frozenset[str] = frozenset()
    """The paths of values that the program names to have them compared."""
    untried: str = ""
    """Why a script cannot run with this number of replicas, in few words; "" where it can, or where it is a mistake."""


def program_folder(program: Program) -> str:
    """Returns the folder of a program's file, to which call sites are written relative."""
    function = function_of(program)
    return "" if function is None else str(Path(function.__code__.co_filename).parent)


def program_name(program: Program) -> str:
    """Returns the name of a program's file, for reports."""
    function = function_of(program)
    return stable_repr(program) if function is None else Path(function.__code__.co_filename).name


def source_of(program: Program) -> dict[str, str]:
    """Returns the name, SHA-256 and text of a program's file, for the header of a recording; {} without a file."""
    function = function_of(program)
    file = None if function is None else Path(function.__code__.co_filename)
    if file is None or not file.is_file():
        return {}
    source = file.read_bytes()
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    except SyntaxError:  # of bytes that are no UTF-8, without a line that states what they are
        encoding = "utf-8"
    text = io.TextIOWrapper(io.BytesIO(source), encoding, errors="replace").read()
    return {"file": file.name, "sha256": hashlib.sha256(source).hexdigest(), "text": text}


def run_program(
    program: Program,
    strategy: Strategy,
    trace: AnyTrace,
    *,
    probe: GroupCallProbe | None = None,
    watch: Watch | None = None,
) -> Outcome:
    """Runs `program(strategy)` and returns its outcome.  An exception is an outcome too, but for KeyboardInterrupt.

    probe: the strategy's backend, where it is one that looks for values that are not finite. watch: called with
    the group before the program, to attach what watches.
    """
    group = _begun(strategy, probe, watch)
    raised: tuple[str, str] | None = None
    notes: tuple[str, ...] = ()
    site: Site | None = None
    found = Contents.none()
    try:
        result = with_checkpoint(program)(strategy)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - compared like a value: both may raise the same
        group.coordinator.disconnect(error)
        raised = (type(error).__name__, error_text(error))
        notes = _notes_of(program, error)
        site = raised_site(error)
    else:
        found = contents_of(result, group.backend.get, group.array_types, group.frontend.unwrap)
    kinds, written_alone = _read_variables(group, found, after_error=raised is not None)
    if isinstance(trace, Recorder):
        trace.ended(group.coordinator.worker, found.leaves, raised, site=site)
    events = tuple(trace.events(worker=group.coordinator.worker))
    return Outcome(
        tuple(found.leaves),
        raised,
        events,
        notes,
        probe.found if probe else None,
        probe.wrong if probe else None,
        tuple(found.structure),
        computed_in(found, events, probe.dtypes if probe else ()),
        tuple(written_alone),
        tuple(found.exempt),
        tuple(kinds),
        probe is None or any(dtype.startswith(("float", "bfloat", "complex")) for dtype in probe.dtypes),
        group.seeds.labels,
        partly=tuple(found.partly),
    )


def _notes_of(program: Program, error: BaseException) -> tuple[str, ...]:
    where, notes = raised_where(error, with_text=False), error_notes(error)
    notes = notes if any(where in note for note in notes) else (*notes, where)
    advice = untyped_advice(program, error_text(error))
    return notes if advice is None else (*notes, advice)


def _begun(strategy: Strategy, probe: GroupCallProbe | None, watch: Watch | None) -> Group:
    """Returns the group of a strategy whose program begins."""
    group = group_of(strategy)
    if watch is not None:
        watch(group)
    if probe is not None:
        group.reductions.probe = probe.watch
    WORKER.set(group.coordinator.worker)
    return group


def _read_variables(group: Group, found: Contents, *, after_error: bool) -> tuple[list[VariableKind], list[str]]:
    """Adds the components of all variables to the leaves; returns their kinds, and what replicas write alone."""
    kinds, written_alone = [], []
    read = partial(read_after_error, group.backend.get) if after_error else group.backend.get
    for number, variable in enumerate(group.variables.created):
        policy = variable.state.policy
        label = f"variable {number} {variable.name!r}"
        kinds.append(VariableKind(label, policy.layout, policy.cross_read, variable.aggregation.name))
        # A variable that the replicas share has one component, for the first of them.
        for rank, component in zip(group.coordinator.ranks, variable.components, strict=False):
            path = f"{label}, replica {rank}"
            found.leaves.append((path, read(component)))
            if policy.replica_write == "component":
                written_alone.append(path)
    return kinds, written_alone


def read_after_error(get: Callable[[Any], np.ndarray[Any, Any]], component: Any) -> np.ndarray[Any, Any]:
    """Returns a component's value […]; a text where an error has left none, as while a graph was traced."""
    try:
        return get(component)
    except Exception as error:  # noqa: BLE001 - of any framework; it is compared like a value
        return np.asarray(f"cannot be read: {type(error).__name__}")


def computed_in(found: Contents, events: Iterable[Event], put: Iterable[str]) -> tuple[str, ...]:
    """Returns the dtype in which each leaf was computed: for arrays of the backend, their own.

    Numbers and arrays of the host may be wider than what they come from: `float(loss)` has 64 bits. They are as precise
    as the narrowest floats that the program used: in requests, variables, results, and in what was put on a device
    (`put`). Where it used none, values that float32 represents exactly are float32.
    """
    on_host = frozenset(found.on_host)
    used = [leaf.dtype.name for path, leaf in found.leaves if path not in on_host]
    for event in events:
        used += [MEAN_DTYPES.get(dtype, dtype) if event.op == "MEAN" else dtype for dtype in event.dtypes]
    used += put
    units = [_PART_DTYPES.get(dtype, dtype) for dtype in used if dtype.startswith(("float", "bfloat", "complex"))]
    narrowest = max(units, key=one_unit, default=None)
    return tuple([_computed_in(leaf, narrowest if path in on_host else leaf.dtype.name) for path, leaf in found.leaves])


def _computed_in(leaf: np.ndarray[Any, Any], narrowest: str | None) -> str:
    own: str = _PART_DTYPES.get(leaf.dtype.name, leaf.dtype.name)
    if not is_float(leaf):
        return own
    if narrowest is None:
        with np.errstate(all="ignore"):
            narrow = leaf.astype(np.complex64 if leaf.dtype.kind == "c" else np.float32)
        narrowest = "float32" if np.array_equal(narrow.astype(leaf.dtype), leaf, equal_nan=True) else own
    part: str = _PART_DTYPES.get(narrowest, narrowest)
    return max(own, part, key=one_unit)
