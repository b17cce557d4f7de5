"""Strangers at every port of a group, on every backend that spans processes.  Clauses: K-3, K-4, K-6.

Where the framework's transport may take a stranger for a process, every process raises PeerFailed at worst; see
docs/clusters.md.
"""

import pytest
from scenarios import SUBJECTS
from shares import one_in
from strangers import TAKEN, WORDS, added_up

from simstrategy.launch import Launcher
from simstrategy.peers import LOOPBACK, free_port

BOUND_S = 16.0
"""An opening and six sums take less than this on a slow machine; the time limit of each call is 20 s."""


@pytest.mark.slow
@pytest.mark.parametrize("word", one_in(6, WORDS))
def test_strangers_neither_join_nor_delay_nor_end_a_group(launcher: Launcher, backend: str, word: str) -> None:
    if SUBJECTS[backend].joins_once:
        launcher.restart_workers()
    address = f"{LOOPBACK}:{free_port(LOOPBACK)}"
    ended = launcher.run(added_up, [backend, address, word], timeout_s=60.0)
    if backend in TAKEN.get(word, ()) and not ended[0].ok:
        assert [one.error and one.error[0] for one in ended] == ["PeerFailed"] * 3, ended
        return
    assert all(one.ok for one in ended), ended
    totals, took_s, ports = zip(*[one.value for one in ended], strict=True)
    assert totals == (6, 6, 6)
    assert max(took_s) < BOUND_S
    assert sum(ports) > 0, "no stranger found a port"
