"""What one process of a check has compiled, a later one does not compile again.

Clauses: J-57.
"""

from contextlib import closing
from unittest.mock import Mock

import pytest

from simstrategy_xla.mesh_check import running
from simstrategy_xla.mesh_check.jobs import Job, Run
from simstrategy_xla.mesh_check.processes import Processes

PROGRAM = """
import jax
import jax.numpy as jnp

EVENTS = []
jax.monitoring.register_event_listener(lambda name, **_: EVENTS.append(name))

def program(mesh):
    EVENTS.clear()
    value = jax.jit(lambda one: jnp.tanh(one) @ one)(jnp.linspace(0.0, 1.0, 9).reshape(3, 3))
    return {"value": value, "compiled": EVENTS.count("/jax/compilation_cache/cache_misses")}
"""


def found_in(processes, folder, nudge=None):
    file = folder / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    run = Run({}, (0, 1), nudge=nudge)
    (found,) = processes.run(Job(str(file), "program", ("data",), 2, (run,)), 100).runs
    leaves = dict(found.contents.leaves)
    return leaves["result['value']"].tobytes(), int(leaves["result['compiled']"])


def test_a_later_process_compiles_what_is_new_alone_and_gives_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    with closing(Processes()) as processes:
        plain, again = found_in(processes, tmp_path), found_in(processes, tmp_path)
        moved = found_in(processes, tmp_path, nudge=1)
    assert plain[1] > 0 == again[1]
    assert plain[0] == again[0]
    assert 0 < moved[1] < plain[1]
    assert moved[0] != plain[0]


@pytest.mark.parametrize("broken", [False, True], ids=["as they are", "cut off"])
def test_the_users_own_folder_is_used_also_with_files_that_were_cut_off(tmp_path, monkeypatch, broken):
    own = tmp_path / "own"
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(own))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    with closing(Processes()) as processes:
        plain = found_in(processes, tmp_path)
        files = [one for one in own.iterdir() if one.name.endswith("-cache")]
        for one in files if broken else ():
            one.write_bytes(one.read_bytes()[:20])
        again = found_in(processes, tmp_path)
    assert files
    assert again[0] == plain[0]
    assert again[1] == 0 or broken


@pytest.mark.parametrize("more", [0, 1])
def test_no_more_is_kept_where_much_is(tmp_path, monkeypatch, more):
    config = Mock(jax_compilation_cache_dir=None)
    monkeypatch.setattr(running, "_CONFIG", config)
    with (tmp_path / "large").open("wb") as file:
        file.truncate(running.COMPILED_BYTES_MAX + more)
    running.keep_compiled(str(tmp_path))
    assert [call.args[1] for call in config.update.call_args_list] == ([] if more else [str(tmp_path), 0, -1])
