"""Whether a `strategy.run` gives every replica the same examples: a loop over a dataset that was not distributed.

Plain tensors among the arguments of a run are those of all replicas. What the loop goes over, and the line that set it,
are read from the caller's frame and file. Nothing here decides whether that is wrong: lawful programs may do so.
"""

import ast
import linecache
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import FrameType
from typing import Any, NamedTuple

import tensorflow as tf

from simstrategy.trace import describe_site
from simstrategy_tf_distribute.lines import Site

__all__ = ["Undistributed", "undistributed"]


class Undistributed(NamedTuple):
    """Examples that all replicas receive alike.

    run: the line of the `strategy.run`. loop: of the loop. dataset: the name of what it goes over. made: the line that
    set this name; that of the loop where none is known.
    """

    run: Site
    loop: Site
    dataset: str
    made: Site

    @property
    def text(self) -> str:
        """Returns a sentence for a cause."""
        set_at = "" if self.made == self.loop else f", which is set at {describe_site(self.made)}"
        return (
            f"The strategy.run at {describe_site(self.run)} gives every replica the whole batch of the loop over "
            f"{self.dataset!r} at {describe_site(self.loop)}{set_at} and is not distributed: pass it to "
            f"strategy.experimental_distribute_dataset"
        )


def undistributed(frame: FrameType, arguments: Any) -> Undistributed | None:
    """Returns where examples come from that a run gives to all replicas; None where it gives none, or it is not known.

    frame: of the caller of `strategy.run`. arguments: of the replica function, a nest. Clause: J-39.
    """
    leaves = tf.nest.flatten(arguments)
    if any(isinstance(leaf, tf.distribute.DistributedValues) and not isinstance(leaf, tf.Variable) for leaf in leaves):
        return None
    examples = [leaf for leaf in leaves if isinstance(leaf, tf.Tensor) and leaf.shape.rank]
    file = frame.f_code.co_filename
    for loop in _loops_around(file, frame.f_lineno) if examples else ():
        names = [one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)]
        given = [leaf for name in names for leaf in tf.nest.flatten(_value(frame, name))]
        if not any(leaf is one for leaf in examples for one in given):
            continue
        for name in [one.id for one in ast.walk(loop.iter) if isinstance(one, ast.Name)]:
            if isinstance(_value(frame, name), tf.data.Dataset):
                made = _line_that_sets(file, name, loop)
                return Undistributed((file, frame.f_lineno), (file, loop.lineno), name, (file, made))
    return None


def _value(frame: FrameType, name: str) -> Any:
    return frame.f_locals.get(name, frame.f_globals.get(name))


def _loops_around(file: str, line: int) -> Iterator[ast.For]:
    """Yields the loops of the same function whose body has a line, the innermost first."""
    found = [
        one
        for one in _nodes(file)
        if isinstance(one, ast.For) and one.body[0].lineno <= line <= (one.body[-1].end_lineno or 0)
    ]
    yield from reversed(found)


def _line_that_sets(file: str, name: str, loop: ast.For) -> int:
    """Returns the last line before a loop, in the innermost function around it, that sets a name; else the loop's."""
    around = [one for one in _nodes(file) if isinstance(one, ast.FunctionDef) and _has(one, loop.lineno)]
    lines = [
        one.lineno
        for one in (ast.walk(around[-1]) if around else _nodes(file))
        if isinstance(one, (ast.Assign, ast.AnnAssign))
        and one.lineno < loop.lineno
        and name in _set_by(one.targets if isinstance(one, ast.Assign) else [one.target])
    ]
    return max(lines, default=loop.lineno)


def _set_by(targets: Sequence[ast.expr]) -> set[str]:
    return {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}


def _has(node: ast.FunctionDef, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def _nodes(file: str) -> tuple[ast.AST, ...]:
    """Returns all nodes of a file as it is now, an outer one before what it contains; none where it cannot be read."""
    linecache.checkcache(file)
    return _nodes_of("".join(linecache.getlines(file)))


@lru_cache(maxsize=64)
def _nodes_of(source: str) -> tuple[ast.AST, ...]:
    try:
        return tuple(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):
        return ()
