"""The how-tos of docs/contributing, followed in a copy of the tree: edited, built, tested.

A block of language `diff` with a title is an edit of that file: lines of context that stand in it
once, and what is added between them. `@@` separates edits.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, FENCE, Command, run
from tests.twin.on_twin import CHOICES

pytestmark = [pytest.mark.twin, pytest.mark.build, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
FOLDER = DOCS / "contributing"
PAGES = sorted({path.name for path in FOLDER.glob("*.md")} - {"README.md"})  # which adds nothing
COPIED = ("aie", "docs/checks", "native", "opwright", "tests", "tools")
BUILD = ROOT / "build" / "native"
LINTERS = {
    "ruff check --quiet": (".py",),
    "ruff format --check --quiet": (".py",),
    "clang-format --dry-run --Werror": (".cpp", ".h"),
}
LIBRARY = "native/opapi/libopapi.so"
# An editable install finds its own tree first, wherever PYTHONPATH points.
SITE = """import sys
sys.meta_path[:] = [each for each in sys.meta_path if "ScikitBuild" not in type(each).__name__]
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of what the pages edit and run, with the libraries that are built."""
    ignored = shutil.ignore_patterns("__pycache__")  # others write there
    for name in COPIED:
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True, ignore=ignored)
    for name in (".clang-format", "conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "sitecustomize.py").write_text(SITE, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for name in [each for each in os.environ if each.startswith(CHOICES)]:  # of this process's twin
        monkeypatch.delenv(name)
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_followed(page: str, tree: Path) -> None:
    written = []
    for match in FENCE.finditer((FOLDER / page).read_text(encoding="utf-8")):
        if match["language"] == "console":
            for part in re.split(r"^\$ ", match["text"], flags=re.MULTILINE)[1:]:
                line, _, expected = part.partition("\n")
                if line.startswith("cmake "):
                    build(tree)
                else:
                    run(Command(line, expected), tree)
        elif match["file"]:
            written.append(match["file"])
            write(tree / match["file"], match["text"], is_edit=match["language"] == "diff")
    lint(tree, [name for name in written if "/" in name])  # not programs of users


def write(file: Path, text: str, *, is_edit: bool) -> None:
    """Write a file, or apply the edits of a block to it."""
    if is_edit:
        text = edited(file.read_text(encoding="utf-8"), text, file.name)
    file.write_text(text, encoding="utf-8")


def edited(text: str, changes: str, name: str) -> str:
    """Return a text with edits."""
    for change in re.split(r"^@@.*\n", changes, flags=re.MULTILINE):
        lines = change.splitlines(keepends=True)
        before = "".join(each[1:] for each in lines if each[0] != "+")
        after = "".join(each[1:] for each in lines if each[0] != "-")
        assert before, f"{name}: nothing says where:\n{change}"
        count = text.count(before)
        assert count == 1, f"{name} has this {count} times:\n{before}"
        text = text.replace(before, after)
    return text


def lint(tree: Path, names: list[str]) -> None:
    """Ask the linters."""
    for command, endings in LINTERS.items():
        files = [name for name in names if name.endswith(endings)]
        if files:
            run(Command(" ".join([command, *files]), ""), tree)


def build(tree: Path) -> None:
    """Do what a build and its installation do after an edit, with ninja's commands.

    Only what was edited is compiled; the library that it is linked into is the copy's alone.
    """
    commands = subprocess.run(
        ["ninja", "-C", BUILD, "-t", "commands", LIBRARY],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    link = commands[-1]
    edited_files = {str(ROOT / file.relative_to(tree)): str(file) for file in changed(tree)}
    for command in commands:
        before, compiles, unit = command.rpartition(" -c ")
        parts = included(Path(unit)) if compiles else []
        edited_parts = [edited_files.pop(part) for part in parts if part in edited_files]
        if not edited_parts:
            continue
        copy = Path(f"{edited_parts[0]}.unit")
        copy.write_text(
            "".join(f'#include "{tree / Path(part).relative_to(ROOT)}"\n' for part in parts),
            encoding="utf-8",
        )
        target = before.partition(" -o ")[2].partition(" ")[0]
        compiling = f"{before} -x c++ -c {copy}".replace(target, f"{copy}.o")
        run(Command(compiling, ""), BUILD)
        link = link.replace(f" {target} ", f" {copy}.o ")
    assert not edited_files
    library = tree / "opwright" / "cann" / "lib64" / Path(LIBRARY).name
    run(Command(link.replace(f" -o {LIBRARY} ", f" -o {library} "), ""), BUILD)


def included(unit: Path) -> list[str]:
    """Return the sources that a unit compiles: several at a time, or itself."""
    if not unit.is_relative_to(BUILD):
        return [str(unit)]
    return re.findall(r'^#include "(.+\.cpp)"$', unit.read_text(encoding="utf-8"), re.MULTILINE)


def changed(tree: Path) -> list[Path]:
    """Return the sources of the copy that are not those of the tree."""
    sources = (tree / "native").rglob("*.cpp")
    found = [
        each
        for each in sources
        if each.read_bytes() != (ROOT / each.relative_to(tree)).read_bytes()
    ]
    assert found
    return found
