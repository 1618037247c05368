"""Write docs/checks/: one page per row of `opwright check`, and a table of all.

    python tools/check_pages.py            # with --check: only check whether they are up to date

A page is what the row's module says: its docstring, and the row's columns and kinds of faults.
Examples are the broken operators of tests/check/corpus and guarded, which tests run.
"""

from __future__ import annotations

import ast
import inspect
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # rows need torch, their pages no NPU

from opwright.check.rows import ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opwright.check.row import Row

ROOT = Path(__file__).parents[1]
CORPUS = "tests/check/corpus"
GUARDED = "tests/check/guarded"  # kernels in C++, for processes with guarded memory
PAGES = ROOT / "docs" / "checks"
INDEX = "README.md"


def find_broken_operators() -> dict[str, dict[str, list[str]]]:
    """Return the broken operators, as operator and file, by row/kind and folder."""
    found: dict[str, dict[str, list[str]]] = {}
    for folder in (CORPUS, GUARDED):
        for file in sorted((ROOT / folder).glob("*.py")):
            shown = "kernels.cpp" if folder == GUARDED else file.name
            for name, kind in read_broken(file).items():
                there = found.setdefault(kind, {}).setdefault(folder, [])
                there.append(f"`{name}` in {shown}")
    return found


def read_broken(file: Path) -> dict[str, str]:
    """Return what the table BROKEN of a file has: the row/kind of each operator."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.Assign([ast.Name("BROKEN")], ast.Dict() as table):
                broken: dict[str, str] = ast.literal_eval(table)
                return broken
    return {}


def page(row: Row, examples: Mapping[str, Mapping[str, list[str]]]) -> str:
    """Return the page of a row."""
    text = inspect.cleandoc(inspect.getmodule(row.run).__doc__ or "")
    lines = [f"# {row.name}: {row.title}", "", *text.splitlines(), ""]
    lines += [f"Columns: {', '.join(row.columns)}.", "", "## What it finds", ""]
    for kind in row.kinds:
        lines += [f"### {row.name}/{kind.name}", "", sentence(kind.title), ""]
        lines += [f"Usual fix: {kind.fix.removesuffix('.')}.", ""]
        for folder, shown in examples.get(f"{row.name}/{kind.name}", {}).items():
            lines += [f"Broken so in {folder}: {', '.join(shown)}.", ""]
    return "\n".join(lines)


def sentence(text: str) -> str:
    """Write a text as a sentence."""
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


def index(rows: Sequence[Row]) -> str:
    """Return the table of all rows."""
    lines = ["# The rows of opwright check", ""]
    lines += ["`python tools/check_pages.py` writes these pages from the rows' modules.", ""]
    lines += ["| row | what must hold | ways to run | kinds of faults |", "|---|---|---|---|"]
    for row in rows:
        link = f"[{row.name}]({row.name}.md)"
        columns = ", ".join(row.columns)
        lines.append(f"| {link} | {row.title} | {columns} | {len(row.kinds)} |")
    return "\n".join([*lines, ""])


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    examples = find_broken_operators()
    return {INDEX: index(ROWS), **{f"{row.name}.md": page(row, examples) for row in ROWS}}


def write_pages() -> dict[str, str]:
    """Return the pages that are there."""
    return {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}


def main() -> None:
    """Write what changed and remove pages of rows that are gone; or report that there is any."""
    wanted, there = pages(), write_pages()
    changed = sorted(
        name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name)
    )
    if sys.argv[1:] == ["--check"]:
        sys.exit(f"run python tools/check_pages.py: {', '.join(changed)}" if changed else 0)
    PAGES.mkdir(exist_ok=True)
    for name in changed:
        path = PAGES / name
        if name in wanted:
            path.write_text(wanted[name], encoding="utf-8")
        else:
            path.unlink()
        print(f"{'wrote' if name in wanted else 'removed'} {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
