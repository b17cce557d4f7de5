"""The examples of the clauses on tf.distribute, in docs/examples_of_tf_distribute.md, do what they show.

Clauses: J-29, J-38, J-39, J-44 to J-56.
"""

import pytest
from block_runs import SHARES, run_page
from blocks import ROOT

from simstrategy.launch.together import Workers
from simstrategy_tf_distribute.multi_worker import processes
from simstrategy_tf_distribute.multi_worker import runs as worker_runs

PAGE = ROOT / "docs" / "examples_of_tf_distribute.md"


class Kept:
    """Workers of all examples, which a check does not close."""

    def __init__(self, workers: Workers) -> None:
        self.run, self.process = workers.run, workers.process

    def close(self) -> None:
        """Does nothing."""


# Warnings of Keras and TensorFlow.
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.slow
@pytest.mark.parametrize("share", SHARES)
def test_the_examples_of_tf_distribute_do_what_they_show(share, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    workers = processes.start_workers()  # each needs seconds to import TensorFlow
    monkeypatch.setattr(worker_runs, "start_workers", lambda: Kept(workers))
    try:
        run_page(PAGE, tmp_path, share)
    finally:
        workers.close()
