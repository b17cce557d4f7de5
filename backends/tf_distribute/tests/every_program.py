"""The programs of corpus.toml that take long: what `ci/run.py deep tf_programs` runs.

python -m pytest backends/tf_distribute/tests/every_program.py
"""

import pytest
import test_corpus

# Warnings of Keras and TensorFlow.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in test_corpus.WRONG if name in test_corpus.DEEP])
def test_a_wrong_program_is_found_by_its_law_with_its_place(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    test_corpus.test_a_wrong_program_is_found_by_its_law_with_its_place(name, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in test_corpus.RIGHT if name in test_corpus.DEEP])
def test_a_right_program_agrees(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    test_corpus.test_a_right_program_agrees(name, monkeypatch)
