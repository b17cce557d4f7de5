"""The figures of the structure are counted as they are described, and a bound that is exceeded is seen."""

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ci import house, walks


def tree(text):
    return ast.parse(textwrap.dedent(text))


def first_class(text):
    return tree(text).body[0]


def test_members_are_the_names_of_a_class_body_and_what_methods_set_on_it():
    node = first_class("""
        class Thing:
            constant = 1
            first, second = 1, 2
            field: int
            __slots__ = ("x",)

            def method(self, other):
                self.made, self._hidden = 1, 2
                self.counted += 1
                self.read_only
                other.foreign = 1

            def _private(myself):
                myself.late: int = 1

            class Inner:
                self_less = 1
    """)
    expected = {"constant", "first", "second", "field", "method", "made", "counted", "late", "Inner"}
    assert house.public_members(node) == expected


def class_of(name, count):
    return f"class {name}:\n" + "".join(f"    m{number} = 1\n" for number in range(count))


@pytest.mark.parametrize(("count", "is_kept"), [(20, True), (21, False)])
def test_a_class_of_more_than_twenty_public_members_is_seen(count, is_kept):
    row = house.members({"simstrategy.x": tree(class_of("Thing", count))})
    assert row.is_kept == is_kept
    assert ("Thing has 21" in "".join(row.behind)) == (not is_kept)


def test_members_that_a_contract_demands_do_not_count_for_those_who_carry_it_out():
    contract = tree(class_of("Backend", 30))
    assert house.members({"a": contract, "b": tree(class_of("ToyBackend", 30))}).is_kept
    more = class_of("ToyBackend", 30) + "".join(f"    more{number} = 1\n" for number in range(21))
    assert not house.members({"a": contract, "b": tree(more)}).is_kept


@pytest.mark.parametrize(("more", "is_kept"), [(20, True), (21, False)])
def test_a_contract_may_be_made_of_several(more, is_kept):
    parts = {"Runs": "of_runs", "Recorded(Runs)": "recorded", "RepeatedRuns(Recorded)": "again"}
    runs = "".join(f"class {name}:\n    {member} = 1\n" for name, member in parts.items())
    own = "".join(f"    own{number} = 1\n" for number in range(more))
    study = f"class Study:\n    of_runs = recorded = again = 1\n{own}"
    assert house.members({"a": tree(runs), "b": tree(study)}).is_kept == is_kept


@pytest.mark.slow
def test_no_class_has_more_public_members_than_the_bound():
    files = house.imports.module_files(house.imports.ROOT)
    row = house.members({name: ast.parse(path.read_text(encoding="utf-8")) for name, path in files.items()})
    assert row.is_kept, row.behind


@pytest.mark.slow
def test_every_exception_of_the_table_of_members_is_a_class_of_the_repository_that_needs_it():
    files = house.imports.module_files(house.imports.ROOT)
    nodes = [
        node
        for path in files.values()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and len(house.public_members(node)) > house.MEMBERS_MAX
    ]
    assert set(house.FACES) - {node.name for node in nodes} == set()


def test_sizes_name_the_files_that_are_too_long_and_the_median_is_the_core_s():
    rows = house.sizes({"simstrategy.a": 100, "simstrategy.b": 140, "simstrategy_torch.c": 321})
    assert [(row.value, row.is_kept) for row in rows] == [("1", False), ("120", True)]
    assert rows[0].behind == ["simstrategy_torch.c: 321 lines"]
    assert not house.sizes({"simstrategy.a": 131})[1].is_kept


def test_annotations_are_counted_as_described():
    text = """
        import typing
        from typing import Any
        Array = Any

        def one(self, a: Any, b: object, /, c: "Any", *d: Array, e: int = 1, f: Any | None = None) -> typing.Any:
            g: Any = 1
            h: list[int] = []

        def bare(x, y):
            return x
    """
    rows = {row.name.strip(): row for row in house.any_share({"simstrategy.x": tree(text)})}
    assert rows["annotations that are Any or object"].value == "57.1 %"  # a, b, c and the return, of seven
    assert not rows["annotations that are Any or object"].is_kept
    assert rows["the same, aliases of Any too"].value == "71.4 %"  # and d
    assert rows["the same, variables too"].value == "55.6 %"  # and g, of nine
    assert rows["that contain Any or object"].value == "71.4 %"  # and f
    assert rows["aliases of Any"].behind == ["simstrategy.x.Array"]


def test_the_share_is_kept_where_annotations_are_precise():
    rows = house.any_share({"simstrategy.x": tree("def one(a: int, b: list[int]) -> None: ...")})
    assert rows[0].is_kept


def calls(*files):
    return [walks.Call(file, 1, "f") for file in files]


def test_a_change_of_file_is_a_call_in_another_file_than_the_one_before():
    assert walks.figures(calls("a", "a", "b", "a", "c")) == (5, 3, 3)
    assert walks.figures([]) == (0, 0, 0)


@pytest.mark.parametrize(("files", "kept"), [(10, True), (11, False)])
def test_a_walk_through_too_many_files_is_seen(files, kept):
    rows = list(house.walked({"a": calls(*map(str, range(files)))}))
    assert [row.is_kept for row in rows] == [True, kept, True]


def test_a_walk_that_changes_its_file_too_often_is_seen():
    rows = list(house.walked({"b": calls(*"ab" * 14)}))
    assert [row.is_kept for row in rows] == [True, True, False]


def test_the_recorder_counts_calls_of_the_package_alone_and_no_returns(tmp_path):
    source = "def outer(act):\n    return [inner(act) for _ in range(2)]\ndef inner(act):\n    return act()\n"
    (tmp_path / "module.py").write_text(source)
    scope = {}
    exec(compile(source, str(tmp_path / "module.py"), "exec"), scope)
    found = walks.record(lambda: scope["outer"](lambda: 1), tmp_path)
    assert [call.function for call in found] == ["outer", "outer.<locals>.<listcomp>", "inner", "inner"]
    assert walks.record(lambda: re.escape("x"), Path(walks.PACKAGE)) == []


def test_walks_follow_the_value_through_every_replica_to_the_addition_and_back():
    found = walks.walk("a")
    names = [call.function for call in found]
    assert names[0] == "Strategy.run"
    assert names.count("ReplicaContext.all_reduce") == walks.REPLICAS
    addition = max(place for place, call in enumerate(found) if call.file == "sim/collectives.py")
    assert names.index("ReplicaContext.all_reduce") < addition < len(names) - 1
    # In a process of its own: the thread that looks at runs may have ended for what other tests ran, and begin again.
    code = "from ci import walks; print(walks.walk('a') == walks.walk('a') != [])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=house.imports.ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout == "True\n", done.stderr


@pytest.mark.deep
def test_the_other_walks_start_at_the_public_face_and_end_below():
    written = [call.function for call in walks.walk("b")]
    assert written[0] == "Strategy.run"
    assert "SimBackend.reduce" in written
    distributed = [call.function for call in walks.walk("c")]
    assert distributed[0] == "Strategy.experimental_distribute_dataset"
    assert distributed.count("SimBackend.put") == walks.REPLICAS


def test_annotations_of_any_between_all_reduce_and_the_addition_are_seen():
    path = [
        walks.Call("strategy/run.py", 1, "ReplicaContext.all_reduce"),
        walks.Call("strategy/run.py", 3, "before"),
        walks.Call("strategy/run.py", 1, "ReplicaContext.all_reduce"),
        walks.Call("strategy/run.py", 5, "between"),
        walks.Call("sim/collectives.py", 1, "combine"),
        walks.Call("strategy/run.py", 7, "after"),
    ]
    text = "".join(f"def {name}(x: Any) -> int:\n    return 1\n" for name in ("first", "before", "between", "after"))
    trees = {"simstrategy.strategy.run": ast.parse(text), "simstrategy.sim.collectives": ast.parse("def c(): ...")}
    row = house.any_on_the_way(path, trees)
    assert not row.is_kept
    assert row.behind == ["simstrategy.strategy.run:1 first: 1", "simstrategy.strategy.run:5 between: 1"]
    clean = {**trees, "simstrategy.strategy.run": ast.parse(text.replace("Any", "int"))}
    assert house.any_on_the_way(path, clean).is_kept
