"""Reads JAX's stacks of names: whether an operation is in a loop, or in a function inside of its program."""

from typing import Any, Final

__all__ = ["is_inner", "is_repeated"]

_LOOPS: Final = frozenset({"while", "body", "cond"})
"""JAX's names of what a loop consists of."""


def is_repeated(stack: str, module: Any) -> bool:
    """Returns whether an operation may come several times in a run of its program, or never.

    stack: of names around it.
    """
    return any(part in _LOOPS for part in stack.split("/")) or is_inner(stack, module)


def is_inner(stack: str, module: Any) -> bool:
    """Returns whether an operation is in a function inside of its program.

    A stack begins with the name of the compiled program, but JAX makes a function of its own of a loop's body, of what
    `jax.jit` compiles in a program, and of the like. In such a function it begins anew.
    """
    name = module.operation.attributes["sym_name"].value
    return _letters(stack.split("/", maxsplit=1)[0]) != _letters(name)


def _letters(name: str) -> str:
    """Returns the letters and digits of a name: jit(step) is the program jit_step."""
    return "".join(filter(str.isalnum, name))
