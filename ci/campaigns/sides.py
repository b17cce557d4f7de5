"""The two sides of each campaign: what runs a program, and what becomes of it.  Draws nothing and counts nothing.

A side is a function from a program to what was observed. Backends are opened once for each number of replicas and
used again, in one process; a program is never shown more than one side's objects.
"""

import warnings
from typing import Any, NamedTuple

import numpy as np

import simstrategy as ss
from simstrategy.errors import TENSORFLOW_ERRORS
from simstrategy.strategy import programs_of
from simstrategy_conformance.observe import Observed, difference, host, observe
from simstrategy_conformance.oracle import Each
from simstrategy_conformance.profiles import Profile
from simstrategy_conformance.script import function_of
from simstrategy_conformance.subject import Subject


class Pair(NamedTuple):
    """What is compared.  left and right: names of sides.  rules: of the grammar.

    traces, messages: whether they are compared, as between backends they are; errors are by their class.
    compiled: whether one side compiles its steps: what replicas return as one object then comes back as one for
    each (P-2). rounds: whether means may be rounded otherwise there (P-1).
    """

    left: str
    right: str
    rules: dict[str, Any]
    replicas_max: int = 8
    traces: bool = True
    messages: bool = True
    compiled: bool = False
    rounds: bool = False


_TF2 = {"profiles": ("TF2",), "workers_max": 1}
_WITNESS_BODY = (
    *("all_reduce", "all_reduce", "all_reduce", "merge", "merge", "all_gather", "all_gather"),
    *("write", "write", "write", "read", "compute", "give", "share", "look"),
)
_COMPILED_BODY = (
    *("all_reduce", "all_reduce", "all_reduce", "all_gather", "merge", "write", "write", "write"),
    *("read", "compute", "give"),
)
_COMPILED = Pair(
    "xla by lanes",
    "xla compiled",
    {**_TF2, "body": _COMPILED_BODY, "draws": False, "stops": False, "sizes": (2,), "merges": ("sum", "mean")},
    replicas_max=4,
    traces=False,
    messages=False,
    compiled=True,
    rounds=True,
)
PAIRS = {
    "tensorflow": Pair("sim", "tensorflow", _TF2),
    "template": Pair("sim", "template", {}),
    "witness": Pair(
        "sim",
        "tf.distribute.MirroredStrategy",
        {**_TF2, "body": _WITNESS_BODY, "draws": False},  # TensorFlow has no seeds of replicas, and no schedule
        replicas_max=4,
        traces=False,
        messages=False,
    ),
    "xla": Pair("sim", "xla", {"workers_max": 1, "shapes": ((), (2,), (0,), (2, 2)), "sizes": (0, 2)}),
    "compiled": _COMPILED,
    # The interpreter takes as many replicas as there are processors.
    "interpreted": _COMPILED._replace(right="xla interpreted", replicas_max=2),
    "stacked": Pair(
        "sim by tasks",
        "sim compiled",
        {**_TF2, "body": _COMPILED_BODY, "draws": False, "stops": False, "merges": ("sum", "mean")},
        traces=False,
        messages=False,
        compiled=True,
    ),
}
"""The campaigns by name."""


class Sides:
    """Both sides of a pair, opened."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        profile = Profile("campaign", examples=1, replicas_max=pair.replicas_max)
        options = {"x64": True} if "xla" in pair.right else {"stacked": True} if pair.right == "sim compiled" else {}
        options |= {"interpreted": True} if pair.right == "xla interpreted" else {}
        name = {"tf.distribute.MirroredStrategy": "tensorflow"}.get(pair.right, pair.right.partition(" ")[0])
        self.subject = Subject(
            name, open_backend=lambda *, replicas=None: ss.backend(name, replicas=replicas, **options), profile=profile
        )
        """What programs are drawn for."""
        self._simulator = Subject("sim", profile=profile)
        self._references: dict[int, Any] = {}
        self._made = 0
        # The most first: how many devices there are may be settled by whoever opens first.
        self.subject.open(pair.replicas_max)

    def left(self, program: Any) -> Observed:
        if self.pair.left == "sim":
            return self._simulator.observe(program)[0]
        return self._stepped(program, "fed")

    def right(self, program: Any) -> Observed:
        if self.pair.compiled:
            return self._stepped(program, "compiled")
        if self.pair.right == "tf.distribute.MirroredStrategy":
            return self._witnessed(program)
        return self.subject.observe(program)[0]

    def counts(self) -> bool:
        """Tells whether the last program is one that the pair is about: where steps are compiled, one was."""
        return not self.pair.compiled or self._made > 0

    def close(self) -> None:
        self.subject.close()
        self._simulator.close()

    def _stepped(self, program: Any, step: Any) -> Observed:
        function, _ = function_of(program, step)
        trace = ss.trace.Trace(root="")
        made = self.subject.strategy(program.replicas, semantics=ss.Semantics.TF2, trace=trace)
        try:
            return observe(function, made, self.subject.open(program.replicas), trace)
        finally:
            self._made = len(programs_of(made))
            made.close()

    def _witnessed(self, program: Any) -> Observed:
        from simstrategy_tf_distribute import open_reference

        function, _ = function_of(program)
        if program.replicas not in self._references:
            self._references[program.replicas] = open_reference("mirrored", program.replicas)
        result, error = None, None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = self._references[program.replicas].run_program(function)
                result = host(found, self.subject.open(program.replicas))
            except Exception as raised:  # noqa: BLE001 - what a program ends with is what is compared
                name = type(raised).__name__
                # By the table of the project: the class of ours that stands for TensorFlow's.
                stands = TENSORFLOW_ERRORS.get(name)
                error = (name if stands is None else stands.__name__, str(raised), ())
        return Observed(result, error, (), ())


def told(pair: Pair, one: Observed, other: Observed) -> str | None:
    """Returns the first difference of what was observed in words, or None."""
    left, right = one.error, other.error
    if not pair.messages:
        left, right = (None if error is None else (error[0],) for error in (left, right))
    if left != right:
        return f"{pair.left} ends with {_ending(one)}, and {pair.right} with {_ending(other)}"
    unlike = difference(one.result, other.result)
    if unlike is not None:
        return unlike
    if pair.messages and one.warnings != other.warnings:
        return f"{pair.left} warns {one.warnings}, and {pair.right} {other.warnings}"
    place = ss.trace.first_difference(one.events, other.events) if pair.traces else None
    return None if place is None else f"the traces differ at {place}"


def rounded(one: Any, like: Any, dtype: Any = None) -> Any:
    """Returns host data with another's numbers in the places where the two differ by rounding alone.

    dtype: to which it was rounded, the numbers' own if none is given. A compiler may divide by multiplying, which is
    off by a unit in the last place, a few times over in variables; of the numbers that programs are made of, 16
    bounds what is added.
    """
    if isinstance(one, np.ndarray) and isinstance(like, np.ndarray):
        if one.dtype.kind not in "fc" or (one.dtype, one.shape) != (like.dtype, like.shape):
            return one
        bound = 4 * np.finfo(dtype or one.dtype).eps * np.maximum(16, np.abs(one))
        wide = np.complex128 if one.dtype.kind == "c" else np.float64
        near = np.abs(one.astype(wide) - like.astype(wide)) <= bound
        return np.where(near, like, one)
    return _mapped(lambda left, right: rounded(left, right, dtype), one, like)


def spread(one: Any, like: Any) -> Any:
    """Returns host data with one value for each replica in the places where another has them."""
    if isinstance(one, np.ndarray) and isinstance(like, Each):
        return Each((one,) * len(like.values))
    return _mapped(spread, one, like)


def _mapped(function: Any, one: Any, like: Any) -> Any:
    if isinstance(one, Each) and isinstance(like, Each) and len(one.values) == len(like.values):
        return Each(_mapped(function, one.values, like.values))
    if isinstance(one, dict) and isinstance(like, dict):
        return {key: function(item, like.get(key)) for key, item in one.items()}
    if type(one) in (list, tuple) and type(one) is type(like) and len(one) == len(like):
        return type(one)(function(item, other) for item, other in zip(one, like, strict=True))
    return one


def _ending(found: Observed) -> str:
    return "a result" if found.error is None else f"{found.error[0]}: {found.error[1]}"
