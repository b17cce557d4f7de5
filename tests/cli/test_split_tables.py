"""The tables of who gets what, measured of TensorFlow, as data; `simstrategy split` has to print every row of them.

A row is what a shell would be given, the policies and profiles that agree, and the parts: ` | ` between
replicas, ` / ` between steps, `-` for nothing. Lines of files are named by file and line, `0.3`.

# Clauses: D-1, D-3, D-4, D-5, D-6, D-7, D-8
"""

import json

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from simstrategy.cli.app import app_for

PER_BATCH = ("TF1_15 AUTO", "TF1_15 OFF", "TF2 AUTO", "TF2 DATA")
"""Who cuts every batch on its own, where elements come from memory."""
STREAM = ("TF2 OFF", "TF2 FILE", "TF2 HINT")
"""Who lets parts of one size flow across the borders of batches."""
ALL = (*PER_BATCH, *STREAM)

ONE_WORKER = [
    ("--total 10 --batch 4 --replicas 2", PER_BATCH, "0 1 | 2 3 / 4 5 | 6 7 / 8 | 9"),
    ("--total 10 --batch 4 --replicas 2", STREAM, "0 1 | 2 3 / 4 5 | 6 7 / 8 9 | -"),
    ("--total 9 --batch 4 --replicas 2", ALL, "0 1 | 2 3 / 4 5 | 6 7 / 8 | -"),
    ("--total 14 --batch 8 --replicas 2", PER_BATCH, "0 1 2 3 | 4 5 6 7 / 8 9 10 | 11 12 13"),
    ("--total 14 --batch 8 --replicas 2", STREAM, "0 1 2 3 | 4 5 6 7 / 8 9 10 11 | 12 13"),
    ("--total 6 --batch 8 --replicas 2", PER_BATCH, "0 1 2 | 3 4 5"),
    ("--total 6 --batch 8 --replicas 2", STREAM, "0 1 2 3 | 4 5"),
    ("--total 7 --batch 7 --replicas 3", PER_BATCH, "0 1 2 | 3 4 5 | 6"),
    ("--total 7 --batch 7 --replicas 3", STREAM, "0 1 2 | 3 4 | 5 6"),
    ("--total 7 --batch 7 --replicas 2 --drop-remainder", ALL, "0 1 2 3 | 4 5 6"),
    ("--total 8 --batch 4 --replicas 3", PER_BATCH, "0 1 | 2 3 | - / 4 5 | 6 7 | -"),
    ("--total 8 --batch 4 --replicas 3", STREAM, "0 1 | 2 | 3 / 4 5 | 6 | 7"),
    ("--total 10 --batch 4 --replicas 3", PER_BATCH, "0 1 | 2 3 | - / 4 5 | 6 7 | - / 8 | 9 | -"),
    ("--total 10 --batch 4 --replicas 3", STREAM, "0 1 | 2 | 3 / 4 5 | 6 | 7 / 8 9 | - | -"),
    (
        "--total 5 --batch 4 --replicas 2 --repeat-batches 3",
        PER_BATCH,
        "0 1 | 2 3 / 4 | - / 0 1 | 2 3 / 4 | - / 0 1 | 2 3 / 4 | -",
    ),
    ("--total 5 --batch 4 --replicas 2 --repeat-batches 3", STREAM, "0 1 | 2 3 / 4 0 | 1 2 / 3 4 | 0 1 / 2 3 | 4"),
    ("--total 5 --batch 4 --replicas 2 --repeat 3", ALL, "0 1 | 2 3 / 4 0 | 1 2 / 3 4 | 0 1 / 2 3 | 4"),
    ("--total 6 --batch 4 --replicas 2 --repeat-batches 2", PER_BATCH, "0 1 | 2 3 / 4 | 5 / 0 1 | 2 3 / 4 | 5"),
    ("--total 6 --batch 4 --replicas 2 --repeat-batches 2", STREAM, "0 1 | 2 3 / 4 5 | 0 1 / 2 3 | 4 5"),
    ("--total 4 --batch 1 --replicas 2", PER_BATCH, "0 | - / 1 | - / 2 | - / 3 | -"),
    ("--total 4 --batch 1 --replicas 2", STREAM, "0 | - / 1 | - / 2 | - / 3 | -"),
    ("--total 14 --batch 8 --replicas 3", PER_BATCH, "0 1 2 | 3 4 5 | 6 7 / 8 9 | 10 11 | 12 13"),
    ("--total 10 --batch 4 --replicas 2 --map", ALL, "0 1 | 2 3 / 4 5 | 6 7 / 8 | 9"),
    ("--total 10 --batch 4 --replicas 1", ALL, "0 1 2 3 / 4 5 6 7 / 8 9"),
    ("--total 0 --batch 4 --replicas 2", ALL, ""),
]

ONE_WORKERS_FILES = [
    (
        "--files 10 --batch 4 --replicas 2",
        ("TF2 DATA", "TF1_15 AUTO", "TF1_15 OFF"),
        "0.0 0.1 | 0.2 0.3 / 0.4 0.5 | 0.6 0.7 / 0.8 | 0.9",
    ),
    (
        "--files 10 --batch 4 --replicas 2",
        ("TF2 AUTO", "TF2 FILE", "TF2 OFF", "TF2 HINT"),
        "0.0 0.1 | 0.2 0.3 / 0.4 0.5 | 0.6 0.7 / 0.8 0.9 | -",
    ),
    (
        "--files 10 --batch 4 --replicas 2 --map",
        ("TF2 AUTO", "TF2 FILE", "TF2 OFF", "TF2 HINT", "TF2 DATA"),
        "0.0 0.1 | 0.2 0.3 / 0.4 0.5 | 0.6 0.7 / 0.8 | 0.9",
    ),
]

WORKERS = [
    (
        "--total 16 --batch 8 --workers 2 --replicas 2",
        ("TF1_15 AUTO", "TF2 AUTO", "TF2 DATA"),
        "0 1 | 4 5 | 2 3 | 6 7 / 8 9 | 12 13 | 10 11 | 14 15",
    ),
    ("--total 8 --batch 3 --workers 2 --replicas 1", ("TF1_15 AUTO", "TF2 DATA"), "0 1 | 2 / 3 4 | 5 / 6 | 7"),
    (
        "--total 9 --batch 2 --workers 2 --replicas 1",
        ("TF1_15 AUTO", "TF2 AUTO"),
        "0 | 1 / 2 | 3 / 4 | 5 / 6 | 7 / 8 | -",
    ),
    ("--total 8 --batch 4 --workers 3 --replicas 1", ("TF1_15 AUTO", "TF2 AUTO"), "0 1 | 2 3 | - / 4 5 | 6 7 | -"),
    (
        "--total 16 --batch 8 --workers 2 --replicas 2",
        ("TF2 OFF",),
        "0 1 | 2 3 | 0 1 | 2 3 / 4 5 | 6 7 | 4 5 | 6 7 / 8 9 | 10 11 | 8 9 | 10 11 / 12 13 | 14 15 | 12 13 | 14 15",
    ),
    ("--total 4 --batch 4 --workers 3 --replicas 1", ("TF2 OFF",), "0 1 | 0 | 0 / 2 | 1 | 1 2 / 3 | 2 3 | 3"),
    (
        "--total 4 --batch 2 --workers 2 --replicas 3",
        ("TF2 OFF",),
        (
            "0 | 1 | - | - | - | - / - | - | - | 0 | 1 | - / 2 | 3 | - | - | - | - / - | - | - | 2 | 3 | -"
            " / - | - | - | - | - | -"
        ),
    ),
    ("--total 4 --batch 2 --workers 2 --replicas 1", ("TF1_15 OFF",), "0 | 0 / 1 | 1 / 2 | 2 / 3 | 3"),
    ("--total 8 --batch 2 --workers 2 --replicas 1", ("TF2 HINT",), "0 | 1 / 2 | 3 / 4 | 5 / 6 | 7"),
    (
        "--files 7,7 --batch 7 --workers 2 --replicas 2",
        ("TF2 FILE", "TF2 AUTO"),
        "0.0 0.1 | 0.2 0.3 | 1.0 1.1 | 1.2 / 0.4 0.5 | 0.6 | 1.3 1.4 | 1.5 1.6",
    ),
    (
        "--files 2,1,3 --batch 2 --workers 2 --replicas 1",
        ("TF2 FILE", "TF2 AUTO"),
        "0.0 | 1.0 / 0.1 | - / 2.0 | - / 2.1 | - / 2.2 | -",
    ),
    ("--files 2,0 --batch 2 --workers 2 --replicas 1", ("TF2 FILE",), "0.0 | - / 0.1 | -"),
    ("--files 2,2 --batch 4 --workers 2 --replicas 1", ("TF2 DATA",), "0.0 0.1 | 1.0 1.1"),
]

REFUSED = [
    (
        "--total 4 --batch 2 --workers 2",
        ("TF2 FILE",),
        (
            "Found an unshardable source dataset: AutoShardPolicy.FILE distributes files over the workers, and this "
            "dataset reads none, or not in every branch. Use AutoShardPolicy.DATA, or OFF and Dataset.shard."
        ),
    ),
    (
        "--files 2,2 --batch 2 --workers 3",
        ("TF2 FILE", "TF2 AUTO", "TF1_15 FILE"),
        (
            "Could not apply FILE based sharding: the dataset only has 2 file(s), which is not enough for 3 workers. "
            "Write at least 3 files, or choose AutoShardPolicy.DATA."
        ),
    ),
]


def rows(table):
    return [
        pytest.param(arguments, one, wanted, id=f"{arguments} {one}")
        for arguments, ones, wanted in table
        for one in ones
    ]


def answer(arguments, profile_and_policy):
    profile, policy = profile_and_policy.split()
    result = CliRunner().invoke(
        app_for(["split"]), ["split", *arguments.split(), "--semantics", profile, "--policy", policy, "--json"]
    )
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)[policy]


def shown(steps):
    def named(element):
        return element.removeprefix("f").replace("-", ".")

    return " / ".join(" | ".join(" ".join(map(named, part)) or "-" for part in step) for step in steps)


@pytest.mark.parametrize(("arguments", "profile_and_policy", "wanted"), rows(ONE_WORKER + ONE_WORKERS_FILES + WORKERS))
def test_a_row_of_the_tables_is_what_the_command_prints(arguments, profile_and_policy, wanted):
    assert shown(answer(arguments, profile_and_policy)["steps"]) == wanted


@pytest.mark.parametrize(("arguments", "profile_and_policy", "error"), rows(REFUSED))
def test_what_tensorflow_refuses_is_refused_with_a_way_out(arguments, profile_and_policy, error):
    assert answer(arguments, profile_and_policy) == {"error": error}


def test_too_few_files_are_dealt_by_element_before_tf2_and_that_is_said():
    found = answer("--files 2,2 --batch 3 --workers 3 --replicas 1", "TF1_15 AUTO")
    assert shown(found["steps"]) == "0.0 | 0.1 | 1.0 / 1.1 | - | -"
    assert "only 2 file(s) for 3 workers: every worker reads all files" in found["warnings"]
