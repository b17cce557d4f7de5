"""Rule 15 of STYLE.md on public functions and methods that are shipped: the third person, and the shapes of arrays.

A function without a docstring is not looked at: what carries out a protocol is described there, and ruff demands a
docstring of the others. The kit's tests describe themselves by their names, commands are described to their users.
"""

import ast
import re
from collections.abc import Iterator

from ci.tidy.violation import Violation, is_examination, is_shipped

COMMANDS = "simstrategy/cli/"
_ARRAY = re.compile(r"\b(?:Array|Arrays|ArrayLike|NDArray|ndarray|SimArray|Tensor)\b")
_THIRD_PERSON = re.compile(r"(?:[A-Z][a-z]*-)?[A-Za-z][a-z]*s\b(?!-)")
_SHAPE = re.compile(r"\[[^\]\n]*\]")
_END = re.compile(r"[.:!?)](?:\s|$)")


def check_docstrings(file: str, tree: ast.Module) -> Iterator[Violation]:
    """Checks one Python file of what is shipped."""
    if not is_shipped(file) or is_examination(file):
        return
    for node in _public(tree.body):
        text = ast.get_docstring(node)
        if text:
            for rule in _broken(file, node, text):
                yield Violation(file, node.lineno, f"docstring of {node.name}: {rule}")


def _public(body: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yields the public functions of a body, and the public methods of its public classes."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _public(node.body)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_"):
            yield node


def _broken(file: str, node: ast.FunctionDef | ast.AsyncFunctionDef, text: str) -> Iterator[str]:
    is_property = any("property" in ast.unparse(one) for one in node.decorator_list)
    if not is_property and not file.startswith(COMMANDS) and not _THIRD_PERSON.match(text):
        yield "its first line is what it does, in the third person"
    if not _END.search(text.partition("\n\n")[0]):
        yield "its first line is a sentence"
    arguments = node.args
    parameters = [*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg]
    arrays = [
        one.arg for one in parameters if one is not None and one.annotation and _ARRAY.search(_unparsed(one.annotation))
    ]
    if arrays and not _SHAPE.search(text):
        yield f"it has no shape in brackets for {', '.join(arrays)}"


def _unparsed(annotation: ast.expr) -> str:
    return ast.unparse(annotation).strip("'\"")
