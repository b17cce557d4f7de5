"""The operators that make wrong backends: what a node of a backend's source becomes, one text for each mistake.

Each is a mistake that is made in collectives and array libraries: a rank that is left out, arguments in another order,
an axis or a dtype that is not the one given, memory that is shared, a result that is kept. An operator yields its name
and the new text of the node; it looks at no other file, and does not ask whether anything will differ.
"""

import ast
from collections.abc import Iterator

from backend_tables import ARRAYS, DTYPES, ERRORS, FUNCTIONS, HELPERS, LISTS, THROUGH

__all__ = ["HELPERS", "OPERATORS", "of_expression", "of_statement"]

Made = Iterator[tuple[str, str]]
_text = ast.unparse

_COMPARED = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not",
    ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_COMPUTED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Mod: "//", ast.FloorDiv: "%", ast.Pow: "*"}


def of_expression(node: ast.expr, statement: ast.stmt) -> Made:
    """Yields operator and new text for an expression.  statement: the innermost one around it."""
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    for operator in (_compared, _computed, _joined, _constant, _called, _copied, _named, _listed, _iterated, _chosen):
        yield from operator(node)
    if isinstance(statement, ast.Return) and node is statement.value and _may_be_kept(node):
        yield "kept result", f"_kept({node.lineno}, {_text(node)})"
        yield from _through(node)
    elif isinstance(node, ast.Name) and node.id in ARRAYS:
        yield from _through(node)


def _compared(node: ast.expr) -> Made:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = _text(node.left), _text(node.comparators[0])
        yield "other comparison", f"{left} {_COMPARED[type(node.ops[0])]} {right}"
        kinds = node.comparators[0]
        if isinstance(node.ops[0], ast.In) and isinstance(kinds, ast.Constant) and len(str(kinds.value)) > 1:
            yield "fewer kinds", f"{left} in {kinds.value[:-1]!r}"
            yield "fewer kinds", f"{left} in {kinds.value[1:]!r}"


def _computed(node: ast.expr) -> Made:
    if isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED:
        left, right = _text(node.left), _text(node.right)
        yield "other arithmetic", f"({left}) {_COMPUTED[type(node.op)]} ({right})"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        yield "without the sign", _text(node.operand)


def _joined(node: ast.expr) -> Made:
    if isinstance(node, ast.BoolOp):
        for number in range(len(node.values)):
            rest = [f"({_text(one)})" for place, one in enumerate(node.values) if place != number]
            yield "condition left out", (" and " if isinstance(node.op, ast.And) else " or ").join(rest)


def _constant(node: ast.expr) -> Made:
    if not isinstance(node, ast.Constant):
        return
    value = node.value
    if isinstance(value, bool):
        yield "other flag", repr(not value)
    elif isinstance(value, int):
        yield "off by one", repr(value + 1)
        if value > 0:
            yield "off by one", repr(value - 1)
    elif isinstance(value, str) and value in DTYPES:
        yield "other dtype", repr(DTYPES[value])


def _called(node: ast.expr) -> Made:
    if not isinstance(node, ast.Call):
        return
    function, given = _text(node.func), [_text(one) for one in node.args]
    named = [f"{one.arg}={_text(one.value)}" if one.arg else f"**{_text(one.value)}" for one in node.keywords]
    if len(given) > 1 and given[0] != given[1]:
        yield "swapped arguments", f"{function}({', '.join([given[1], given[0], *given[2:], *named])})"
    if len(given) > 2 and given[1] != given[2]:
        yield "swapped arguments", f"{function}({', '.join([given[0], given[2], given[1], *given[3:], *named])})"
    if len(given) > 1:
        yield "argument left out", f"{function}({', '.join([*given[:-1], *named])})"
    for number in range(len(named)):
        yield "setting left out", f"{function}({', '.join([*given, *named[:number], *named[number + 1 :]])})"


def _copied(node: ast.expr) -> Made:
    """Of what is copied or cast, the thing itself."""
    if not isinstance(node, ast.Call):
        return
    function, given = _text(node.func), [_text(one) for one in node.args]
    named = [f"{one.arg}={_text(one.value)}" for one in node.keywords if one.arg not in ("copy", "subok", "order")]
    if function in ("np.array", "np.asarray") and given:
        yield "alias for copy", f"np.asarray({', '.join([*given, *named])})"
        if named or len(given) > 1:
            yield "dtype not set", f"np.asarray({given[0]})"
    if function == "freeze":
        yield "left writable", f"{given[0]}.view({given[1]})"
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("copy", "astype"):
        yield "alias for copy" if node.func.attr == "copy" else "dtype not set", _text(node.func.value)


def _named(node: ast.expr) -> Made:
    if isinstance(node, ast.Name):
        if node.id in ("axis", "root"):
            yield "wrong axis" if node.id == "axis" else "wrong root", "0"
            yield "wrong axis" if node.id == "axis" else "wrong root", "-1"
        if node.id in ERRORS:
            yield "other error", ERRORS[node.id]
    if isinstance(node, ast.Attribute) and _text(node) in FUNCTIONS:
        yield "other function", FUNCTIONS[_text(node)]
    if _text(node) in LISTS:
        yield from _fewer(_text(node))


def _fewer(text: str) -> Made:
    """Of several, all but one, or all in another order."""
    yield "rank left out", f"tuple({text})[:-1]"
    yield "rank left out", f"tuple({text})[1:]"
    yield "other order", f"tuple({text})[::-1]"
    yield "rank taken twice", f"(*tuple({text})[:-1], *tuple({text})[:1])"


def _listed(node: ast.expr) -> Made:
    if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) > 1:
        begin, end = ("(", ",)") if isinstance(node, ast.Tuple) else ("[", "]")
        for kept in (node.elts[:-1], node.elts[1:]):
            yield "item left out", f"{begin}{', '.join(map(_text, kept))}{end}"


def _iterated(node: ast.expr) -> Made:
    if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
        of = node.generators[-1]
        for name, text in _fewer(_text(of.iter)):
            made = _text(node).replace(f" in {_text(of.iter)}", f" in {text}")
            yield name, made


def _chosen(node: ast.expr) -> Made:
    if isinstance(node, ast.IfExp):
        yield "first always", _text(node.body)
        yield "second always", _text(node.orelse)


def _may_be_kept(node: ast.expr) -> bool:
    return isinstance(node, (ast.Call, ast.Name, ast.IfExp, ast.Subscript)) and _text(node) != "call"


def _through(node: ast.expr) -> Made:
    for name, helper in THROUGH.items():
        yield name, f"{helper}({_text(node)})"


def of_statement(node: ast.stmt) -> Made:
    """Yields operator and new text for a statement; an `if` has no other text than its condition."""
    if isinstance(node, ast.Expr) and isinstance(node.value, (ast.Call, ast.Yield)):
        yield "statement left out", "pass"
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Attribute, ast.Subscript)):
        yield "statement left out", "pass"
    if isinstance(node, ast.Raise) and node.exc is not None:
        yield "statement left out", "pass"
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
        turned = ", ".join(_text(one) for one in node.value.elts[::-1])
        yield "statement with swapped values", f"{_text(node.targets[0])} = {turned}"


OPERATORS = (
    "other comparison", "fewer kinds", "other arithmetic", "without the sign", "condition left out", "other flag",
    "off by one", "other dtype", "swapped arguments", "argument left out", "setting left out", "alias for copy",
    "dtype not set", "left writable", "wrong axis", "wrong root", "other error", "other function", "rank left out",
    "other order", "rank taken twice", "item left out", "first always", "second always", "kept result",
    *THROUGH, "statement left out", "statement with swapped values",
)  # fmt: skip
"""Every name of an operator."""
