"""The arrays that a step gets while it is recorded: a form, operators and methods, and no value.

What needs a value raises CannotCompile, with the call that asked. Every operation is recorded in the tape (`tape.py`).
"""

import operator
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn, final

import numpy as np

from simstrategy.errors import CannotCompile
from simstrategy.sim.arrays import SimArray
from simstrategy.sim.stacked.tape import Recorded, Tape, recorded_in

__all__ = ["TracedArray", "made"]


@final
class TracedArray(Recorded):
    """One rank's array […] of a step, for all ranks."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **settings: Any) -> Any:
        """Records an operator whose left operand is NumPy's.  Other functions of NumPy take values."""
        rule, function = _OF_NUMPY.get(ufunc, ("", None))
        if function is None or method != "__call__" or settings or isinstance(inputs[0], TracedArray):
            _refuse(self, f"np.{ufunc.__name__}")
        return self.tape.call(rule, function, *inputs)

    def __array_function__(self, function: Callable[..., Any], *_: Any) -> NoReturn:
        _refuse(self, f"np.{function.__name__}")

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.example.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.example.dtype
        return dtype

    @property
    def ndim(self) -> int:
        return self.example.ndim

    @property
    def size(self) -> int:
        return self.example.size

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        """The array with its axes in reverse order."""
        return self.transpose()

    def __repr__(self) -> str:
        return f"<{self.dtype}{list(self.shape)} of a compiled step, without a value>"

    def __len__(self) -> int:
        return len(self.example)

    def __iter__(self) -> Iterator[Any]:
        return iter([self[number] for number in range(len(self))])

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        for one in parts:
            if isinstance(one, TracedArray) and one.dtype.kind == "b":
                _refuse(self, "an index of bools, which decides the shape of the result")
        if all(_is_basic(one) for one in parts):
            return self.tape.call("index", _item, self, parts)
        return self.tape.call("each", _item, self, parts if isinstance(key, tuple) else key)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise CannotCompile(
            f"A compiled step writes to elements of {self.dtype}{list(self.shape)}, and arrays of a program do not "
            f"change. Compute a new array, such as by xp.where, or run the step without compiling it."
        )

    def reshape(self, *shape: Any, **how: Any) -> Any:
        """Returns the array in another shape, as `ndarray.reshape`."""
        _require_plain(self, (shape, how), "reshape")
        return self.tape.call("reshape", SimArray.reshape, self, *shape, **how)

    def transpose(self, *axes: Any) -> Any:
        """Returns the array with its axes in another order, by default the reverse one."""
        if len(axes) == 1 and axes[0] is None:
            axes = ()
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        return self.tape.call("permute_dims", SimArray.transpose, self, order or (*range(self.ndim)[::-1],))

    def astype(self, dtype: Any, **how: Any) -> Any:
        """Returns the array in another dtype, as `ndarray.astype`."""
        return self.tape.call("elementwise", SimArray.astype, self, dtype, **how)


def made(tape: Tape, slot: int, example: SimArray) -> TracedArray:
    """Returns the array of a slot of a tape, of an example's form [...]."""
    found = TracedArray()
    found.tape, found.slot, found.example = tape, slot, example
    return found


def _item(array: SimArray, key: Any) -> Any:
    return array[key]


def _is_basic(key: Any) -> bool:
    return key is None or key is Ellipsis or isinstance(key, slice) or (isinstance(key, int) and type(key) is not bool)


def _refuse(array: TracedArray, what: str) -> NoReturn:
    raise CannotCompile(
        f"The step reads a value that is known only when the program runs: {what} of {array.dtype}"
        f"{list(array.shape)}. Choose with xp.where, take what decides as an argument that is no array, or run the "
        f"step without compiling it."
    )


def _refusing(what: str) -> Callable[..., NoReturn]:
    def refused(self: TracedArray, *_: Any, **__: Any) -> NoReturn:
        _refuse(self, what)

    return refused


def _require_plain(array: TracedArray, settings: Any, what: str) -> None:
    """Raises CannotCompile where a setting, such as a size or an axis, is an array of the step."""
    if recorded_in(settings):
        _refuse(array, f"a setting of {what}")


def _method(rule: str, name: str) -> Callable[..., Any]:
    function = getattr(SimArray, name)

    def call(self: TracedArray, *others: Any, **settings: Any) -> Any:
        _require_plain(self, (() if name in _OF_ARRAYS else others, settings), name)
        return self.tape.call(rule, function, self, *others, **settings)

    return call


def _operator(rule: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: TracedArray, *others: Any) -> Any:
        return self.tape.call(rule, function, self, *others)

    return call


def _reflected(rule: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: TracedArray, other: Any) -> Any:
        return self.tape.call(rule, function, other, self)

    return call


_BINARY: Final = {
    **dict.fromkeys(("add", "sub", "mul", "truediv", "floordiv", "mod"), "elementwise"),
    **dict.fromkeys(("and_", "or_", "xor", "lshift", "rshift"), "elementwise"),
    "pow": "pow",
    "matmul": "matmul",
}
_OF_ARRAYS: Final = ("dot", "clip", "take")
"""Methods of which every argument may be an array."""
_COMPARED: Final = ("lt", "le", "gt", "ge", "eq", "ne")
_READING: Final = (
    *("bool", "int", "float", "complex", "index", "hash", "array", "format", "str", "contains", "divmod", "rdivmod"),
    *("copy", "deepcopy", "reduce_ex"),
)
_METHODS: Final = {
    **dict.fromkeys(("sum", "prod", "mean", "max", "min", "all", "any", "std", "var"), "reduction"),
    **dict.fromkeys(("copy", "conj", "round"), "elementwise"),
    **dict.fromkeys(("argmax", "argmin", "cumsum", "cumprod", "clip", "ravel", "flatten", "squeeze", "dot"), "each"),
    **dict.fromkeys(("take", "repeat", "swapaxes", "diagonal", "trace"), "each"),
}
"""Methods of NumPy's arrays, and how they are computed for all ranks."""
_UFUNCS: Final = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "matmul": "matmul", "and_": "bitwise_and", "or_": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift", "lt": "less", "le": "less_equal",
    "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}  # fmt: skip
"""NumPy's functions behind the operators."""
_OF_NUMPY: Final = {
    getattr(np, ufunc): (_BINARY.get(name, "elementwise"), getattr(operator, name)) for name, ufunc in _UFUNCS.items()
}
for _name, _rule in _BINARY.items():
    _function = getattr(operator, _name)
    setattr(TracedArray, f"__{_name.strip('_')}__", _operator(_rule, _function))
    setattr(TracedArray, f"__r{_name.strip('_')}__", _reflected(_rule, _function))
for _name in (*_COMPARED, "neg", "pos", "invert", "abs"):
    setattr(TracedArray, f"__{_name}__", _operator("elementwise", getattr(operator, _name)))
for _name, _rule in _METHODS.items():
    setattr(TracedArray, _name, _method(_rule, _name))
for _name in _READING:
    setattr(TracedArray, f"__{_name}__", _refusing(f"{_name}()"))
_OTHERS: Final = set(dir(SimArray)) - set(dir(TracedArray))
for _name in sorted(name for name in _OTHERS if not name.startswith("_")):  # NumPy's attributes not among the above
    setattr(TracedArray, _name, property(_refusing(_name)))
