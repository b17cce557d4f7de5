"""Joins the ES modules of the page into one script, so that it is one file without a bundler.

Each module becomes a function that returns what it exports, in the order in which they need each other. The modules
stay what browsers run: one line for an import of names, and `export` before a function or a constant.
"""

import re
from collections.abc import Mapping
from typing import Final

__all__ = ["joined"]

_IMPORT: Final = re.compile(r'^import \{ ([\w, ]+) \} from "\./([\w.]+)";$', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|const) (\w+))", re.MULTILINE)


def joined(modules: Mapping[str, str], main: str) -> str:
    r"""Returns one script.  modules: texts by file name. main: the one that begins.

    Raises ValueError for modules that import each other in a circle, and for an import or export of another form.

    >>> modules = {"a.js": "export const one = 1;", "main.js": 'import { one } from "./a.js";\nconsole.log(one);'}
    >>> print(joined(modules, "main.js"))
    const module_a = (() => {
    const one = 1;
    return { one };
    })();
    (() => {
    const { one } = module_a;
    console.log(one);
    })();
    """
    texts: list[str] = []
    _add(modules, main, texts, (), set())
    return "\n".join(texts)


def _add(modules: Mapping[str, str], name: str, texts: list[str], above: tuple[str, ...], done: set[str]) -> None:
    if name in above:
        raise ValueError(f"the modules {' → '.join((*above, name))} import each other in a circle")
    if name in done:
        return
    text = modules[name]
    for found in _IMPORT.finditer(text):
        _add(modules, found[2], texts, (*above, name), done)
    done.add(name)
    exported = [found[1] for found in _EXPORT.finditer(text)]
    body = _EXPORT.sub("", _IMPORT.sub(lambda found: f"const {{ {found[1]} }} = {_variable(found[2])};", text)).strip()
    for line in body.splitlines():
        if line.startswith(("import ", "export ")):
            raise ValueError(f"{name}: {line!r} is no import or export that can be joined")
    ending = f"return {{ {', '.join(exported)} }};\n" if exported else ""
    beginning = f"const {_variable(name)} = " if above else ""
    texts.append(f"{beginning}(() => {{\n{body}\n{ending}}})();")


def _variable(name: str) -> str:
    # Apart from the names in modules.
    return f"module_{name.removesuffix('.js')}"
