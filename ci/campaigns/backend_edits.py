"""Edits of a backend's source, each of which makes another backend of it: where they can be made, and their text.

An edit replaces a piece of the text by another one and leaves every line in its place. The operators are in
`backend_operators.py`. Whether an edit makes a wrong backend is not decided here: some change nothing.
"""

import ast
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

from backend_operators import HELPERS, of_expression, of_statement

__all__ = ["Edit", "Text", "edits_of", "same_code"]


class Edit(NamedTuple):
    """One change.  file: as given. line: of the change. statement: the first line of the innermost statement.

    function: the names around it, with dots. before, after: text, in one line each. place: from where to where, in
    bytes of the file.
    """

    file: str
    line: int
    statement: int
    function: str
    operator: str
    before: str
    after: str
    place: tuple[int, int]

    @property
    def name(self) -> str:
        """Names the edit within its file: line, column and operator."""
        return f"{self.file}:{self.line}:{self.place[0]}:{self.operator.replace(' ', '_')}"


class Text:
    """A file's text, with the place of each node in bytes."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text, self.bytes = file, text, text.encode()
        self.tree = ast.parse(text)
        starts = [0]
        for line in self.bytes.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self._starts = starts

    def place(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Returns where a node begins and ends, in bytes."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begin = self._starts[node.lineno - 1] + node.col_offset
        return begin, self._starts[node.end_lineno - 1] + node.end_col_offset

    def with_edit(self, edit: Edit) -> str:
        """Returns the text with one edit, and with what the edits need at its end."""
        begin, end = edit.place
        lines = "\n" * self.bytes[begin:end].count(b"\n")
        filled = f"{edit.after}{lines}" if edit.operator.startswith("statement") else f"({edit.after}{lines})"
        return (self.bytes[:begin] + filled.encode() + self.bytes[end:]).decode() + HELPERS


def edits_of(file: str, text: str) -> list[Edit]:
    """Returns every edit of a file that the operators know, in the order of its text; some are no Python."""
    source = Text(file, text)
    found = {}
    for node, statement, around in _nodes(source.tree):
        where = ".".join(around) or "the module"
        made = of_statement(node) if isinstance(node, ast.stmt) else of_expression(node, statement)
        for operator, after in made:
            before = " ".join(ast.unparse(node).split())
            if before == after:
                continue
            edit = Edit(file, node.lineno, statement.lineno, where, operator, before, after, source.place(node))
            found.setdefault((edit.place, after), edit)
    return list(found.values())


_Found = tuple[ast.expr | ast.stmt, ast.stmt, tuple[str, ...]]


def _nodes(tree: ast.Module) -> Iterator[_Found]:
    """Yields the nodes that an operator may change, each with its innermost statement and the names around it."""
    for statement in tree.body:
        if not _is_outside(statement):
            yield from _of_statement(statement, ())


def _is_outside(node: ast.stmt) -> bool:
    """Returns whether a statement holds nothing that is computed with: imports, lists of names, and types."""
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass)):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return True
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = {ast.unparse(one) for one in targets}
    if names & {"__all__", "__slots__", "name", "protocol_version", "capabilities"}:
        return True
    value = getattr(node, "value", None)
    made = ast.unparse(value) if isinstance(value, ast.expr) else ""
    typed = isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"
    return typed or made.startswith(("TypeVar(", "Callable[", "np.ndarray[", "np.dtype[", "tuple["))


def _of_statement(node: ast.stmt, around: tuple[str, ...]) -> Iterator[_Found]:
    if _is_outside(node):
        return
    yield node, node, around
    inside = (*around, node.name) if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else around
    for field, value in ast.iter_fields(node):
        if field not in _NOT_COMPUTED:
            for one in value if isinstance(value, list) else [value]:
                yield from _of_part(one, node, inside)


_NOT_COMPUTED = ("annotation", "returns", "decorator_list", "bases", "keywords", "targets", "target")
"""The fields of statements that hold names and types."""


def _of_part(part: object, statement: ast.stmt, around: tuple[str, ...]) -> Iterator[_Found]:
    match part:
        case ast.stmt():
            yield from _of_statement(part, around)
        case ast.ExceptHandler(body=body):
            for one in body:
                yield from _of_statement(one, around)
        case ast.withitem(context_expr=one):
            yield from _expressions(one, statement, around)
        case ast.arguments(defaults=defaults, kw_defaults=named):
            for one in (*defaults, *filter(None, named)):
                yield from _expressions(one, statement, around)
        case ast.expr():
            yield from _expressions(part, statement, around)


def _expressions(node: ast.expr, statement: ast.stmt, around: tuple[str, ...]) -> Iterator[_Found]:
    if isinstance(node, (ast.JoinedStr, ast.Slice)):
        for one in ast.iter_child_nodes(node) if isinstance(node, ast.Slice) else ():
            yield from _expressions(one, statement, around)  # type: ignore[arg-type]  # bounds are expressions
        return
    if isinstance(node, (ast.Starred, ast.NamedExpr)):
        yield from _expressions(node.value, statement, around)
        return
    yield node, statement, around
    if isinstance(statement, ast.Raise) and isinstance(node, ast.Call) and node is statement.exc:
        yield from _expressions(node.func, statement, around)
        return  # what a message says is for people
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "len":
        return  # the length of a list in another order is the same
    for one in _computed_parts(node):
        yield from _expressions(one, statement, around)


def _computed_parts(node: ast.expr) -> Iterator[ast.expr]:
    for one in ast.iter_child_nodes(node):
        match one:
            case ast.expr():
                yield one
            case ast.keyword(value=value):
                yield value
            case ast.comprehension(iter=of, ifs=conditions):
                yield from (of, *conditions)


def same_code(one: str, other: str, file: str) -> bool:
    """Returns whether two texts of a file are the same program: equal code, but for lines."""
    return _plain(compile(one, file, "exec")) == _plain(compile(other, file, "exec"))


def _plain(code: CodeType) -> tuple[object, ...]:
    consts = tuple(_plain(one) if isinstance(one, CodeType) else (type(one), repr(one)) for one in code.co_consts)
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, consts, code.co_exceptiontable
