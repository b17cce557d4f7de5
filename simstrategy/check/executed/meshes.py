"""Scripts of JAX: each run executes them in a process that has so many devices, and keeps what they train."""

import ast
from collections.abc import Sequence
from typing import Any, Final

from simstrategy.check.executed.kept import BEFORE, KEEP, Keeping, Kept
from simstrategy.check.executed.program import Library
from simstrategy.check.executed.running import Executed
from simstrategy.check.sources import imported_by, words_of

__all__ = ["OF_MESHES", "uses_devices"]

_OF: Final = "jax"
_RANKS: Final = "init_process_group"
_USES: Final = frozenset(
    ("pmap", "shard_map", "make_mesh", "Mesh", "NamedSharding", "PositionalSharding", "devices", "local_devices")
)
"""Names of which a script of several devices has one."""
_CHOSEN: Final = frozenset(("jax_num_cpu_devices", "jax_platforms", "jax_platform_name"))
"""Settings of JAX that choose its devices: the check has chosen them before the script begins."""
_CONNECTS: Final = ("distributed.initialize", "distributed.shutdown", "set_n_cpu_devices")
"""Functions that choose devices or processes, by the end of their names."""
_NOTHING: Final = "__simstrategy_nothing__"


def uses_devices(tree: ast.Module) -> bool:
    """Returns whether a script imports JAX, names something of several devices, and starts no ranks of torch."""
    words = words_of(tree)
    return _OF in imported_by(tree) and bool(words & _USES) and _RANKS not in words


def _changed(tree: ast.Module) -> ast.Module:
    changed: ast.Module = Keeping().visit(_Chosen().visit(tree))
    return changed


def _run(executed: Executed, mesh: Any, arguments: Sequence[str]) -> Kept:
    """Executes the script, which makes its own mesh of the devices that there are; returns what it trains."""
    kept = Kept()
    executed.run({BEFORE: kept.before, KEEP: kept.keep, _NOTHING: lambda *_, **__: None}, arguments)
    return kept


OF_MESHES: Final = Library("jax.sharding.Mesh", lambda mesh: int(mesh.devices.size), _changed, _run)
"""How such scripts are executed."""


class _Chosen(ast.NodeTransformer):
    """Puts a function that does nothing in place of each call that chooses the devices, or connects processes."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        first = node.args[0] if node.args else None
        chooses = name.endswith("config.update") and isinstance(first, ast.Constant) and first.value in _CHOSEN
        if chooses or name.endswith(_CONNECTS):
            node.func = ast.copy_location(ast.Name(_NOTHING, ast.Load()), node.func)
        return node
