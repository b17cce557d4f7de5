"""Draws the cases of conversions.jsonl: what Python's numbers, lists and arrays become, by the place that takes them.

A value is a text of Python. Texts, bfloat16 and what depends on the processor, such as NaN cast to an integer by NumPy,
are left out. It asks nobody for answers.
"""

from collections.abc import Iterator

from chance import Body

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
COMMON = ("bool", "uint8", "int32", "float16", "float32", "complex64")

NUMBERS = (
    *("0", "-1", "True", "2**31-1", "2**31", "2**40", "-2**31-1", "2**63-1", "2**63", "-2**63-1", "10**30"),
    "10**400",
)
FLOATS = ("1.5", "-0.0", "nan", "inf", "1e300", "1e-50", "65520.0", "1j", "1e300j")
LISTS = (
    *("[]", "[[]]", "[1, 2]", "[1.7, 2.9]", "[1, 2.5]", "[True, False]", "[1, 2**40]", "[2**40, 1]"),
    *("[1, True]", "[1.5, True]", "[1j, 1]", "[2**63, -1]", "[1, 2**63]", "[2**70, 1.5]", "[1.5, 2**70]", "[1e300]"),
    *("[[1, 2], [3, 4]]", "[[1], [2, 3]]", "[1, [2]]", "[[1, 2], None]", "range(3)", "range(2**40, 2**40 + 2)"),
)
MIXED = ("[True, 1]", "[True, 1.5]", "[1, 2.5, 1j]", "[1, 1j]")
WRONG = ("None", "[None]", "[1, None]", "['a', None]", "['a', 3]", "[3, 'a']", "{1}", "slice(3)")
OF_NUMPY = (
    *("np.int64(5)", "np.float64(1.5)", "np.float32(1.5)", "np.bool_(True)", "np.array([1.5])", "np.array([1, 2])"),
    *("[np.int64(1), np.int64(2)]", "[np.uint8(3)]", "[np.float64(1.5)]", "[np.float32(1.5), 2.5]"),
    *("[1, np.float64(1.5)]", "[np.float32(1), np.float64(2.1)]", "[np.float64(2.1), np.float32(1)]"),
    *("[np.float16(1.5), 1]", "[np.bool_(True)]", "[np.int8(1), 2**40]", "[np.array(1.5), 2]"),
    *("[np.array([1.5], 'float32'), [2.5]]", "np.array([1, 2], object)", "np.array(['a', None], object)"),
    *("np.ma.array([1, 2], mask=[0, 1])", "np.array([1.5], '>f4')"),
)
TYPED = (
    *("True", "1", "-1", "300", "70000", "2**40", "2**63", "1.5", "1.0", "nan", "1e300", "1j", "[]", "[1.7, 2.9]"),
    "None",
)
WRITTEN = (
    *("True", "2", "-1", "256", "2**40", "1.5", "1.0", "nan", "inf", "1j", "[1.7, 2.9]", "[1, 2]", "[True, False]"),
    *("np.array([1.5])", "np.array([1])", "np.float64(1.5)"),
)
SLICED = tuple(one for one in (*LISTS, *MIXED, *WRONG, *OF_NUMPY) if one[0] == "[" and one not in ("[]", "[[]]"))
ADDED = (
    *("1", "1.5", "2**31", "2**40", "-2**31-1", "2**63", "10**30", "1e300", "1e-50", "True", "None", "{1}"),
    *("np.array([1])", "np.float64(1.5)", "np.float32(1.5)", "np.array([1, 2], object)"),
)


def convert(place: str, value: str, dtype: str = "") -> Body:
    replicas = 2 if place == "all_reduce" else 1
    return {"kind": "convert", "replicas": replicas, "place": place, "value": value, "dtype": dtype}


def bodies() -> Iterator[Body]:
    untyped = (*NUMBERS, *FLOATS, *LISTS, *MIXED, *WRONG, *OF_NUMPY)
    yield from (convert("asarray", value) for value in untyped)
    yield from (convert("asarray", value, dtype) for value in TYPED for dtype in DTYPES)
    yield from (convert("variable", value) for value in (*NUMBERS, *FLOATS))
    yield from (convert("variable", value, dtype) for value in WRITTEN for dtype in COMMON)
    yield from (convert("assign", value, dtype) for value in WRITTEN for dtype in COMMON)
    yield from (convert("slices", value) for value in SLICED)
    yield from (convert("all_reduce", value) for value in ADDED)


def draw() -> list[Body]:
    """Returns the cases, in order; the id names place, value and dtype."""
    return [{"id": " ".join(filter(None, (body["place"], body["value"], body["dtype"]))), **body} for body in bodies()]


def releases_of(body: Body) -> tuple[str, ...]:
    """Returns the releases that are asked for a case."""
    return ("2.21.0",)
