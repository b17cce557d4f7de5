"""Who checks a program of another library: by the type that it says it takes."""

import sys
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

import pytest

import simstrategy as ss
from simstrategy.check import Report, Row, checkers
from simstrategy.check.checkers import checker_of
from simstrategy.check.formats import as_data
from simstrategy.check.formats.joined import joined, report_of
from simstrategy.check.judging import judge_runs
from simstrategy.check.laws import OF_RUNS
from simstrategy.check.runs import Settings
from simstrategy.check.study import Study
from simstrategy.errors import BackendUnavailable, InvalidArgument, InvalidType
from simstrategy.schedules import InOrder


class Theirs:
    """A strategy of a library called acme."""


Theirs.__module__ = "acme.strategies"


def of_acme(strategy: Theirs) -> Any:
    raise AssertionError("acme's checker runs it")


def in_words(strategy: "Theirs", more: int = 1) -> Any: ...


def ours(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", 1.0))


def of_tensorflow(strategy: Theirs) -> Any: ...


def check_acme(program, *, replicas, settings, laws, require, on_row):
    rows = [Row("acme", str(n), "its own", n == replicas[0], True, 0.0, 1e-7, 3, False, None) for n in replicas]
    for row in rows:
        on_row(row)
    return Report(f"{program.__name__}, errors {'allowed' if settings.allow_errors else 'not allowed'}", rows)


@pytest.fixture
def acme(monkeypatch):
    """Installs a checker for acme, and one for another library that cannot be imported."""
    module = ModuleType("simstrategy_acme_checks")
    module.check_acme = check_acme
    monkeypatch.setitem(sys.modules, module.__name__, module)
    points = {
        "acme": EntryPoint("acme", "simstrategy_acme_checks:check_acme", checkers.GROUP),
        "broken": EntryPoint("broken", "simstrategy_missing:check", checkers.GROUP),
        "misspelt": EntryPoint("misspelt", "simstrategy_acme_checks:chekc", checkers.GROUP),
    }
    monkeypatch.setattr(checkers, "entry_points", lambda group, name: [points[name]] if name in points else [])


@pytest.mark.parametrize("program", [of_acme, in_words])
def test_a_program_is_checked_by_the_library_whose_strategy_it_says_it_takes(acme, program):
    assert checker_of(program) is check_acme
    seen = []
    report = ss.check(program, replicas=[1, 2], allow_errors=True, on_row=seen.append)
    assert (report.program, [row.replicas for row in report.rows]) == (
        f"{program.__name__}, errors allowed",
        ["1", "2"],
    )
    assert seen == list(report.rows)
    assert report.agrees


@pytest.mark.parametrize("program", [ours, lambda strategy: 1, len, print])
def test_a_program_that_takes_ours_or_does_not_say_is_checked_here(acme, program):
    assert checker_of(program) is None


def test_a_type_of_a_library_without_a_checker_is_refused_with_what_to_do():
    with pytest.raises(InvalidType) as raised:
        ss.check(of_acme, replicas=[1])
    line = of_acme.__code__.co_firstlineno
    assert str(raised.value) == (
        f"The first parameter of the program at test_checkers.py:{line}, 'strategy', has the type acme.strategies."
        f"Theirs, and no installed checker runs programs with a type of acme. Annotate it with simstrategy.Strategy, "
        f"or leave the type out, where the program takes our strategy; else install a distribution that has an entry "
        f"point 'acme' in the group 'simstrategy.checks'."
    )


@pytest.mark.parametrize(
    ("package", "folders"),
    [("tensorflow", "./backends/tensorflow ./backends/tf_distribute"), ("jax", "./backends/xla")],
)
def test_a_library_that_we_know_of_says_what_to_install(acme, monkeypatch, package, folders):
    monkeypatch.setattr(Theirs, "__module__", f"{package}.sharding")
    with pytest.raises(BackendUnavailable) as raised:
        ss.check(of_tensorflow, replicas=[1])
    assert str(raised.value) == (
        f"The program takes an object of {package}, and no checker for such programs is installed. "
        f"In a checkout of simstrategy, install it with: pip install {folders}"
    )


@pytest.mark.parametrize(
    ("package", "told"),
    [
        ("broken", r"from simstrategy_missing:check: No module named 'simstrategy_missing'\."),
        ("misspelt", r"from simstrategy_acme_checks:chekc: 'chekc'\."),
    ],
)
def test_a_checker_that_cannot_be_imported_is_named(acme, monkeypatch, package, told):
    monkeypatch.setattr(Theirs, "__module__", package)
    with pytest.raises(BackendUnavailable, match=f"takes an object of {package}, and the checker of such .* {told}"):
        checker_of(of_acme)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"backends": ["sim", "torch"]}, "no backends to choose"),
        ({"compiled": True, "schedules": [lambda: ss.schedules.Seeded(1)]}, "no compiled and no schedules to choose"),
        ({"semantics": ss.Semantics.TF2}, "no semantics to choose"),
    ],
)
def test_settings_that_mean_nothing_to_another_librarys_strategy_are_refused(acme, settings, named):
    with pytest.raises(InvalidArgument, match=f"another library's strategy, which has {named}: leave that out"):
        ss.check(of_acme, **settings)


def test_a_law_that_needs_our_strategies_is_refused_and_the_others_reach_the_checker(acme, monkeypatch):
    with pytest.raises(InvalidArgument, match="the law of coverage needs one of simstrategy's: leave it out"):
        ss.check(of_acme, laws=["coverage"])
    seen = []

    def look(program, *, replicas, settings, laws, require, on_row):
        seen.append((settings.exempt, {*settings.asked}, settings.workers, laws, require))
        return check_acme(program, replicas=replicas, settings=settings, laws=laws, require=require, on_row=on_row)

    monkeypatch.setattr(sys.modules["simstrategy_acme_checks"], "check_acme", look)
    ss.check(of_acme, replicas=[1, 2], laws=["all"], exempt={"loss": "printed"}, require=["uneven"])
    ss.check(of_acme, replicas=[1, 2], workers=[2], laws=["state"], without=["replicas"])
    assert seen == [
        ({"loss": "printed"}, {"all"}, (), ["replicas", "state", "cut", "order", "resume"], ["uneven"]),
        ({}, {"state"}, (2,), ["state", "cut"], ()),
    ]


def test_laws_arguments_and_words_that_programs_of_a_library_do_not_have_are_refused():
    def judged(asked=(), vary=None, require=(), workers=()):
        settings = Settings(asked=asked, vary=vary or {}, workers=workers)
        study = Study(ours, ["sim"], [1, 2], (), (InOrder,), settings)
        return judge_runs(study, OF_RUNS, ["replicas", "order"], require, lambda row: None, ["replicas"])

    assert {row.law for row in judged().rows} == {"repeat", "replicas"}
    with pytest.raises(InvalidArgument, match="Programs under sim are not judged by the law of order: leave it out"):
        judged(asked={"order"})
    with pytest.raises(InvalidArgument, match=r"not judged by the law of cut: .* Their laws are replicas, state"):
        judged(vary={"more": [1, 2]})
    with pytest.raises(InvalidArgument, match="A program under sim has no workers to choose: leave workers out"):
        judged(workers=[2])
    with pytest.raises(InvalidArgument, match="cannot try 'uneven': require can name replicas"):
        judged(require=["uneven"])


def test_an_agreement_of_runs_that_asked_nothing_says_so():
    empty, full = ss.check(lambda strategy: 1.0, replicas=[1, 2]), ss.check(ours, replicas=[1, 2])
    assert empty.agrees
    assert "The program used nothing of its strategies: no variable, no run, no collective." in str(empty)
    assert list(full.remarks()) == []
    assert str(report_of(as_data(empty))) == str(empty)


def made_by(text, **names):
    """Returns the program of a text, in a module with these names."""
    exec(text, names)
    return names["program"]


def test_an_agreement_about_nothing_of_a_program_of_another_library_is_not_judged():
    """Clause: J-122."""
    library = ModuleType("tensorflow")
    foreign = made_by("def program(strategy):\n    return 1.0\n", tf=library)
    report = ss.check(foreign, replicas=[1, 2])
    assert report.verdict == "undecided"
    assert "NOT JUDGED: its strategies were not used" in str(report)
    assert "for tf.distribute.Strategy, give the parameter its type, strategy: tf.distribute.Strategy" in str(report)
    used = made_by("def program(strategy):\n    strategy.run(lambda: None)\n    return 1.0\n", tf=library)
    assert ss.check(used, replicas=[1, 2]).agrees
    ours = made_by("def program(strategy):\n    return 1.0\n", tf=ModuleType("numpy"))
    assert ss.check(ours, replicas=[1, 2]).agrees
    other = made_by("def program(strategy):\n    return strategy.num_replicas_in_sync * 2.0\n", tf=library)
    assert ss.check(other, replicas=[1, 2]).verdict == "differ"


def test_a_program_whose_parameter_has_a_type_is_not_told_to_give_it_one():
    """Nor is a script, whose rows state what to do."""
    study = Study(lambda strategy: 1.0, ["sim"], [1, 2], (), (InOrder,), Settings())
    report = judge_runs(study, OF_RUNS, ["replicas"], (), lambda row: None)
    assert "The program used nothing of what it was given" in str(report)
    assert "annotate" not in str(report)
    assert list(Report("train.py", report.rows).remarks()) == []
    assert "annotate" not in str(joined("all", {"ours": report}, ""))
    assert "ours: The program used nothing of what it was given" in str(joined("all", {"ours": report}, ""))
