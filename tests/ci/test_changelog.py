"""The changelog is assembled from fragments: by kind and name, and nothing of a fragment is lost."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def changelog():
    spec = importlib.util.spec_from_file_location("changelog_of_ci", ROOT / "ci" / "changelog.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_fragments_stand_under_their_kinds_and_released_versions_stay(changelog, tmp_path):
    (tmp_path / "b.fixed.md").write_text("- Fixed b,\n  in two lines.\n- And b again.\n")
    (tmp_path / "z.added.md").write_text("- Added z.\n")
    (tmp_path / "a.added.md").write_text("- Added a.\n")
    before = "# Changelog\n\n## Unreleased\n\n### Added\n\n- Forgotten.\n\n## 0.1.0\n\n- The first.\n"
    expected = (
        "# Changelog\n\n## Unreleased\n\n### Added\n\n- Added a.\n- Added z.\n\n"
        "### Fixed\n\n- Fixed b,\n  in two lines.\n- And b again.\n\n## 0.1.0\n\n- The first.\n"
    )
    assert changelog.assembled(tmp_path, before) == expected
    assert changelog.assembled(tmp_path, expected) == expected


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.md", "- x\n", "a.md is no fragment"),
        ("a.improved.md", "- x\n", "a.improved.md is no fragment"),
        ("a.added.md", "x\n", r"a.added.md:1: begin an item with '- '"),
        ("a.added.md", "- x\ny\n", r"a.added.md:2: begin an item"),
        ("a.added.md", "", r"a.added.md:1: begin an item"),
    ],
)
def test_what_is_no_fragment_is_refused(changelog, tmp_path, name, text, reason):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=reason):
        changelog.assembled(tmp_path)


def test_every_fragment_of_the_repository_can_be_assembled(changelog):
    items = changelog.fragments(ROOT / "changelog.d")
    assert items["added"]
    assert "## Unreleased" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
