"""`ci/run.py` never changes an environment that belongs to another checkout."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).resolve().parents[2] / "ci" / "run.py"


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, whose environment is in an empty folder, and which neither makes environments nor installs."""
    spec = importlib.util.spec_from_file_location("run_of_ci", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("it would have changed the environment")

    monkeypatch.setattr(module, "_must", refused)
    monkeypatch.setattr(module.venv, "create", refused)
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(module, "PYTHON", tmp_path / ".venv" / "bin" / "python")
    monkeypatch.setattr(module, "STAMP", tmp_path / ".venv" / "stamp.json")
    return module


@pytest.mark.parametrize("part", ["", "bin", "lib"])
def test_an_environment_that_is_a_link_is_refused_and_nothing_is_changed(
    step: Any, tmp_path: Path, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    (other / part / "kept").mkdir(parents=True)
    link = tmp_path / ".venv" / part
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(other / part)
    with pytest.raises(SystemExit) as ended:
        step.install()
    assert ended.value.code == 2
    assert f"{link} is a link to {other / part}" in capsys.readouterr().err
    assert (other / part / "kept").is_dir()


def test_an_environment_of_this_checkout_is_made(step: Any) -> None:
    with pytest.raises(AssertionError, match="would have changed"):
        step.install()
