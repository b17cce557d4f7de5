"""What is counted for a tool, false accusations among it, and tools that a file describes."""

import json
import sys

import pytest
from small_corpus import small_bug, write_bug

from simstrategy_corpus.command import main
from simstrategy_corpus.reading import CorpusError
from simstrategy_corpus.score import score_bug, table
from simstrategy_corpus.tools import Answer, CommandTool, ComparingTool, Verdict, built_in, tool_of


class Answers:
    """A tool that gives one answer to wrong programs and another one to right ones."""

    name = "answers"

    def __init__(self, wrong, right=(Verdict.PASSES, "")):
        self.given = {"wrong.py": wrong, "right.py": right}

    def answer(self, case, limit):
        given = self.given[case.file.name]
        return Answer(*given, *((1.0,) if len(given) == 2 else ()))


SUMMED = """import torch
import torch.distributed as dist

dist.init_process_group("gloo")
total = torch.tensor([1.0 + dist.get_rank()])
dist.all_reduce(total)
assert total.item() == {total}, f"wrong.py:2: the total is {{total.item()}}"
print("result total", total.item())
"""


@pytest.mark.parametrize(("wrong", "end"), [("3.0", "silent"), ("5.0", "noticed")])
def test_threads_run_a_script_and_what_one_raises_accuses(tmp_path, wrong, end):
    pytest.importorskip("torch")
    bug = small_bug(tmp_path, run={"launcher": "torchrun"})
    bug.wrong.file.write_text(SUMMED.format(total=wrong))
    bug.right.file.write_text(SUMMED.format(total="3.0"))
    row = score_bug(built_in()["threads"], bug, 60.0)
    assert (row.wrong, row.right) == (end, "passed")


def raises(case, limit):
    raise KeyError(case.name)


FULL = 'File "x/wrong.py", line 2: summed where averaged was meant'


@pytest.mark.parametrize(
    ("wrong", "end"),
    [
        ((Verdict.ACCUSES, FULL), "found"),
        ((Verdict.ACCUSES, "wrong.py:2: a factor of 2"), "found"),
        ((Verdict.ACCUSES, FULL, 12.0), "found late"),
        ((Verdict.ACCUSES, "wrong.py:1: a factor of 2"), "noticed"),
        ((Verdict.ACCUSES, "right.py:2: a factor of 2"), "noticed"),
        ((Verdict.ACCUSES, "wrong.py:2: differs"), "noticed"),
        ((Verdict.PASSES, FULL), "silent"),
        ((Verdict.HANGS, FULL), "hang"),
        ((Verdict.UNDECIDED, ""), "undecided"),
        ((Verdict.CRASHES, "SIGSEGV"), "crash"),
        ((Verdict.CANNOT, ""), "cannot run"),
    ],
)
def test_a_wrong_program_is_found_only_with_its_kind_and_its_line(tmp_path, wrong, end):
    row = score_bug(Answers(wrong), small_bug(tmp_path), 5.0)
    assert (row.wrong, row.right) == (end, "passed")


def test_a_tool_that_accuses_everything_finds_bugs_and_accuses_falsely(tmp_path):
    rows = [score_bug(Answers((Verdict.ACCUSES, FULL), (Verdict.ACCUSES, FULL)), small_bug(tmp_path), 5.0)]
    assert (rows[0].wrong, rows[0].right) == ("found", "accused")
    assert "finds 1 of 1 bugs" in table("answers", rows)
    assert "It accuses 1 of 1 right programs." in table("answers", rows)


def test_a_tool_that_raises_has_crashed_with_its_reason(tmp_path):
    tool = Answers(None)
    tool.answer = raises
    row = score_bug(tool, small_bug(tmp_path), 5.0)
    assert (row.wrong, row.right) == ("crash", "crash")
    assert "KeyError" in row.reason


def python_tool(code, **settings):
    return CommandTool("one", {"jax": (sys.executable, "-c", code, "{file}", "{arguments}")}, **settings)


@pytest.mark.slow
def test_a_command_is_judged_by_its_exit_code(tmp_path):
    bug = small_bug(tmp_path)
    ends = {"pass": "silent", "import sys; sys.exit(1)": "noticed", "import sys; sys.exit(2)": "undecided"}
    for code, end in ends.items():
        assert score_bug(python_tool(code, undecided=(2,)), bug, 60.0).wrong == end
    assert score_bug(python_tool("import os; os.abort()", crashes=(-6,)), bug, 60.0).wrong == "crash"
    assert score_bug(CommandTool("none", {"jax": ("no-such-command-here",)}), bug, 60.0).wrong == "crash"
    assert score_bug(CommandTool("none", {"torchrun": ("true",)}), bug, 60.0).wrong == "cannot run"


def test_a_command_that_hangs_is_ended_at_the_limit(tmp_path):
    row = score_bug(python_tool("import signal; signal.pause()"), small_bug(tmp_path), 0.3)
    assert (row.wrong, row.right) == ("hang", "hang")


@pytest.mark.slow
def test_comparing_finds_results_that_depend_on_the_run(tmp_path):
    bug = small_bug(tmp_path)
    bug.wrong.file.write_text("import sys\nprint('result total', float(sys.argv[2]))\n")
    assert score_bug(ComparingTool("compare"), bug, 60.0).wrong == "noticed"
    assert score_bug(ComparingTool("compare"), bug, 60.0).right == "passed"


def test_a_strangers_tool_is_a_file(tmp_path, capsys):
    write_bug(tmp_path)
    (tmp_path / "healthy").mkdir()
    code = "import sys; text = open(sys.argv[1]).read(); print(sys.argv, 'wrong.py:2 factor'); sys.exit('* 2' in text)"
    command = ["{python}", "-c", code, "{file}", "{all_replicas}"]
    (tmp_path / "mine.toml").write_text(f'name = "mine"\n[commands]\njax = {json.dumps(command)}\n')
    given = ["score", "--corpus", str(tmp_path), "--tool", str(tmp_path / "mine.toml")]
    assert main([*given, "--json", str(tmp_path / "score.json")]) == 0
    assert "mine finds 1 of 1 bugs" in capsys.readouterr().out
    rows = json.loads((tmp_path / "score.json").read_text())["rows"]
    assert [(row["name"], row["wrong"], row["right"]) for row in rows] == [("doubled", "found", "passed")]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("name = 3", "give a name"),
        ("name = 'a'", "[commands]"),
        ("name = 'a'\n[commands]\nrocket = ['x']", "the command of rocket"),
        ("name = 'a'\n[commands]\njax = []", "the command of jax"),
        ("name = 'a'\n[commands]\njax = ['x']\n[codes]\npasses = ['0']", "[codes]"),
        ("name = ", "cannot be read"),
    ],
)
def test_a_tool_that_is_described_wrongly_is_refused(tmp_path, text, named):
    (tmp_path / "tool.toml").write_text(text)
    with pytest.raises(CorpusError) as raised:
        tool_of(str(tmp_path / "tool.toml"))
    assert named in str(raised.value)


def test_wrong_calls_name_what_there_is(tmp_path, capsys):
    assert main(["score", "--tool", "nothing"]) == 2
    shown = capsys.readouterr().err
    assert all(name in shown for name in built_in())
    assert main(["list", "no_such_bug"]) == 2
    assert "no_such_bug" in capsys.readouterr().err
    assert main(["list", "--corpus", str(tmp_path)]) == 2


def test_list_names_every_folder(capsys):
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    assert "transformers_34191" in shown
    assert "plain_ddp" in shown
