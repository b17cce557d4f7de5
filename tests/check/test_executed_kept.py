"""What a script trains is known by its statements: those that compute a name from itself, and calls in loops.

Clauses: J-117.
"""

import ast

import pytest

from simstrategy.check.executed.kept import BEFORE, KEEP, Form, Keeping, Kept, with_forms


def kept_of(text):
    """Returns what a text keeps when it runs."""
    tree = ast.fix_missing_locations(Keeping().visit(ast.parse(text)))
    kept = Kept()
    eval(
        compile(tree, "train.py", "exec"),
        {BEFORE: kept.before, KEEP: kept.keep, "f": lambda *given, **named: given[-1]},
    )
    return kept


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("w = 1\nw = f(w)", ["w"]),
        ("w = 1\nw, loss = f((w, 2))", ["w"]),
        ("w = loss = 1\n[w, *loss] = f((w, loss))", ["w", "loss"]),
        ("w = 1\nw -= 1", ["w"]),
        ("w = 1\nw: int = w + 1", ["w"]),
        ("w = {'a': 1}\nw['a'] = w['a'] + 1", ["w"]),
        ("w = [1]\nw = [one + 1 for one in w]", ["w"]),
        ("class A: pass\nA.w = 1\nA.w = f(A.w)", ["A.w"]),
        ("w = 1\nv = f(w)", []),
        ("w: int", []),
        ("w = f(lambda w: w)", ["w"]),
        ("w = 1\nnew, loss = f((w, 2))\nw = new", ["w"]),
        ("w = v = 1\nout = f((w, v))\nw, (v, *rest) = out[0], (out[1], 2)", ["w", "v"]),
        ("w = 1\nout = f((w, 2))\nw, loss = out", ["w"]),
        ("w = best = 1\nw = f(w)\nbest = w", ["w"]),
    ],
)
def test_a_name_that_is_computed_from_itself_is_kept(text, names):
    assert [*kept_of(text).fed_back] == names


def test_the_last_value_is_kept_by_its_name_and_where_it_is():
    kept = kept_of(
        """
class Trainer:
    def fit(self):
        self.w = 1
        for _ in range(3):
            self.w = f(self.w * 2)
def main():
    w = 1
    def inner(w):
        w = w + 10
        return w
    w = inner(w)
    Trainer().fit()
main()
"""
    )
    assert kept.fed_back == {"w of main.inner": 11, "w of main": 11, "self.w of Trainer.fit": 8}


def test_what_a_call_in_a_loop_takes_is_kept_and_no_other_argument():
    kept = kept_of(
        """
model = rows = other = size = 1
f(other)
for _ in range(2):
    loss = f(model, size=size, rest=rows + 1)
    f.__call__(loss)
def step(other):
    f(other)
"""
    )
    assert kept.fed_back == {}
    assert {*kept.taken} == {"model", "size", "f", "loss"}


def test_what_a_call_within_an_expression_takes_is_kept_apart():
    kept = kept_of(
        """
model = rows = total = other = loss = 1
for _ in range(2):
    print(float(f(model, rows)))
    total += f(rows, total) + 1
    loss = 1 if loss else f(missing)
    seen = [f(one) for one in (other, 2)] + f([f(rows)])
    (lambda given: f(given))(3)
"""
    )
    assert kept.taken == {}
    assert {*kept.within} == {"model", "rows"}
    assert {*kept.fed_back} == {"total", "loss"}


def of_lists(value):
    shapes = tuple(map(type, value)) if isinstance(value, list) else ()
    parts = tuple(shapes and value)
    return Form(shapes, is_state=isinstance(value, list), arrays=frozenset(map(id, parts)), parts=parts)


def test_a_statement_that_changes_the_form_is_no_step():
    with with_forms(of_lists):
        kept = kept_of(
            "w, losses = [1, 2], []\nfor _ in range(3):\n    w = [w[1], 7.5]\n    losses += [w]\nw = w + w\n"
        )
    assert kept.fed_back == {"w": [7.5, 7.5]}


def test_what_goes_through_a_loop_is_known_from_a_batch():
    with with_forms(of_lists):
        kept = kept_of("w = [4001, 4002]\nfor x in ([5001], [5002]):\n    x = [x[0] + 1]\n    w = [*w[1:], x[0]]\n")
    assert {*kept.fed_back} == {"x", "w"}
    assert kept.carried == {"w"}


def test_what_is_only_copied_is_known_from_what_changes():
    with with_forms(of_lists):
        kept = kept_of("x, w = [1, 2], [3, 4]\nx = [*x]\nfor _ in range(2):\n    w = [w[0], w[1] + 1]\n")
    assert {*kept.fed_back} == {"x", "w"}
    assert kept.changed == {"w"}


def test_what_is_deleted_or_conditional_is_no_error():
    kept = kept_of("for w in [[1]]:\n    n = len(f(w)) or f(v)\n    del w\n")
    assert kept.within == {"w": [1]}


def test_lines_and_docstrings_stay_where_they_are():
    text = '"""A script."""\nfrom __future__ import annotations\nw = 1\nw = w + (\n    1)\nraise KeyError(w)\n'
    with pytest.raises(KeyError) as raised:
        kept_of(text)
    assert raised.traceback[-1].lineno + 1 == 6
