"""A program's syntax tree, in which edits are found and to which they are applied in place.

The edits themselves are in `mutations_planted.py`, which make a program depend on the number of replicas, and in
`mutations_neutral.py`, which do not.
"""

import ast
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

__all__ = ["Edit", "Source", "calls", "is_call", "op_of", "parts_of"]

MOVED = ("weights", "means", "shares", "centres", "self", "ctx")
"""Parameters of replica functions that hold no part of a batch."""


class Edit(NamedTuple):
    """A change that can be made.  kinds: what a judge may call it; () for one that plants nothing."""

    name: str
    kinds: tuple[str, ...]
    apply: Callable[[Random], None]


class Source:
    """A program as a tree, and where its nodes are."""

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def text(self) -> str:
        """Returns the program's text, without comments."""
        return ast.unparse(ast.fix_missing_locations(self.tree)) + "\n"

    def functions(self, node: ast.AST) -> list[ast.FunctionDef]:
        """Returns the functions around a node, the innermost first."""
        found = []
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, ast.FunctionDef):
                found.append(node)
        return found

    def replicas(self, node: ast.AST) -> str | None:
        """Returns an expression for the number of replicas at a node."""
        around = self.functions(node)
        if any(one.name == "program" for one in around):
            return "strategy.num_replicas_in_sync"
        takes_context = around and any(argument.arg == "ctx" for argument in around[0].args.args)
        return "ctx.num_replicas_in_sync" if takes_context else None

    def replica_functions(self) -> Iterator[ast.FunctionDef]:
        """Yields the functions that `run` receives."""
        names = {
            node.args[0].id
            for node in ast.walk(self.tree)
            if is_call(node, "run") and node.args and isinstance(node.args[0], ast.Name)
        }
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef) and node.name in names:
                yield node

    def in_replica(self, node: ast.AST) -> ast.FunctionDef | None:
        """Returns the replica function around a node."""
        around = self.functions(node)
        return next((one for one in self.replica_functions() if one in around), None)

    def replace(self, node: ast.AST, text: str, **parts: ast.AST) -> None:
        """Puts an expression in a node's place; names in it that are keys of `parts` stand for these."""
        self.put(node, _Fill(parts).visit(ast.parse(text, mode="eval").body))

    def put(self, node: ast.AST, new: ast.AST) -> None:
        """Puts another node in a node's place."""
        parent = self.parents[node]
        for field, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, field, new)
            elif isinstance(value, list):
                setattr(parent, field, [new if one is node else one for one in value])


class _Fill(ast.NodeTransformer):
    def __init__(self, parts: dict[str, ast.AST]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.parts.get(node.id, node)


def is_call(node: ast.AST, *names: str) -> bool:
    """Returns whether a node is a call of a method of one of these names."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names


def calls(source: Source, *names: str) -> list[ast.Call]:
    return [node for node in ast.walk(source.tree) if is_call(node, *names)]


def op_of(call: ast.Call) -> str:
    return call.args[0].value if isinstance(call.args[0], ast.Constant) else ""


def parts_of(function: ast.FunctionDef) -> list[str]:
    """Returns the parameters of a replica function that are parts of a batch."""
    return [one.arg for one in function.args.args if one.arg not in MOVED]
