"""Scripts that torchrun runs: on simulated ranks the lawful ones print what they print with gloo, mistakes are named.

What gloo did is recorded in `scripts/answers.json`; `two_sides.py record` asks it again.

Clauses: G-40, G-41, G-42, G-43, G-45, G-46.
"""

import importlib.util
import re
import sys
import tempfile
import time
from pathlib import Path

import forks
import pytest
import script_corpus
import two_sides
from shares import DEEP, one_in

UNTIL_INSTALLED = pytest.mark.skipif(
    importlib.util.find_spec("simstrategy_torch_distributed") is None,
    reason="simstrategy-torch-distributed, which runs scripts on simulated ranks, is not installed",
)
NOT_ACCUSED = [script for folder in script_corpus.LAWFUL for script in script_corpus.scripts(folder)]
MISTAKES = script_corpus.mistakes()
NOT_NAMED = {"outside_group": "PyTorch returns before it calls the group, and warns with its own line alone"}
EVERY = [*NOT_ACCUSED, *script_corpus.scripts("mistakes")]


def name_of(script):
    return f"{script.folder}/{script.name}"


def with_reason(mistake, number):
    """Returns a mistake as a parameter: one that is not named is expected to fail, with the reason.  Half are deep."""
    name = mistake.script.name
    marks = [DEEP] if number % 2 else []
    marks += [pytest.mark.xfail(reason=NOT_NAMED[name], strict=True)] if name in NOT_NAMED else []
    return pytest.param(mistake, id=name, marks=marks)


def run_forked(script, *options):
    """Runs a script in an empty folder; the time of its end is that since its start."""
    given = [*options, *two_sides.ranks_and_target(script)]
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        ended = forks.torchrun(given, folder, two_sides.SECONDS_OF_LAWFUL, two_sides.settings_of(script))
        seconds = time.monotonic() - began
    lines = tuple(map(two_sides.without_rank, ended.stdout.splitlines()))
    return script_corpus.Run(ended.returncode, lines, ended.stdout + ended.stderr, seconds, seconds)


def is_running(process):
    """Returns whether a process is there; one that has ended and was not waited for has no environment."""
    try:
        return bool(Path("/proc", process, "environ").read_bytes())
    except OSError:
        return False


@UNTIL_INSTALLED
@pytest.mark.slow
@pytest.mark.parametrize("script", one_in(5, NOT_ACCUSED), ids=name_of)
def test_a_script_without_mistakes_prints_what_it_prints_with_gloo(script):
    answer = two_sides.answers()[script.folder][script.name]
    one = run_forked(script, "--tee", "3")
    assert (one.code, script_corpus.printed(script, one.lines)) == (0, answer["lines"]), one.text


@UNTIL_INSTALLED
@pytest.mark.slow
@pytest.mark.parametrize("mistake", [with_reason(one, number) for number, one in enumerate(MISTAKES)])
def test_a_mistake_is_named_with_the_line_of_every_rank(mistake):
    one = run_forked(mistake.script, *(("--tee", "3") if mistake.end == "warned" else ()))
    assert script_corpus.verdict(mistake, one) in ("named at once", "named late"), one.text
    assert script_corpus.named(mistake, one.text) == set(mistake.lines), one.text


@pytest.mark.parametrize("script", EVERY, ids=name_of)
def test_the_recorded_answer_is_of_this_source(script):
    answer = two_sides.answers()[script.folder].get(script.name)
    if answer is None and script.folder == "mistakes":
        pytest.skip("what gloo makes of this mistake is not recorded: run two_sides.py record --missing")
    assert answer["source"] == script.digest, "run two_sides.py record with this name"
    if script.folder != "mistakes":
        assert answer["code"] == 0
        assert answer["runs"] >= 1
        assert answer["lines"]


@pytest.mark.parametrize("script", EVERY, ids=name_of)
def test_a_script_is_short_and_has_few_ranks(script):
    assert 2 <= script.ranks <= 4
    assert len(script.file.read_text(encoding="utf-8").splitlines()) <= 70


def test_every_mistake_has_a_row_whose_places_are_the_marks_of_its_script():
    assert {one.script.name for one in MISTAKES} == {script.name for script in script_corpus.scripts("mistakes")}
    for one in MISTAKES:
        assert set(one.lines.values()) == set(script_corpus.marked(one.script.file).values()), one.script.name
        assert set(one.lines) <= set(range(one.script.ranks)), one.script.name
        for name in one.names:
            re.compile(name)


def test_a_line_names_the_ranks_that_it_lists():
    assert script_corpus.ranks_in("  rank 0: barrier at a.py:3") == {0}
    assert script_corpus.ranks_in('[rank1]:   File "a.py", line 3, in <module>') == {1}
    assert script_corpus.ranks_in("ranks 0, 2 and 3 wait for rank 1") == {0, 1, 2, 3}
    assert script_corpus.ranks_in("ranks 1-3: broadcast") == {1, 2, 3}
    assert script_corpus.ranks_in("frank 1, ranking 2") == set()


def test_an_error_that_names_another_line_or_rank_does_not_count():
    mistake = next(one for one in MISTAKES if one.script.name == "different_op")
    first, second = mistake.lines[0], mistake.lines[1]
    right = f"ranks disagree:\n  rank 0: all_reduce MAX at different_op.py:{first}\n"
    assert script_corpus.named(mistake, right + f"  rank 1: all_reduce SUM at different_op.py:{second}") == {0, 1}
    assert script_corpus.named(mistake, right + f"  rank 1: all_reduce SUM at different_op.py:{first}") == {0}
    assert script_corpus.named(mistake, right + f"  all_reduce SUM at different_op.py:{second}") == {0}
    assert script_corpus.named(mistake, right + f"  rank 1: all_reduce SUM at different_op.py:{second}0") == {0}
    traceback = f'  File "/tmp/different_op.py", line {second}, in <module>'
    assert script_corpus.named(mistake, right + f"rank 1 raised RuntimeError\n{traceback}") == {0, 1}


def test_an_end_is_judged_by_its_code_its_text_and_its_time():
    mistake = next(one for one in MISTAKES if one.script.name == "different_op")
    text = "".join(
        f"rank {rank}: all_reduce SUM, MAX at different_op.py:{line}\n" for rank, line in mistake.lines.items()
    )
    ended = script_corpus.Run(1, (), text, seconds=3.0, after=1.0)
    assert script_corpus.verdict(mistake, ended) == "named at once"
    assert script_corpus.verdict(mistake, ended._replace(seconds=16.0, after=14.0)) == "named late"
    assert script_corpus.verdict(mistake, ended._replace(text="RuntimeError: connection closed")) == "not named"
    assert script_corpus.verdict(mistake, ended._replace(seconds=34.0, after=14.0)) == "named at once"
    assert script_corpus.verdict(mistake, ended._replace(code=None)) == "named but not ended"
    assert script_corpus.verdict(mistake, ended._replace(code=None, text="")) == "hang"
    assert script_corpus.verdict(mistake, ended._replace(code=0, lines=mistake.right)) == "silent"
    assert script_corpus.verdict(mistake, ended._replace(code=0, lines=("result [1.0]",))) == "wrong number"


def test_a_run_leaves_no_process_whatever_group_it_is_in(tmp_path):
    file = tmp_path / "asleep.py"
    file.write_text(
        "# ranks: 1\n"
        "import subprocess, sys, time\n"
        "code = 'import time; time.sleep(600)'\n"
        "child = subprocess.Popen([sys.executable, '-c', code], start_new_session=True)\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    launcher = ("sh", "-c", 'exec "$0" "$3"', sys.executable)
    one = two_sides.run(script_corpus.script_of(file), launcher, limit=0.1)
    assert one.code is None
    assert not is_running(one.lines[0])
