"""Write docs/checks/: one page per row of `opwright check`, and a table of all.

    python tools/check_pages.py

A page is what the row's source says: its docstring, columns and kinds of faults. The source is
read, not imported. Examples are the broken operators of tests/check/corpus, which tests run.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "opwright" / "check" / "rows"
CORPUS = ROOT / "tests" / "check" / "corpus"
PAGES = ROOT / "docs" / "checks"
INDEX = "README.md"


class PageError(Exception):
    """A row that does not state what its page needs as literals."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault as its source states it."""

    name: str
    title: str
    fix: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPage:
    """A row as its source states it."""

    name: str
    title: str
    text: str
    columns: tuple[str, ...]
    faults: tuple[Fault, ...]

    @property
    def file(self) -> str:
        """The file of the page."""
        return f"{self.name}.md"


def row_pages(folder: Path = ROWS) -> tuple[RowPage, ...]:
    """Return all rows, in the order in which the table has them."""
    order = imported_modules(folder / "__init__.py")
    unknown = {path.stem for path in folder.glob("*.py")} - {*order, "__init__"}
    without_row = {name for name in unknown if has_row(folder / f"{name}.py")}
    if without_row:
        message = f"{min(without_row)}.py has a ROW that rows/__init__.py does not list"
        raise PageError(message)
    return tuple(read_row(folder / f"{name}.py") for name in order)


def imported_modules(file: Path) -> list[str]:
    """Return the modules of the table ROWS, in its order."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.AnnAssign(ast.Name("ROWS"), _, ast.Tuple(rows)):
                return [ast.unparse(row).removesuffix(".ROW") for row in rows]
    message = f"{file} has no table ROWS"
    raise PageError(message)


def has_row(file: Path) -> bool:
    """Tell whether a module declares a row."""
    return row_call(ast.parse(file.read_text(encoding="utf-8"))) is not None


def row_call(tree: ast.Module) -> ast.Call | None:
    """Return the call that makes ROW."""
    for node in tree.body:
        match node:
            case ast.Assign([ast.Name("ROW")], ast.Call() as call):
                return call
    return None


def read_row(file: Path) -> RowPage:
    """Return what the page of a row says."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    call, text = row_call(tree), ast.get_docstring(tree)
    if call is None or not text:
        message = f"{file.name} has no ROW, or no docstring"
        raise PageError(message)
    constants = dict(constants_of(tree))
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    kinds = given.get("kinds")
    if not isinstance(kinds, ast.Tuple):
        message = f"{file.name}: the kinds of ROW are no tuple of names"
        raise PageError(message)
    return RowPage(
        name=str(literal(given.get("name"), constants, file)),
        title=str(literal(given.get("title"), constants, file)),
        text=inspect.cleandoc(text),
        columns=columns(given.get("columns"), constants, file),
        faults=tuple(fault(kind, constants, file) for kind in kinds.elts),
    )


def constants_of(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield the module's constants."""
    for node in tree.body:
        match node:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(
                ast.Name(name), _, ast.expr() as value
            ):
                yield name, value


def literal(node: ast.expr | None, constants: Mapping[str, ast.expr], file: Path) -> object:
    """Return the value of a literal, or of a constant that is one."""
    if isinstance(node, ast.Name) and node.id in constants:
        return literal(constants[node.id], constants, file)
    try:
        return ast.literal_eval(node or "")
    except (ValueError, SyntaxError) as error:
        message = f"{file.name}: {ast.unparse(node) if node else 'a field'} is no literal"
        raise PageError(message) from error


def columns(
    node: ast.expr | None, constants: Mapping[str, ast.expr], file: Path
) -> tuple[str, ...]:
    """Return the columns of a row."""
    if node is None:
        return ("eager",)
    found = literal(node, constants, file)
    assert isinstance(found, tuple)
    return found


def fault(node: ast.expr, constants: Mapping[str, ast.expr], file: Path) -> Fault:
    """Return a kind of fault."""
    made = constants.get(node.id) if isinstance(node, ast.Name) else node
    if not isinstance(made, ast.Call):
        message = f"{file.name}: {ast.unparse(node)} is no Kind of this module"
        raise PageError(message)
    return Fault(*(str(literal(each, constants, file)) for each in made.args))


def broken_operators(folder: Path = CORPUS) -> dict[str, list[str]]:
    """Return the broken operators of the corpus, as file: operator, by row/kind."""
    found: dict[str, list[str]] = {}
    for file in sorted(folder.glob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            match node:
                case ast.Assign([ast.Name("BROKEN")], ast.Dict() as table):
                    for name, kind in ast.literal_eval(table).items():
                        found.setdefault(kind, []).append(f"`{name}` in {file.name}")
    return found


def page(row: RowPage, examples: Mapping[str, list[str]]) -> str:
    """Return the page of a row."""
    lines = [f"# {row.name}: {row.title}", "", *row.text.splitlines(), ""]
    lines += [f"Columns: {', '.join(row.columns)}.", "", "## What it finds", ""]
    for each in row.faults:
        lines += [f"### {row.name}/{each.name}", "", f"{sentence(each.title)}", ""]
        lines += [f"Usual fix: {each.fix}.", ""]
        shown = examples.get(f"{row.name}/{each.name}")
        if shown:
            lines += [f"Broken so in tests/check/corpus: {', '.join(shown)}.", ""]
    return "\n".join(lines)


def sentence(text: str) -> str:
    """Write a text as a sentence."""
    return f"{text[:1].upper()}{text[1:].removesuffix('.')}."


def index(rows: tuple[RowPage, ...]) -> str:
    """Return the table of all rows."""
    lines = ["# The rows of opwright check", ""]
    lines += ["`python tools/check_pages.py` writes these pages from the rows' sources.", ""]
    lines += ["| row | what must hold | ways to run | faults |", "|---|---|---|---|"]
    for row in rows:
        faults = ", ".join(each.name for each in row.faults)
        lines.append(
            f"| [{row.name}]({row.file}) | {row.title} | {', '.join(row.columns)} | {faults} |"
        )
    return "\n".join([*lines, ""])


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    rows, examples = row_pages(), broken_operators()
    return {INDEX: index(rows), **{row.file: page(row, examples) for row in rows}}


def main() -> None:
    """Write the pages and remove those of rows that are gone."""
    PAGES.mkdir(exist_ok=True)
    wanted = pages()
    for name, text in wanted.items():
        path = PAGES / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    for path in sorted(PAGES.glob("*.md")):
        if path.name not in wanted:
            path.unlink()
            print(f"removed {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
