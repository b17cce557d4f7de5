"""What the operators of wrong backends exchange: functions, dtypes and errors by name, and what arrays pass through."""

__all__ = ["ARRAYS", "DTYPES", "ERRORS", "FUNCTIONS", "HELPERS", "LISTS", "THROUGH"]

_PAIRS = """add subtract, multiply divide, floor_divide true_divide, remainder fmod, maximum fmax, minimum fmin,
    arctan2 hypot, copysign nextafter, logaddexp logaddexp2, equal not_equal, less less_equal, greater greater_equal,
    logical_and logical_or, bitwise_and bitwise_or, bitwise_xor bitwise_or, left_shift right_shift, negative positive,
    abs positive, sign signbit, square sqrt, exp expm1, log log1p, log2 log10, sin cos, tan tanh, arcsin arccos,
    arctan arcsinh, sinh cosh, arccosh arctanh, floor ceil, trunc floor, rint ceil, isfinite isnan, isinf isnan,
    conjugate positive, real imag, tril triu, matrix_transpose transpose, concatenate stack, flip roll, tile repeat,
    cumulative_sum cumulative_prod, var std, argmax argmin, vecdot inner, zeros ones, true_divide floor_divide,
    power multiply, logical_xor logical_or, logical_not logical_or, invert negative, count_nonzero sum, sort argsort,
    take take_along_axis, mean median, asarray array, empty zeros, minimum.reduce maximum.reduce, array asarray,
    maximum.reduce fmax.reduce, logical_and.reduce logical_or.reduce, add.reduce multiply.reduce, expand_dims squeeze"""
FUNCTIONS = {}
"""For a function of NumPy another one, of as many arguments where there is one."""
for _pair in _PAIRS.split(","):
    _one, _other = _pair.split()
    FUNCTIONS.setdefault(f"np.{_one}", f"np.{_other}")
    FUNCTIONS.setdefault(f"np.{_other}", f"np.{_one}")

DTYPES = {
    "float32": "float64", "float64": "float32", "int32": "int64", "int64": "int32", "bool": "int8", "int8": "uint8",
    "uint8": "int8", "int16": "uint16", "uint16": "int16", "uint32": "int32", "uint64": "int64",
    "float16": "float32", "complex64": "complex128", "complex128": "complex64", "bfloat16": "float16",
}  # fmt: skip
ERRORS = {"InvalidArgument": "InvalidType", "InvalidType": "InvalidArgument"}
ARRAYS = frozenset((
    "array", "whole", "total", "sent", "value", "result", "copy", "host", "plain", "initial", "chosen", "quotient",
    "average", "ordered", "rows", "found",
))  # fmt: skip
"""Names that hold an array in these sources."""
LISTS = frozenset(("arrays", "parts", "sources", "others", "self._local", "self.devices", "self.local_devices"))
"""Names that hold one thing for each rank."""

THROUGH = {
    "dtype through another": "_narrowed",
    "NaN lost": "_without_nan",
    "sign of zero lost": "_unsigned",
    "subnormals flushed": "_flushed",
    "last element lost": "_shortened",
    "square ones transposed": "_turned",
}
"""By operator, the function that an array passes through; anything else passes unchanged."""

HELPERS = """

def _on_arrays(change):
    import numpy

    def call(x):
        host = getattr(x, "host", x)
        if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
            return type(x)(call(one) for one in x)
        if not isinstance(host, numpy.ndarray):
            return x
        made = change(numpy, numpy.asarray(host).view(numpy.ndarray))
        if made is None:
            return x
        return type(x)(made, x.placement) if host is not x else made.view(type(x))

    return call


def _cut(numpy, x):
    if x.size <= 1000:
        return None
    made = x.copy()
    made.reshape(-1)[-1] = 0
    return made


_narrowed = _on_arrays(lambda numpy, x: x.astype("float32").astype(x.dtype) if x.dtype.kind in "iufc" else None)
_without_nan = _on_arrays(lambda numpy, x: numpy.where(x != x, numpy.zeros((), x.dtype), x))
_unsigned = _on_arrays(lambda numpy, x: x + x.dtype.type(0) if x.dtype.kind in "fc" else None)
_flushed = _on_arrays(
    lambda numpy, x: (
        numpy.where(abs(x) < numpy.finfo(x.dtype).tiny, x.dtype.type(0), x) if x.dtype.kind == "f" else None
    )
)
_shortened = _on_arrays(_cut)
_turned = _on_arrays(lambda numpy, x: x.T.copy() if x.ndim > 1 and x.shape == x.shape[::-1] else None)


def _form(x):
    if isinstance(x, (list, tuple)):
        return tuple(map(_form, x))
    host = getattr(x, "host", x)
    return type(x), getattr(x, "placement", 0), getattr(host, "shape", 0), str(getattr(host, "dtype", 0))


def _kept(site, x, known={}):
    return known.setdefault((site, _form(x)), x)
"""
"""What the new texts call, put at the end of a file that has an edit."""
