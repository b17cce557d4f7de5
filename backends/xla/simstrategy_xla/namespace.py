"""JAX's array functions with the rules of `simstrategy.device.namespace`.

All arithmetic and all promotion is JAX's; NumPy makes arrays of host data. Everything is committed to a device, because
JAX moves other arrays to its default device without a warning. On CPUs XLA takes subnormal numbers for zero.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, final

import jax
import jax.numpy as jnp
import numpy as np

from simstrategy.device import NAMES, ArrayNamespace, canonical_dtype, composed, filling, host_array
from simstrategy.device import cast as host_cast
from simstrategy.device.promotion import common_dtype, float_dtype
from simstrategy.device.refusals import SIZED, guarded
from simstrategy.errors import InvalidArgument, Unsupported
from simstrategy_xla.functions import (
    FOREIGN,
    OTHERS,
    as_dtype,
    binary,
    bound,
    cast,
    divided,
    form,
    int32_of,
    is_elsewhere,
    is_weak,
    joining,
    keeping,
    logical,
    moved,
    ordered,
    pairing,
    part,
    permuted,
    picking,
    roll,
    rounded,
    searchsorted,
    several,
    sorting,
    unary,
    unstack,
)
from simstrategy_xla.sizes import allocating, repeated, require_size, tiled

__all__ = ["NO_VALUE", "XlaNamespace", "committed", "config", "dtypes_here", "require_values"]

_NAMES: Final = (
    *("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32"),
    *("float16", "bfloat16", "float32", "complex64"),
)
_WIDE: Final = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
NO_VALUE: Final = "which has no value while JAX traces"
"""The part of an error's text that marks tracing as its cause."""
config: Final[Any] = jax.config
"""JAX's settings, as this process and thread have them; JAX gives them no types."""


def dtypes_here() -> dict[str, np.dtype[Any]]:
    """Returns the dtypes by name; the wide ones only in JAX's 64-bit mode, since JAX truncates them outside."""
    return {name: jnp.dtype(name) for name in (*_NAMES, *(_WIDE if config.jax_enable_x64 else ()))}


def committed(array: jax.Array) -> jax.Array:
    """Returns an array […] committed to its device.  A tracer, which has no device yet, is returned unchanged."""
    if isinstance(array, jax.core.Tracer) or array.committed:
        return array
    bound: jax.Array = jax.device_put(array, array.sharding)
    return bound


def require_values(arrays: Sequence[jax.Array], what: str) -> None:
    """Raises Unsupported if one of the arrays […] is a tracer: effects on tracers are not repeated in later calls.

    what: the operation, for the message.
    """
    for array in arrays:
        if isinstance(array, jax.core.Tracer):
            raise Unsupported(
                f"The backend 'xla' cannot do {what} with a tracer {array.dtype}{list(array.shape)}, {NO_VALUE}. "
                f"Call collectives, read and write outside jax.jit, vmap and scan, and compile what lies between. Take "
                f"jax.grad in the replica function: ctx.all_reduce and ctx.all_gather work under it."
            )


@final
class XlaNamespace:
    """See `simstrategy.device.namespace`; outside replica functions, `devices[0]` is where things are created."""

    __slots__ = ("_devices", "_dtypes")

    def __init__(self, devices: tuple[jax.Device | None, ...], dtypes: dict[str, np.dtype[Any]]) -> None:
        # None stands for wherever a program that is traced will run.
        self._devices = devices
        self._dtypes = dtypes

    @property
    def dtypes(self) -> dict[str, np.dtype[Any]]:
        """JAX's dtypes by name."""
        return self._dtypes

    def named(self, dtype: Any) -> np.dtype[Any]:
        """Returns the dtype of a name or NumPy dtype.  Raises InvalidArgument for one that is not here."""
        name = canonical_dtype(dtype)
        if name in self._dtypes:
            return self._dtypes[name]
        if name in _WIDE:
            raise InvalidArgument(
                f"{name} needs JAX's 64-bit mode, which was off when this backend was opened: JAX would truncate it in "
                f'silence. Open it with ss.backend("xla", x64=True), set JAX_ENABLE_X64=1, or cast to {_WIDE[name]} '
                f"first."
            )
        raise InvalidArgument(f"There is no dtype {name!r} on XLA; choose from {', '.join(self._dtypes)}.")

    def device_of(self, *values: Any) -> Any:
        """Returns where the first array is, else the running replica's device.  Of several devices: their sharding."""
        for value in values:
            if isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer):
                return value.device
        current = config.jax_default_device
        return current if current in self._devices else self._devices[0]

    def operands(self, values: Sequence[Any], *like: Any, floats: bool = False) -> list[Any]:
        """Returns arrays on one device: where they all are, else the running replica's, else the first one's.

        An array on another replica's device, such as the result of a reduction, is moved to the first one's device.
        Their dtype is that of `simstrategy.device.promotion`. floats: float32 in place of integers. Raises
        InvalidArgument for a dtype that is not here: int32 and uint32 make int64, which JAX would truncate.
        """
        device, running = self.device_of(*values, *like), config.jax_default_device
        if running in self._devices and any(is_elsewhere(value, device) for value in (*values, *like)):
            device = running
        if all(is_weak(value) for value in values):
            values = (self._array(values[0], device), *values[1:])
        found = [value if is_weak(value) else moved(self._array(value, device), device) for value in values]
        dtypes = tuple([one.dtype.name for one in found if not is_weak(one)])
        if dtypes != dtypes[:1] * len(found) or floats:
            wanted = common_dtype(dtypes, tuple([type(one) for one in found if is_weak(one)]))
            dtype = self.named(float_dtype(wanted) if floats else wanted)
            found = [cast(one, dtype) for one in found]
        return found

    def _array(self, value: Any, device: Any, dtype: Any = None) -> Any:
        if isinstance(value, jax.Array):
            return as_dtype(committed(value), dtype)
        if type(value) is not np.ndarray:
            value = host_array(value, None if dtype is None else dtype.name, where="xp.asarray")
        # A copy of our own: JAX reads host memory later, or for ever.
        return bound(jnp.asarray(host_cast(value, dtype or self.named(value.dtype))), device)

    def placed(self, result: Any, *like: Any) -> Any:
        """Returns a result where the first array of `like` is: JAX creates some, such as isfinite of integers, anew."""
        if isinstance(result, jax.core.Tracer) or result.committed:
            return result
        return jax.device_put(result, self.device_of(*like))

    def asarray(self, value: Any, *, dtype: Any = None) -> Any:
        return self._array(value, self.device_of(value), None if dtype is None else self.named(dtype))

    zeros = composed.zeros
    ones = composed.ones

    def full(self, shape: Any, fill_value: Any, *, dtype: Any = None) -> Any:
        wanted = self.asarray(fill_value).dtype if dtype is None else self.named(dtype)
        if not isinstance(fill_value, jax.Array):
            fill_value = filling(fill_value, wanted)
        elif fill_value.ndim:
            raise ValueError("one number")
        return bound(jnp.full(require_size(shape), fill_value, wanted), self.device_of(fill_value))

    zeros_like = composed.zeros_like
    ones_like = composed.ones_like

    def full_like(self, x: Any, /, fill_value: Any, *, dtype: Any = None) -> Any:
        like = self.asarray(x)
        filled = self.full(like.shape, fill_value, dtype=like.dtype.name if dtype is None else dtype)
        return bound(filled, self.device_of(like))

    arange = composed.arange
    linspace = composed.linspace

    def eye(self, n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None) -> Any:
        require_size((n_rows, n_rows if n_cols is None else n_cols))
        return bound(jnp.eye(n_rows, n_cols, k, dtype=self.named(dtype or "float32")), self.device_of())

    meshgrid = several(jnp.meshgrid)
    tril = unary(jnp.tril)
    triu = unary(jnp.triu)

    def astype(self, x: Any, dtype: str, /) -> Any:
        return self._array(self.asarray(x), self.device_of(x), self.named(dtype))

    add = binary(jnp.add)
    subtract = binary(jnp.subtract)
    multiply = binary(jnp.multiply)
    divide = divided
    floor_divide = binary(jnp.floor_divide, kinds="iufV")
    remainder = binary(jnp.remainder, kinds="iufV")
    pow = binary(jnp.power, kinds="iufcV")
    maximum = binary(jnp.maximum, kinds="biufV")
    minimum = binary(jnp.minimum, kinds="biufV")
    atan2 = binary(jnp.atan2, floats=True, kinds="fV")
    copysign = binary(jnp.copysign, floats=True)
    hypot = binary(jnp.hypot, floats=True, kinds="fV")
    logaddexp = binary(jnp.logaddexp, floats=True, kinds="fV")
    nextafter = binary(jnp.nextafter, floats=True)
    equal = binary(jnp.equal)
    not_equal = binary(jnp.not_equal)
    less = binary(jnp.less, kinds="biufV")
    less_equal = binary(jnp.less_equal, kinds="biufV")
    greater = binary(jnp.greater, kinds="biufV")
    greater_equal = binary(jnp.greater_equal, kinds="biufV")
    logical_and = logical(jnp.logical_and)
    logical_or = logical(jnp.logical_or)
    logical_xor = logical(jnp.logical_xor)
    bitwise_and = binary(jnp.bitwise_and)
    bitwise_or = binary(jnp.bitwise_or)
    bitwise_xor = binary(jnp.bitwise_xor)
    bitwise_left_shift = binary(jnp.bitwise_left_shift, kinds="iu")
    bitwise_right_shift = binary(jnp.bitwise_right_shift, kinds="iu")

    logical_not = unary(jnp.logical_not)
    bitwise_invert = unary(jnp.bitwise_invert)
    positive = unary(jnp.positive, bools=False)
    negative = unary(jnp.negative)
    abs = unary(jnp.abs)
    sign = unary(jnp.sign, bools=False)
    signbit = unary(jnp.signbit, floats=True)
    square = unary(jnp.square, bools=False)
    reciprocal = composed.reciprocal
    sqrt = unary(jnp.sqrt, floats=True)
    exp = unary(jnp.exp, floats=True)
    expm1 = unary(jnp.expm1, floats=True)
    log = unary(jnp.log, floats=True)
    log1p = unary(jnp.log1p, floats=True)
    log2 = unary(jnp.log2, floats=True)
    log10 = unary(jnp.log10, floats=True)
    sin = unary(jnp.sin, floats=True)
    cos = unary(jnp.cos, floats=True)
    tan = unary(jnp.tan, floats=True)
    asin = unary(jnp.asin, floats=True)
    acos = unary(jnp.acos, floats=True)
    atan = unary(jnp.atan, floats=True)
    sinh = unary(jnp.sinh, floats=True)
    cosh = unary(jnp.cosh, floats=True)
    tanh = unary(jnp.tanh, floats=True)
    asinh = unary(jnp.asinh, floats=True)
    acosh = unary(jnp.acosh, floats=True)
    atanh = unary(jnp.atanh, floats=True)
    floor = unary(jnp.floor)
    ceil = unary(jnp.ceil)
    trunc = unary(jnp.trunc)
    round = unary(rounded)
    isfinite = unary(jnp.isfinite)
    isinf = unary(jnp.isinf)
    isnan = unary(jnp.isnan)
    conj = unary(jnp.conj, bools=False)
    real = unary(part(jnp.real))
    imag = unary(part(jnp.imag))
    clip = composed.clip

    def where(self, condition: Any, x1: Any, x2: Any, /) -> Any:
        chosen = self._array(condition, self.device_of(condition, x1, x2))
        return self.placed(jnp.where(chosen, *self.operands((x1, x2), chosen)), chosen)

    permute_dims = unary(permuted)
    matrix_transpose = unary(jnp.matrix_transpose)
    moveaxis = unary(jnp.moveaxis)
    reshape = unary(jnp.reshape)
    expand_dims = unary(jnp.expand_dims)
    squeeze = unary(jnp.squeeze)
    broadcast_to = unary(lambda x, shape: jnp.broadcast_to(x, require_size(shape)))
    broadcast_arrays = several(jnp.broadcast_arrays)
    concat = joining(jnp.concatenate)
    stack = joining(jnp.stack)

    unstack = unstack
    flip = unary(jnp.flip)
    roll = unary(roll)
    repeat = unary(repeated)
    tile = unary(tiled)
    take = picking(jnp.take)
    take_along_axis = picking(jnp.take_along_axis)

    sum = unary(keeping(jnp.sum))
    prod = unary(keeping(jnp.prod))
    cumulative_sum = unary(keeping(jnp.cumulative_sum))
    cumulative_prod = unary(keeping(jnp.cumulative_prod))
    mean = unary(jnp.mean, floats=True)
    var = unary(ordered(jnp.var), floats=True)
    std = unary(ordered(jnp.std), floats=True)
    max = unary(ordered(jnp.max))
    min = unary(ordered(jnp.min))
    all = unary(jnp.all)
    any = unary(jnp.any)
    diff = composed.diff
    # Accelerators multiply float32 in fewer bits where no precision is set.
    matmul = binary(jnp.matmul, precision=jax.lax.Precision.HIGHEST)
    vecdot = pairing(jnp.vecdot, precision=jax.lax.Precision.HIGHEST)
    tensordot = pairing(jnp.tensordot, precision=jax.lax.Precision.HIGHEST)

    argmax = unary(int32_of(ordered(jnp.argmax)))
    argmin = unary(int32_of(ordered(jnp.argmin)))
    count_nonzero = unary(int32_of(jnp.count_nonzero))
    searchsorted = pairing(int32_of(searchsorted))
    sort = unary(ordered(sorting(jnp.sort)))
    argsort = unary(int32_of(ordered(sorting(jnp.argsort))))


for _name in NAMES:
    _function = allocating(vars(XlaNamespace)[_name]) if _name in SIZED else vars(XlaNamespace)[_name]
    setattr(XlaNamespace, _name, guarded(_function, _name, form, FOREIGN, *OTHERS))


if TYPE_CHECKING:
    _: ArrayNamespace = XlaNamespace((), {})
