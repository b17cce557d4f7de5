"""The lessons' programs of PyTorch, on simulated ranks and on processes of gloo.  They need PyTorch."""

import importlib
import importlib.util
import shlex
import subprocess
import sys

import pytest
from lesson_pages import blocks, fits, save_programs, shown

from simstrategy_course.reading import lessons

LIMIT_S = 120.0
MISSING = [name for name in ("torch", "simstrategy_torch_distributed") if importlib.util.find_spec(name) is None]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")]
TORCHRUN = "simstrategy torchrun --nproc-per-node "


def commands_of(lesson, start):
    """Returns the commands of a lesson that begin so."""
    texts = [block for block in blocks(lesson.text) if block.kind == "console"]
    return [one for block in texts for one in shown(block) if one.command.startswith(start)]


def test_programs_of_pytorch_print_on_simulated_ranks_what_four_lessons_show(folder, capfd):
    running = importlib.import_module("simstrategy_torch_distributed.running")
    settings = importlib.import_module("simstrategy_torch_distributed.settings")
    server = running.started()  # one for all scripts: to import PyTorch takes longer than to run them
    with_torch = []
    try:
        for lesson in lessons():
            save_programs(lesson.text, folder)
            for one in commands_of(lesson, TORCHRUN):
                ranks, script = one.command.removeprefix(TORCHRUN).split()
                report = running.run_on([server], settings.Settings(str(folder / script), ranks=int(ranks), tee=True))
                printed = capfd.readouterr()
                output = printed.out + printed.err + report.text()
                assert fits(output, one.output), f"{one.command}\n{output}"
                with_torch.append(lesson.number)
    finally:
        server.close()
    assert sorted(set(with_torch)) == [3, 5, 8, 11]


def test_processes_of_gloo_hang_and_add_wrong_numbers_as_lesson_8_shows(folder):
    lesson = lessons()[8]
    save_programs(lesson.text, folder)
    commands = commands_of(lesson, "python ")
    assert len(commands) == 2
    for one in commands:
        command = [sys.executable, *shlex.split(one.command)[1:]]
        run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert fits(run.stdout, one.output), run.stdout + run.stderr
