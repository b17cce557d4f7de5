"""Which modules of torch a script imports, so that they are imported once and not in each rank.

Nothing of the script is run, and no module of the user's is imported for all ranks.
"""

import ast
import importlib.util
import warnings
from collections.abc import Iterator
from pathlib import Path

__all__ = ["modules_of_torch"]


def modules_of_torch(script: str) -> list[str]:
    """Returns the names of torch's modules in the import statements of a script; none for what is no script.

    Only modules that torch's folder has: one that cannot be found is an error of the script, in each rank.
    """
    torch = importlib.util.find_spec("torch")
    if torch is None or not torch.submodule_search_locations:
        return []
    folder = Path(torch.submodule_search_locations[0]).parent
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the script's syntax: each rank shows them
            tree = ast.parse(Path(script).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return sorted({name for name in _names(tree) if _is_module(folder, name)})


def _names(tree: ast.Module) -> Iterator[str]:
    """Yields what may be names of torch's modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        else:
            continue
        yield from (name for name in found if f"{name}.".startswith("torch."))


def _is_module(folder: Path, name: str) -> bool:
    path = folder.joinpath(*name.split("."))
    return (path / "__init__.py").is_file() or path.with_suffix(".py").is_file()
