"""Write docs/errors.md: every error that opwright reports to a person, by identifier.

    python tools/error_pages.py

The classes are read from the source, so that nothing is imported and the page is complete. An
example is the first of tests/kit/validate/expected.txt with the identifier, which tests compare.
The codes of CANN that native code answers with are those of tools/cann_codes.tsv.
"""

from __future__ import annotations

import ast
import csv
import inspect
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "opwright"
PAGE = ROOT / "docs" / "errors.md"
EXAMPLES = ROOT / "tests" / "kit" / "validate" / "expected.txt"
CODES = ROOT / "tools" / "cann_codes.tsv"
# The groups of identifiers, in the order of the page.
GROUPS = {
    "D": "Declarations",
    "S": "Declarations in other formats",
    "E": "Generated files",
    "B": "Builds",
    "L": "Operators in this process",
    "P": "Projects",
    "K": "aclnn functions and kernels of the twin",
    "T": "The twin",
    "G": "NPU graphs",
    "N": "The graph engine",
    "O": "Operators for op-plugin",
    "C": "Checks",
    "M": "Comparisons of eager and graphs",
    "A": "Ascend C",
    "X": "Kernels in Ascend C while they run",
    "V": "The command line",
    "R": "References",
}
HEAD = """# Errors

Each error has an identifier that never changes its meaning. It says where it is, what was found,
what is allowed and how to mend it. `python tools/error_pages.py` writes this page from the classes.
Errors of CANN's functions have [CANN's codes](#codes-of-cann); those of the graph engine say CANN's
code in their title. A last line `ERR99999 UNKNOWN applicaiton exception` is
[torch_npu's](differences.md) and says nothing about the cause.
"""
CODES_HEAD = """## Codes of CANN

What CANN's functions answer on the twin. torch_npu raises RuntimeError with the code and the text,
which says what was given and what is allowed (`aclGetRecentErrMsg` in C).

| code | name | what went wrong | mend |
|---|---|---|---|"""


class PageError(Exception):
    """A class that does not state its identifier, title and fix as literals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorClass:
    """A class of error as its source states it."""

    id: str
    name: str
    module: str
    title: str
    fix: str
    doc: str
    severity: str = "error"


@cache
def error_classes(package: Path = PACKAGE) -> tuple[ErrorClass, ...]:
    """Return all classes with an identifier, in the order of the page."""
    found = [each for path in sorted(package.rglob("*.py")) for each in in_module(path, package)]
    order = list(GROUPS)
    return tuple(sorted(found, key=lambda each: (order.index(each.id[4]), each.id, each.module)))


def in_module(path: Path, package: Path) -> Iterator[ErrorClass]:
    """Yield the classes of one module."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    module = ".".join(part for part in parts if part != "__init__")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            values = dict(class_values(node))
            if re.fullmatch(r"OPW-[A-Z]\d{3}", str(values.get("id", ""))):
                yield read(node, values, module)


def class_values(node: ast.ClassDef) -> Iterator[tuple[str, object]]:
    """Yield the class attributes that are literals."""
    for statement in node.body:
        match statement:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(
                ast.Name(name), _, ast.expr() as value
            ):
                try:
                    yield name, ast.literal_eval(value)
                except ValueError:
                    continue  # a computed attribute; `read` decides whether the page needs it


def read(node: ast.ClassDef, values: Mapping[str, object], module: str) -> ErrorClass:
    """Return what the page says of a class."""
    texts = {key: values.get(key) for key in ("id", "title", "usual_fix")}
    doc = ast.get_docstring(node) or ""
    if (
        node.bases
        and texts["usual_fix"] is None
        and "DiagnosticsError" in ast.unparse(node.bases[0])
    ):
        texts["usual_fix"] = "mend each of them"
    missing = [key for key, text in texts.items() if not isinstance(text, str)]
    if missing or not doc:
        message = f"{module}.{node.name} has no literal {', '.join(missing) or 'docstring'}"
        raise PageError(message)
    return ErrorClass(
        id=str(texts["id"]),
        name=node.name,
        module=module,
        title=str(texts["title"]),
        fix=str(texts["usual_fix"]),
        doc=inspect.cleandoc(doc).split("\n\nParameters")[0],
        severity=str(values.get("severity", "error")),
    )


def examples() -> dict[str, str]:
    """Return the first example of each identifier."""
    parts = re.split(r"^== (\S+) .* ==\n", EXAMPLES.read_text(encoding="utf-8"), flags=re.MULTILINE)
    pairs = list(zip(parts[1::2], parts[2::2], strict=True))
    return {name: text.strip("\n") for name, text in reversed(pairs)}


def page() -> str:
    """Return the page."""
    classes, shown = error_classes(), examples()
    lines = [HEAD]
    for letter, title in GROUPS.items():
        group = [each for each in classes if each.id[4] == letter]
        if group:
            lines += [f"## {title}", ""]
            for each in group:
                lines += section(each, shown.get(each.id))
    lines += code_table()
    return "\n".join(lines)


def section(error: ErrorClass, example: str | None) -> list[str]:
    """Return the section of one error."""
    warning = " A warning." if error.severity == "warning" else ""
    lines = [f"### {error.id}", "", f"**{error.title}** (`{error.module}.{error.name}`).{warning}"]
    lines += ["", error.doc, "", f"Usual fix: {error.fix}.", ""]
    return lines if example is None else [*lines, "```text", example, "```", ""]


def cann_codes() -> list[dict[str, str]]:
    """Return the codes: name, code, cause, cure."""
    with CODES.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def code_table() -> list[str]:
    """Return the table of codes."""
    rows = [
        f"| {row['code']} | `{row['name']}` | {row['cause']} | {row['cure']} |"
        for row in cann_codes()
    ]
    return [CODES_HEAD, *rows, ""]


def main() -> None:
    """Write the page."""
    text = page()
    if not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
        PAGE.write_text(text, encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
