"""A file of any kind that declarations can be read from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.aclnn.op_def import parse_op_def
from opwright.aclnn.reg_op import parse_reg_op
from opwright.aclnn.scan import find_skipped_branches
from opwright.kit.declare.operator import Declaration, Source
from opwright.kit.declare.place import Place
from opwright.kit.formats.errors import UnknownSourceError
from opwright.kit.formats.imported import Imported, Note
from opwright.kit.formats.msopgen import parse_msopgen
from opwright.kit.formats.op_plugin import read_op_plugin
from opwright.kit.formats.prototypes import operators_of

if TYPE_CHECKING:
    from opwright.aclnn.prototype import Prototype

__all__ = ["namespace_of", "read_file", "read_text"]

REG_OP = re.compile(r"\bREG_OP\s*\(\s*(?P<name>\w+)\s*\)")
OP_DEF = re.compile(r"\bclass\s+(?P<name>\w+)\s*(?:final\s*)?:\s*public\s+(?:\w+::)*OpDef\b")
YAML = re.compile(r"^(?:all_version|backward|official|custom)\s*:", re.MULTILINE)
BACKWARD = re.compile(r"^backward\s*:", re.MULTILINE)
FUNCTIONS = re.compile(r"^(?:official|custom|symint|quant|autograd)\s*:", re.MULTILINE)
JSON = re.compile(r"\s*[\[{]")


def namespace_of(path: Path) -> str:
    """Return a namespace that is named like a file.

    >>> namespace_of(Path("my-ops.v2.yaml"))
    'my_ops_v2'
    """
    name = re.sub(r"\W+", "_", path.stem).strip("_").lower()
    return name if name.isidentifier() else f"ops_{name}".strip("_")


def read_file(
    path: Path,
    *,
    derivatives: Path | None = None,
    namespace: str | None = None,
    version: str = "0.1.0",
) -> Imported:
    """Read a file; its content shows what it is.

    Parameters
    ----------
    derivatives
        derivatives.yaml that belongs to op_plugin_functions.yaml.
    namespace, version
        Of the operator set; by default the namespace is named like the file.

    Raises
    ------
    SourceError, PrototypeError, SchemaError
        OPW-S001 to OPW-S005, OPW-K002, OPW-D001.
    """
    return read_text(
        content(path),
        where=str(path),
        namespace=namespace or namespace_of(path),
        version=version,
        derivatives=content(derivatives) if derivatives else None,
        derivatives_where=str(derivatives or ""),
    )


def content(path: Path) -> str:
    """Return the text of a file."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UnknownSourceError(
            where=str(path), got=str(error), fix="give a text in UTF-8"
        ) from error


def read_text(
    text: str,
    *,
    where: str,
    namespace: str,
    version: str = "0.1.0",
    derivatives: str | None = None,
    derivatives_where: str = "",
) -> Imported:
    """Read a text; see `read_file`."""
    if REG_OP.search(text):
        return of_code("REG_OP", text, where=where, namespace=namespace, version=version)
    if OP_DEF.search(text):
        return of_code("OpDef", text, where=where, namespace=namespace, version=version)
    if JSON.match(text):
        place = Place(where)
        prototypes, notes = parse_msopgen(text, place)
        lines = {name: line_of(text, rf'"op"\s*:\s*"{name}"') for name in op_types(prototypes)}
        found = [(each, Place(where, lines[each.op_type])) for each in prototypes]
        kind = "a JSON file for msOpGen"
        return import_prototypes(
            kind, found, notes, where=where, namespace=namespace, version=version
        )
    if BACKWARD.search(text) and not FUNCTIONS.search(text):
        return read_op_plugin(
            None,
            where=where,
            derivatives=text,
            derivatives_where=where,
            namespace=namespace,
            version=version,
        )
    if YAML.search(text) or where.endswith((".yaml", ".yml")):
        return read_op_plugin(
            text,
            where=where,
            derivatives=derivatives,
            derivatives_where=derivatives_where,
            namespace=namespace,
            version=version,
        )
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    raise UnknownSourceError(where=where, got=f"a text that begins with {first[:60]!r}")


def op_types(prototypes: tuple[Prototype, ...]) -> set[str]:
    """Return the operator types."""
    return {prototype.op_type for prototype in prototypes}


def line_of(text: str, pattern: str) -> int:
    """Return the line of the first match, 0 if there is none."""
    match = re.search(pattern, text)
    return text.count("\n", 0, match.start()) + 1 if match else 0


def of_code(kind: str, text: str, *, where: str, namespace: str, version: str) -> Imported:
    """Read C++."""
    parse, head = (parse_reg_op, REG_OP) if kind == "REG_OP" else (parse_op_def, OP_DEF)
    lines: dict[str, int] = {}
    for match in head.finditer(text):
        lines.setdefault(match["name"], text.count("\n", 0, match.start()) + 1)
    found = [(each, Place(where, lines.get(each.op_type, 0))) for each in parse(text, where=where)]
    skipped = find_skipped_branches(text) if kind == "REG_OP" else ()
    notes = tuple(
        Note(Place(where, line), "preprocessor", "branch of #if not read") for line in skipped
    )
    kind = f"C++ with {kind}"
    return import_prototypes(kind, found, notes, where=where, namespace=namespace, version=version)


def import_prototypes(
    kind: str,
    prototypes: list[tuple[Prototype, Place]],
    notes: tuple[Note, ...],
    *,
    where: str,
    namespace: str,
    version: str,
) -> Imported:
    """Put the operators of prototypes into a declaration."""
    operators, more = operators_of(prototypes)
    declaration = Declaration(
        namespace=namespace,
        version=version,
        place=Place(where),
        source=Source(name=Path(where).name),
        operators=operators,
    )
    return Imported(kind=kind, declarations=(declaration,), notes=(*notes, *more))
