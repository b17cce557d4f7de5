"""Which annotations of a program's parameter are ours, and that every other one is refused instead of guessed.

Clauses: J-102.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable  # noqa: F401
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, NewType, Optional, Protocol, TypeVar, Union, runtime_checkable  # noqa: F401

import pytest

import simstrategy as ss
from simstrategy.check.annotations import foreign_annotation
from simstrategy.check.checkers import checker_of
from simstrategy.errors import InvalidType

if TYPE_CHECKING:
    from typing import Any as Anything  # noqa: F401

    import acme_of_no_index.meshes as meshes  # noqa: F401, PLR0402

    from simstrategy import Strategy
    from simstrategy import Strategy as Renamed

    Alias = Renamed


class RunsPrograms(Protocol):
    num_replicas_in_sync: int

    def run(self, fn: Any, args: Any = ()) -> Any: ...


@runtime_checkable
class Reduces(Protocol):
    def reduce(self, op: Any, value: Any, axis: Any = None) -> Any: ...


class Flies(Protocol):
    def run(self, fn: Any) -> Any: ...
    def fly(self) -> None: ...


class Mesh:
    pass


Bounded = TypeVar("Bounded", bound=ss.Strategy)
BoundByName = TypeVar("BoundByName", bound="Strategy")
Free = TypeVar("Free")
Named = NewType("Named", ss.Strategy)

OURS = [
    *("Any", "object", "ss.Strategy", "'ss.Strategy'", "Optional[ss.Strategy]", "Optional['ss.Strategy']"),
    *("ss.Strategy | None", "Union[Mesh, ss.Strategy]", "Annotated[ss.Strategy, 'of two']", "Hashable"),
    *("RunsPrograms", "Reduces", "Free", "Bounded", "BoundByName", "Named", "'the strategy to use'"),
    # Bound for type checkers alone.
    *(
        "Strategy",
        "Renamed",
        "Alias",
        "Anything",
        "Optional[Strategy]",
        "Strategy | meshes.Mesh",
        "simstrategy.Strategy",
    ),
]
FOREIGN = [
    ("Mesh", "Mesh", ""),
    ("Optional[Mesh]", "Mesh", ""),
    ("meshes.Mesh", "acme_of_no_index.meshes.Mesh", "acme_of_no_index"),
    ("meshes.Mesh | None", "acme_of_no_index.meshes.Mesh", "acme_of_no_index"),
    ("elsewhere.Mesh", "elsewhere.Mesh", "elsewhere"),
    ("NowhereImported", "NowhereImported", ""),
    ("Flies", "lacks fly of that protocol", ""),
    ("ss.ReplicaContext", "ReplicaContext", "simstrategy"),
    ("ss.Stratgy", "simstrategy.Stratgy", "simstrategy"),
    ("type[ss.Strategy]", "type[simstrategy.strategy.strategy.Strategy]", "builtins"),
    ("list[ss.Strategy]", "list[", "builtins"),
    ("int", "builtins.int", "builtins"),
]


def annotated(text: str) -> Any:
    """Returns a program whose parameter has this annotation, and whose other ones nothing resolves."""
    made = f"def program(strategy: {text}, more: Unknown = 1) -> AlsoUnknown: ..."
    space: dict[str, Any] = {}
    exec(compile(f"from __future__ import annotations\n{made}", __file__, "exec"), globals(), space)
    return space["program"]


@pytest.mark.parametrize("text", OURS)
def test_what_a_strategy_satisfies_is_ours(text):
    assert checker_of(annotated(text)) is None


@pytest.mark.parametrize(("text", "shown", "package"), FOREIGN)
def test_any_other_type_is_refused_and_named(text, shown, package):
    found = foreign_annotation(annotated(text))
    assert found is not None
    if package:
        assert found.package == package
    with pytest.raises(InvalidType) as raised:
        ss.check(annotated(text), replicas=[1])
    assert shown in str(raised.value)
    assert "Annotate it with simstrategy.Strategy, or leave the type out" in str(raised.value)
    is_library = package in ("acme_of_no_index", "elsewhere")
    assert (f"install a distribution that has an entry point {package!r}" in str(raised.value)) is is_library


class Program:
    def __call__(self, strategy: ss.Strategy) -> Any: ...
    def of_mesh(self, mesh: Mesh) -> Any: ...
    @classmethod
    def made(cls, strategy: ss.Strategy | None) -> Any: ...
    @staticmethod
    def plain(mesh: Mesh) -> Any: ...


def decorated(function: Any) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


def unwrapped(function: Any) -> Any:
    def call(*args, **kwargs):
        return function(*args, **kwargs)

    return call


@pytest.mark.parametrize(
    "program",
    [
        Program(),
        Program().made,
        functools.partial(Program(), more=1),
        decorated(Program.made),
        unwrapped(Program.plain),
    ],
)
def test_methods_objects_partials_and_decorators_are_looked_into(program):
    assert checker_of(program) is None


@pytest.mark.parametrize(
    "program", [Program().of_mesh, Program.plain, functools.partial(Program.plain), decorated(Program.plain)]
)
def test_a_foreign_type_behind_them_is_refused(program):
    with pytest.raises(InvalidType, match=r"'mesh', has the type test_annotations\.Mesh|has the type .*Mesh"):
        checker_of(program)


def test_a_class_that_is_local_to_a_function_is_found_through_its_closure():
    class Local:
        pass

    def program(strategy: Local) -> Any:
        return Local

    with pytest.raises(InvalidType, match=r"Local, and no installed checker"):
        checker_of(program)


def test_a_program_of_jax_without_a_type_has_advice():
    space: dict[str, Any] = {"jax": ModuleType("jax")}
    exec("def program(mesh):\n    return mesh.devices\ndef other(count):\n    return count.devices\n", space)
    (shown,) = [one for one in str(ss.check(space["program"], replicas=[1])).splitlines() if "no type" in one]
    assert shown.endswith("In a program of JAX annotate the parameter: mesh: jax.sharding.Mesh")
    assert "no type" not in str(ss.check(space["other"], replicas=[1]))
    space.pop("jax")
    assert "no type" not in str(ss.check(space["program"], replicas=[1]))
