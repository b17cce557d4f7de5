"""Holes: the parts of a solution that a student writes.

In a solution a hole begins with the comment `# hole: WHAT TO WRITE` and ends with `# end of hole`. The student's file
has `...` in its place, with the same comment. The solution itself is never shown.
"""

import ast
import re
from typing import Final

__all__ = ["open_holes", "template_of"]

_HOLE: Final = re.compile(r"^([ ]*)# hole: (.+)\n(?:.*\n)*?[ ]*# end of hole\n", re.MULTILINE)


def template_of(solution: str, seed: str = "") -> str:
    r"""Returns a student's file.  seed: of the student, from which the data of the file are drawn.

    >>> template_of("def f(x):\n    # hole: the double\n    return 2 * x\n    # end of hole\n")
    'def f(x):\n    ...  # the double\n'
    """
    text = _HOLE.sub(r"\1...  # \2\n", solution)
    return re.sub(r"^SEED = .*$", lambda _: f"SEED = {seed!r}", text, count=1, flags=re.MULTILINE)


def open_holes(tree: ast.Module) -> list[int]:
    """Returns the lines of a file's `...` that stand where a statement or a value has to be written."""
    found = []
    for node in ast.walk(tree):
        value = node.value if isinstance(node, ast.Expr | ast.Assign | ast.Return | ast.AnnAssign) else None
        if isinstance(value, ast.Constant) and value.value is Ellipsis:
            found.append(value.lineno)
    return sorted(found)
