"""Write docs/sources.md: where the behaviour of CANN's functions and types is documented.

    python tools/source_page.py

The sources are the last column of opwright/aclnn/prototypes.tsv, and what the decorators of
kernels say.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # kernels need torch, their sources no NPU

import opwright.graph_engine.kernels
import opwright.graph_engine.legacy.kernels
from opwright.aclnn.known import read_known_sources
from opwright.aclnn.sources import Form, form_of
from opwright.graph_engine.legacy.kernels.table import LEGACY
from opwright.graph_engine.table import TABLE, load_kernels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "sources.md"
ENGINE = "opwright.graph_engine."
FAMILIES = ROOT / "native" / "opapi" / "ops"
HEAD = """# Sources

CANN's functions and graph operators are reimplemented here from what is public about them. Each
says where that is: an aclnn function in the last column of `opwright/aclnn/prototypes.tsv`, a
kernel of the graph engine or of a legacy operator in its decorator. `python tools/source_page.py`
writes this page from them.

FORMS

`opwright/aclnn/sources.py` has the notation. A source says that a text about this function or type
exists. It does not say that the text decides every case: rounding, corner cases and what is refused
are often left open, and [differences.md](differences.md) has what is known to differ.
"""


MEANINGS = {
    Form.DOCUMENT: "a page about it in CANN's operator repositories, or a docstring of torch_npu",
    Form.HEADER: "the comment above its REG_OP in a public header",
    Form.TEST: "the results that an upstream test expects",
    Form.CALLER: "code that calls it for an operator of PyTorch, whose results are known; what "
    "else it can do is not said",
    Form.INFERRED: "nothing public: the behaviour is a guess from names, parameters and relatives",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A function or a type."""

    name: str
    room: str
    source: str

    @property
    def form(self) -> Form:
        """The kind of text that the source leads to."""
        return form_of(self.source)


@cache
def functions() -> tuple[Entry, ...]:
    """Return the aclnn functions; the room of one is its family in native/opapi/ops."""
    family = dict(families())
    return tuple(
        Entry(name, family.get(name.removeprefix("aclnn"), "composed by a macro"), source)
        for name, source in read_known_sources().items()
    )


def families() -> Iterator[tuple[str, str]]:
    """Yield each name in a table with its family; names that macros compose are not found."""
    for file in sorted(FAMILIES.rglob("*.cpp")):
        for name in re.findall(r"\b[A-Z]\w+\b", file.read_text(encoding="utf-8")):
            yield name, file.relative_to(FAMILIES).parts[0]


@cache
def kernels() -> tuple[Entry, ...]:
    """Return the types; the room of one is the module of its kernel."""
    load_kernels(opwright.graph_engine.kernels, opwright.graph_engine.legacy.kernels)
    return tuple(
        Entry(name, kernel.function.__module__.removeprefix(ENGINE), kernel.source)
        for table in (TABLE, LEGACY)
        for name, kernel in sorted(table.items())
    )


def page() -> str:
    """Return the page."""
    forms = (f"| {form.value} | {meaning} |" for form, meaning in MEANINGS.items())
    table = "\n".join(["| form | the source is |", "|---|---|", *forms])
    parts = [HEAD.replace("FORMS", table)]
    for title, entries in (("aclnn functions", functions()), ("GE types", kernels())):
        parts.append("\n".join([f"## {title}", "", *render_counts(entries), ""]))
        for form, heading in ((Form.INFERRED, "Inferred"), (Form.CALLER, "From callers")):
            parts.append(
                "\n".join([f"### {heading}: {title}", "", *render_entries(entries, form), ""])
            )
    return "\n".join(parts)


def render_counts(entries: Sequence[Entry]) -> list[str]:
    """Return a table: how many entries have a source of each form."""
    found = Counter(entry.form for entry in entries)
    return [
        "| " + " | ".join(form.value for form in Form) + " | all |",
        "|" + "---|" * (len(Form) + 1),
        "| " + " | ".join(str(found[form]) for form in Form) + f" | {len(entries)} |",
    ]


def render_entries(entries: Sequence[Entry], form: Form) -> list[str]:
    """Return the entries with sources of one form as a table, by room."""
    rows = sorted((entry.room, entry.name, entry.source) for entry in entries if entry.form is form)
    if form is Form.INFERRED:
        head = ["| room | name |", "|---|---|"]
        return [*head, *(f"| {room} | `{name}` |" for room, name, _ in rows)]
    head = ["| room | name | source |", "|---|---|---|"]
    return [*head, *(f"| {room} | `{name}` | `{source}` |" for room, name, source in rows)]


def main() -> None:
    """Write the page."""
    text = page()
    if not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
        PAGE.write_text(text, encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
