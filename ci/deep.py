"""The full counts that acceptance lists name; what they print is kept in docs/evidence/.

    python3 ci/run.py deep [NAME …]      the names are those of RUNS, below

Without names it runs all of them. Each evidence file begins with the versions it was made with. The file of a run
that misses what it needs stays as it was, and the run counts as failed.
"""

import platform
import sys
from importlib.metadata import version

from evidence import CANNOT_RUN, ROOT, output
from run import TEST_FOLDERS

EVIDENCE = ROOT / "docs" / "evidence"
VERSIONS = ("simstrategy", "numpy", "greenlet", "tensorflow", "torch", "jax")

RUNS = {
    "torture": [sys.executable, "ci/torture.py", "--seeds", "2000"],
    "red": [sys.executable, "ci/seen_red.py"],
    "interrupts": [sys.executable, "ci/interrupts.py", "--count", "20000"],
    "bench": [sys.executable, "ci/bench/budgets.py"],
    "growth": [sys.executable, "-m", "ci.bench.growth"],
    "player": [sys.executable, "ci/bench/player.py"],
    "long": [sys.executable, "ci/bench/long.py"],
    "golden": [sys.executable, "ci/replays.py"],
    "estimator": [sys.executable, "ci/golden/estimator_replay.py"],
    "split": [
        *(sys.executable, "-m", "pytest", "-q", "tests/data/test_splitting.py", "-k", "oracle"),
        *("--hypothesis-profile=deep", "--hypothesis-show-statistics"),
    ],
    "pipelines": [
        *(sys.executable, "-m", "pytest", "-q", "tests/data/test_against_tensorflow.py"),
        *("--hypothesis-profile=pipelines", "--hypothesis-show-statistics"),
    ],
    "cases": [sys.executable, "ci/run.py", "pytest", "-q", "-m", "deep", *TEST_FOLDERS],
    "scenarios": [
        *(sys.executable, "-m", "pytest", "-q", "-rs", "tests/processes/every_scenario.py", "--durations=10"),
    ],
    "processes": [sys.executable, "ci/bench/processes.py"],
    "kit_gloo": [sys.executable, "ci/kit_gloo.py"],
    "ends": [sys.executable, "-m", "pytest", "-q", "backends/tf_distribute/tests/every_end.py"],
    "tf_programs": [sys.executable, "backends/tf_distribute/tests/tf_table.py"],
    "tf_timed": [sys.executable, "backends/tf_distribute/tests/tf_timed.py"],
    "mesh_timed": [sys.executable, "backends/xla/tests/mesh_table.py", "--timed"],
    "tf_workers": [
        *(sys.executable, "-m", "simstrategy", "check", "examples/keras_digits.py", "--function", "looped"),
        *("--replicas", "1,2,3", "--workers", "2,3", "--quiet-program"),
    ],
    "stream": [sys.executable, "ci/bench/stream.py"],
    "demo": [sys.executable, "ci/run.py", "demo"],
    "programs_census": [sys.executable, "ci/campaigns/census.py", "--programs", "5000"],
    "programs_tensorflow": [sys.executable, "ci/campaigns/campaign.py", "tensorflow", "--programs", "10000"],
    "programs_witness": [sys.executable, "ci/campaigns/campaign.py", "witness", "--programs", "3000"],
    "programs_xla": [sys.executable, "ci/campaigns/campaign.py", "xla", "--programs", "5000"],
    "programs_compiled": [sys.executable, "ci/campaigns/campaign.py", "compiled", "--programs", "1000"],
    "programs_interpreted": [sys.executable, "ci/campaigns/campaign.py", "interpreted", "--programs", "1000"],
    "stacked": [sys.executable, "ci/campaigns/campaign.py", "stacked", "--programs", "5000"],
    "ray": [sys.executable, "ci/campaigns/on_cluster.py", "--programs", "100000"],
    "programs_bugs": [sys.executable, "ci/campaigns/hunt.py"],
    "recordings": [sys.executable, "ci/campaigns/recordings.py", "--programs", "2000"],
    "promises_red": [sys.executable, "ci/campaigns/promises_red.py"],
    "attack": [sys.executable, "ci/campaigns/attack.py", "--programs", "2000"],
    "mutated": [sys.executable, "ci/campaigns/mutated.py", "--seed", "2026"],
    "faults": [sys.executable, "ci/campaigns/faults.py"],
    "torch_failures": [
        *(sys.executable, "-m", "pytest", "-q", "backends/torch_distributed/tests/every_failure.py", "--durations=0"),
    ],
    "torch_replays": [sys.executable, "ci/torch_replays.py"],
    "torch_sources": [sys.executable, "ci/campaigns/torch_sources.py"],
    "upstream": [sys.executable, "-m", "ci.campaigns.upstream"],
    "in_situ": [sys.executable, "ci/campaigns/in_situ.py", "--environments", "build/in_situ"],
    "torch_versions": [sys.executable, "ci/torch_versions.py"],
    "torch_distributed": [sys.executable, "ci/bench/torch_distributed.py"],
    "mutants": [sys.executable, "tests/mutants/mutant_matrix.py", "--jobs", "2"],
    "backend_mutants": [sys.executable, "ci/campaigns/backend_mutants.py"],
    "kit": [sys.executable, "ci/bench/kit.py"],
    "course": [sys.executable, "ci/campaigns/course_mutants.py"],
    "c10d": [sys.executable, "ci/c10d.py"],
    "matrix": [sys.executable, "ci/matrix.py", "--page", "docs/evidence/matrix.html"],
    "corpus": [sys.executable, "-m", "simstrategy_corpus.command", "prove", "--jobs", "2"],
    **{
        f"corpus_{tool}": [
            sys.executable,
            "-m",
            "simstrategy_corpus.command",
            "score",
            "--tool",
            tool,
            "--seconds",
            "120",
            "--jobs",
            "2",
            "--json",
            f"property_tests/corpus/scores/{tool}.json",
        ]
        for tool in ("gloo", "gloo-detail", "threads", "rank0-compare", "simstrategy-torchrun", "simstrategy-check")
    },
    "mesh_programs": [sys.executable, "backends/xla/tests/mesh_table.py"],
    "keras": [sys.executable, "ci/keras_programs.py"],
    "torch_judged": [sys.executable, "backends/torch_distributed/tests/scripts_table.py"],
    "stranger": [sys.executable, "ci/stranger.py"],
    "stranger_tests": [sys.executable, "ci/stranger_tests.py"],
    "tpu_compile": [
        *("env", "TPU_LIBRARY_PATH=.venv/tpu/libtpu/libtpu.so", sys.executable, "-m", "simstrategy"),
        *("compile-check", "--program", "examples/compiled_digits.py:first_steps"),
    ],
    "compiled": [sys.executable, "ci/bench/compiled.py"],
    "array_api": [sys.executable, "ci/array_api/run.py"],
    "array_calls": [sys.executable, "ci/array_calls/run.py"],
    "kit_xla": [sys.executable, "ci/tpu.py", "--host-devices", "1,2,4,8", "--profile", "quick"],
    "tpu": [sys.executable, "ci/run.py", "tpu"],
}


def header(command):
    """Returns the lines that say what was run with what."""
    versions = ", ".join(f"{name} {version(name)}" for name in VERSIONS)
    shown = " ".join("python3" if word == sys.executable else word for word in command)
    return f"$ {shown}\nPython {platform.python_version()}, {versions}\n\n"


def main(names):
    unknown = [name for name in names if name not in RUNS]
    if unknown:
        print(f"no such run: {', '.join(unknown)}; there are {', '.join(RUNS)}", file=sys.stderr)
        return 2
    EVIDENCE.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in names or RUNS:
        print(f"--- {name}", flush=True)
        code, printed = output(RUNS[name], errors=None)
        print(printed, end="", flush=True)
        failed += [name] if code else []
        if code == CANNOT_RUN:
            continue
        lines = [line.rstrip() for line in printed.splitlines()]
        text = header(RUNS[name]) + "\n".join(lines) + f"\n\nexit code {code}\n"
        (EVIDENCE / f"{name}.txt").write_text(text, encoding="utf-8")
    if failed:
        print(f"FAILED: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
