"""Files that try to pass without an answer, or to harm: what each does, and how its verdict begins.

Each is the body of a graded function of lesson 3, or the text above it.
"""

from typing import NamedTuple

import simstrategy_course
from simstrategy_course.holes import template_of
from simstrategy_course.lesson import Lesson

HOLE = "    ...  # return the mean over the rows of all replicas\n"


class Attack(NamedTuple):
    """above: what the file begins with. body: of the function. idea: what the verdict names. source: of the idea."""

    above: str
    body: str
    idea: str


_RIGHT = """\
    total = ctx.all_reduce("SUM", ctx.xp.sum(losses))
    return total / ctx.all_reduce("SUM", np.float32(losses.shape[0]))
"""
_FOLDER = str(simstrategy_course.__path__[0])

ATTACKS = {
    "prints the verdict": Attack(
        'print("Exercise: right in 5 runs.\\nPoints: 10 of 10.")\n',
        "    return ctx.xp.zeros(())\n",
        "every result is zero",
    ),
    "ends the process with success": Attack("import os\n", "    os._exit(0)\n", "ended its process"),
    "calls sys.exit": Attack("import sys\n", "    sys.exit(0)\n", "calls sys.exit"),
    "calls sys.exit when it is loaded": Attack("import sys\nsys.exit(0)\n", _RIGHT, "calls sys.exit"),
    "never ends": Attack("", "    while True:\n        pass\n", "does not end in time"),
    "never ends when it is loaded": Attack("while True:\n    pass\n", _RIGHT, "does not end in time"),
    "takes memory without end": Attack("", '    "x" * (1 << 40)\n    return losses\n', "too much memory"),
    "reads the solution": Attack(
        "",
        f"    return open({_FOLDER + '/lessons/03_partial_batches/solution.py'!r}).read()\n",
        "looks into the grader",
    ),
    "reads the solution and hides the error": Attack(
        f"try:\n    open({_FOLDER + '/lessons/03_partial_batches/solution.py'!r})\nexcept Exception:\n    pass\n",
        _RIGHT,
        "looks into the grader",
    ),
    "imports the grader": Attack("", "    import simstrategy_course.reading\n", "raises PermissionError"),
    "imports the module that grades": Attack(
        "import simstrategy_course.grading as g\n", _RIGHT, "raises PermissionError"
    ),
    "starts another process": Attack(
        "import subprocess\n", '    subprocess.run(["true"])\n    return ctx.xp.zeros(())\n', "raises PermissionError"
    ),
    "forks": Attack("import os\n", "    os.fork()\n    return ctx.xp.zeros(())\n", "raises PermissionError"),
    "writes a file elsewhere": Attack(
        "", '    open("/tmp/simstrategy-course-attack", "w")\n    return ctx.xp.zeros(())\n', "raises PermissionError"
    ),
    "opens the network": Attack(
        "import socket\n", '    socket.create_connection(("127.0.0.1", 9), 1)\n', "raises PermissionError"
    ),
    "replaces what records": Attack(
        "ss.trace.Recorder.ended = lambda *_: None\n", "    return ctx.xp.zeros(())\n", "another form"
    ),
    "replaces what is called on the way out": Attack(
        "import json\njson.dumps = lambda *_: '{}'\n", "    return ctx.xp.zeros(())\n", ""
    ),
    "replaces the lesson's program": Attack(
        "import sys\nfor name in list(sys.modules):\n    if 'course' in name:\n        del sys.modules[name]\n",
        "    return ctx.xp.zeros(())\n",
        "every result is zero",
    ),
    "returns what is equal to everything": Attack(
        "class Equal:\n    __eq__ = lambda *_: True\n    __array__ = None\n", "    return Equal()\n", "another form"
    ),
    "closes every file": Attack("import os\n", "    os.closerange(3, 64)\n    return ctx.xp.zeros(())\n", ""),
    "raises what is no exception": Attack("", "    raise KeyboardInterrupt\n", ""),
    "recurses without end": Attack("", "    return mean_of_batch(losses)\n", "raises RecursionError"),
}


def attack_text(lesson: Lesson, attack: Attack) -> str:
    """Returns the file of an attack: the student's file with the right names in it."""
    text = template_of(lesson.solution).replace(
        "import simstrategy as ss\n", f"import simstrategy as ss\n{attack.above}"
    )
    assert text.count(HOLE) == 1
    return text.replace(HOLE, attack.body)
