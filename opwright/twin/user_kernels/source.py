"""The arguments of `kernel` -> the operator's interface."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.aclnn.op_def import parse_op_def
from opwright.aclnn.prototype import Prototype, PrototypeError, derive, plain_interface
from opwright.aclnn.reg_op import parse_reg_op
from opwright.aclnn.signature import SignatureError, parse_signature

if TYPE_CHECKING:
    from opwright.aclnn.prototype import Interface
    from opwright.aclnn.signature import AclnnSignature

__all__ = ["read_source"]

SUFFIXES = (".h", ".hpp", ".cpp", ".cc", ".cxx", ".txt")
DECLARATION = re.compile(r"\baclnnStatus\s+\w+GetWorkspaceSize\s*\([^()]*\)")


def read_source(source: str | Path, op: str | None, *, where: str) -> Interface:
    """Read an operator's prototype.

    Parameters
    ----------
    source
        Text, or the path of a file (also as a text with the suffix of a C++ file).
    op
        Operator type, or name of the aclnn function, if there are several.
    where
        The place that asks, for error messages.

    Raises
    ------
    SignatureError, PrototypeError
        OPW-K001, OPW-K002.
    """
    if isinstance(source, Path) or re.fullmatch(r"[^\n()]+", source.strip()):
        path = Path(source)
        if path.suffix not in SUFFIXES or not path.is_file():
            raise PrototypeError(
                where=where,
                got=f"{str(source)!r}, which is no file",
                allowed=SUFFIXES,
                fix="name an existing header or C++ source, or give the prototype itself",
            )
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise PrototypeError(
                where=str(path), got=str(error), fix="name a text file in UTF-8"
            ) from error
        return read_text(text, op, where=str(path))
    return read_text(source, op, where=where)


def read_text(text: str, op: str | None, *, where: str) -> Interface:
    """Distinguish the kinds of text and read."""
    found: dict[str, Prototype | AclnnSignature]
    if re.search(r"\bREG_OP\s*\(", text):
        found = {p.op_type: p for p in parse_reg_op(text, where=where)}
    elif re.search(r":\s*public\s+(?:\w+::)*OpDef\b", text):
        found = {p.op_type: p for p in parse_op_def(text, where=where)}
    else:
        declarations = [match[0] for match in DECLARATION.finditer(text)] or [text]
        signatures = [parse_signature(part, where=where) for part in declarations]
        found = {signature.name: signature for signature in signatures}
    if op is None and len(found) == 1:
        return interface_of(next(iter(found.values())))
    if op in found:
        return interface_of(found[op])
    error = SignatureError if all(name.startswith("acl") for name in found) else PrototypeError
    raise error(
        where=where,
        got=f"{len(found)} operators and no choice" if op is None else f"op={op!r}",
        allowed=found,
        near=op or "",
        fix="choose one with op=",
    )


def interface_of(source: Prototype | AclnnSignature) -> Interface:
    """Return the interface of the one operator that was chosen."""
    return derive(source) if isinstance(source, Prototype) else plain_interface(source)
