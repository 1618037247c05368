"""A release: one version, a tag that fits it, its section of the changelog, its wheels."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from opwright import __version__
from tools.release import CHANGELOG, SECTION, SEMANTIC, ReleaseError, notes, wheels
from tools.repository import ROOT

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """# Changelog

## [Unreleased]

### Added

- New.

## [1.2.0] - 2026-11-30

### Fixed

- Old.

## [1.1.0]

- Undated.

## [1.0.0] - 2026-01-01
"""
# Of Keep a Changelog 1.1.
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_notes_of_a_version_are_its_section() -> None:
    assert notes("v1.2.0", "1.2.0", TEXT) == "### Fixed\n\n- Old.\n"


@pytest.mark.parametrize(
    ("tag", "version", "message"),
    [
        ("v1.2", "1.2", "'1.2' is no semantic version"),
        ("v01.2.0", "01.2.0", "'01.2.0' is no semantic version"),
        ("1.2.0", "1.2.0", "whose tag is 'v1.2.0'"),
        ("v1.2.1", "1.2.0", "tag 'v1.2.1': opwright/__init__.py has version 1.2.0"),
        ("v1.3.0", "1.3.0", "no section of 1.3.0, only: Unreleased, 1.2.0, 1.1.0, 1.0.0"),
        ("v1.1.0", "1.1.0", "the section of 1.1.0 has no date"),
        ("v1.0.0", "1.0.0", "the section of 1.0.0 is empty"),
    ],
)
def test_what_does_not_fit_is_refused(tag: str, version: str, message: str) -> None:
    with pytest.raises(ReleaseError, match=re.escape(message)):
        notes(tag, version, TEXT)


def test_the_wheels_are_those_of_the_version(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="no wheels"):
        wheels(tmp_path, "1.2.0")
    names = ["opwright-1.2.0+torch2.10-cp311.whl", "below/opwright-1.2.0+torch2.13-cp311.whl"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert {str(each.relative_to(tmp_path)) for each in wheels(tmp_path, "1.2.0")} == {*names}
    with pytest.raises(ReleaseError, match=r"not of version 1\.3\.0"):
        wheels(tmp_path, "1.3.0")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Make a tree with the files that a release needs."""
    for name in ("Makefile", "opwright/__init__.py", "tools/release.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    text = f"# Changelog\n\n## [{__version__}] - 2026-11-30\n\n### Added\n\n- All.\n"
    (tmp_path / "CHANGELOG.md").write_text(text, encoding="utf-8")
    return tmp_path


def test_make_refuses_a_tag_that_is_not_the_version(tree: Path) -> None:
    done = subprocess.run(
        ["make", "release-notes", "TAG=v999.0.0"],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert f"tag 'v999.0.0': opwright/__init__.py has version {__version__}" in done.stderr


def test_make_publishes_the_wheels_with_the_notes(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tree / "dist" / f"opwright-{__version__}+torch2.13-cp311.whl"
    wheel.parent.mkdir()
    wheel.touch()
    gh = tree / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > called.txt\n', encoding="utf-8")
    gh.chmod(0o755)
    monkeypatch.setenv("PATH", str(gh.parent), prepend=os.pathsep)
    tag = f"v{__version__}"
    subprocess.run(["make", "release", f"TAG={tag}"], cwd=tree, check=True, capture_output=True)
    called = (tree / "called.txt").read_text(encoding="utf-8").splitlines()
    assert called[:4] == ["release", "create", tag, str(wheel)]
    notes_file = tree / called[called.index("--notes-file") + 1]
    assert notes_file.read_text(encoding="utf-8") == "### Added\n\n- All.\n"


def test_the_changelog_keeps_its_form() -> None:
    text = CHANGELOG.read_text(encoding="utf-8")
    sections = list(SECTION.finditer(text))
    assert sections[0]["name"] == "Unreleased"
    assert len(sections) == text.count("\n## ")
    for section in sections[1:]:
        assert SEMANTIC.fullmatch(section["name"])
        assert section["date"]
    kinds = re.findall(r"^### (.+)$", text, re.MULTILINE)
    assert kinds
    assert set(kinds) <= KINDS


def test_the_version_stands_in_one_place() -> None:
    assert SEMANTIC.fullmatch(__version__)
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version", "dependencies"]' in settings
    assert 'input = "opwright/__init__.py"' in settings
    cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    assert re.search(r"^project\((?!.*VERSION).*\)$", cmake, re.MULTILINE)
