"""The graph of imports between the shipped files: finds circles of files, and packages without a contract.

    python3 ci/run.py layers

An edge is any import in the syntax tree: at the top of a file, under `TYPE_CHECKING`, inside a function, and
`import_module("a.literal.name")`. A name in a string annotation is no import. `from package import name` is an edge to
the file of `package.name` if there is one, else to the file of `package`. That Python loads the packages above a
module first is not counted: every package would be a circle. A circle is a strongly connected component of two files
or more, or a file that imports itself.
"""

import ast
import configparser
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {
    "simstrategy": ".",
    "simstrategy_tensorflow": "backends/tensorflow",
    "simstrategy_torch": "backends/torch",
    "simstrategy_xla": "backends/xla",
    "simstrategy_tf_distribute": "backends/tf_distribute",
    "simstrategy_torch_distributed": "backends/torch_distributed",
    "simstrategy_template": "backends/template",
    "simstrategy_conformance": "property_tests",
    "simstrategy_pytest": "property_tests/pytest_plugin",
    "simstrategy_corpus": "property_tests/corpus",
    "simstrategy_course": "course",
}
MODULES_MAX = 8
"""A package of more modules needs a contract: of layers, or that its modules are independent."""


class Import(NamedTuple):
    """One import of a shipped module. kind: "runtime", "type checking" or "deferred" (in a function)."""

    importer: str
    imported: str
    line: int
    kind: str


def module_files(root: Path, packages: Mapping[str, str] = PACKAGES) -> dict[str, Path]:
    """Returns the file of each module, for packages in their folders below a root.

    Files in folders that are no packages, such as the programs of the corpus, are data.
    """
    found = {}
    for package, folder in packages.items():
        for path in sorted((root / folder / package).rglob("*.py")):
            if not (path.parent / "__init__.py").exists():
                continue
            parts = path.relative_to(root / folder).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(files: Mapping[str, Path]) -> list[Import]:
    """Returns every import of one of these modules by one of them."""
    return [one for module in files for one in imports_in(module, files)]


def imports_in(module: str, files: Mapping[str, Path]) -> list[Import]:
    """Returns one module's imports of these modules."""
    path, found = files[module], []
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node, kind in _nodes(ast.parse(path.read_text(encoding="utf-8")), "runtime"):
        names = [name for name in _names(node, package, files) if name in files]
        found += [Import(module, name, node.lineno, kind) for name in names]
    return found


def _nodes(node: ast.AST, kind: str) -> Iterator[tuple[ast.AST, str]]:
    """Yields every node below this one, each with the kind of an import at its place."""
    guarded = node.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) else []
    for child in ast.iter_child_nodes(node):
        inner = "type checking" if child in guarded else kind
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            inner = "deferred"
        yield child, inner
        yield from _nodes(child, inner)


def _names(node: ast.AST, package: str, files: Collection[str]) -> list[str]:
    """Returns the names of the modules that a node imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        parents = package.split(".")
        start = parents[: len(parents) - node.level + 1] if node.level else []
        origin = ".".join([*start, *([node.module] if node.module else [])])
        inner = [f"{origin}.{alias.name}" for alias in node.names]
        return list(dict.fromkeys(name if name in files else origin for name in inner))
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
        name = node.args[0]
        return [name.value] if isinstance(name, ast.Constant) and isinstance(name.value, str) else []
    return []


def circles(imports: Iterable[Import]) -> list[frozenset[str]]:
    """Returns the circles of modules, the largest first."""
    edges: dict[str, set[str]] = {}
    for one in imports:
        edges.setdefault(one.importer, set()).add(one.imported)
    reached = {module: _reached(module, edges) for module in edges}
    found = {
        frozenset(other for other in reached[module] if module in reached.get(other, ()))
        for module in edges
        if module in reached[module]
    }
    return sorted(found, key=lambda circle: (-len(circle), sorted(circle)))


def _reached(start: str, edges: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for other in edges.get(waiting.pop(), ()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def complaints(imports: Collection[Import]) -> list[str]:
    """Returns a line for each circle of files, and one for each import in it."""
    found = []
    for circle in circles(imports):
        found.append(f"A circle of {len(circle)} files; move what both need to a file below:")
        inner = {one for one in imports if one.importer in circle and one.imported in circle}
        found += [f"  {one.importer}:{one.line} -> {one.imported} ({one.kind})" for one in sorted(inner)]
    return found


def without_layers(files: Mapping[str, Path], settings: str) -> list[str]:
    """Returns one text for each package of more than eight modules that no contract contains.

    settings: the text of ci/layers.ini. A contract of layers contains a package that is one of its containers, or all
    of whose modules it names.
    """
    parser = configparser.ConfigParser()
    parser.read_string(settings)
    contained: set[str] = set()
    named: set[str] = set()
    for section in parser.values():
        if section.get("type") == "layers" and "containers" in section:
            contained |= set(section["containers"].split())
        elif section.get("type") == "layers":
            named |= set(section["layers"].replace("|", " ").replace(":", " ").split())
        if section.get("type") == "independence":
            contained |= {name.removesuffix(".*") for name in section["modules"].split()}
    modules: dict[str, list[str]] = {}
    for module in sorted(files):
        modules.setdefault(module.rpartition(".")[0], []).append(module)
    found = []
    for package, inner in modules.items():
        plain = [one for one in inner if one not in modules]
        missing = [one for one in plain if one not in named]
        if package not in files or len(inner) <= MODULES_MAX or package in contained or not missing:
            continue
        if len(missing) == len(plain):
            found.append(f"{package} has {len(inner)} modules and no contract in ci/layers.ini")
        else:
            found.append(f"no contract in ci/layers.ini names {', '.join(missing)}")
    return found


def main() -> int:
    files = module_files(ROOT)
    imports = imports_of(files)
    found = complaints(imports) + without_layers(files, (ROOT / "ci" / "layers.ini").read_text(encoding="utf-8"))
    print("\n".join(found), end="\n" if found else "")
    kinds = Counter(one.kind for one in imports)
    counted = ", ".join(f"{kinds[kind]} {kind}" for kind in ("runtime", "type checking", "deferred"))
    print(f"imports: {len(files)} files, {len(imports)} imports ({counted}), {len(found)} complaints")
    sizes = [len(circle) for circle in circles(imports)]
    print(f"circles of files: {len(sizes)}" + (f" (of {', '.join(map(str, sizes))} files)" if sizes else ""))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
