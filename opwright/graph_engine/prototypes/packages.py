"""The prototypes that installed operator packages declare (op_proto/inc/op_proto.h)."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.aclnn.reg_op import parse_reg_op

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.aclnn.prototype import Prototype

__all__ = ["find_installed", "installed_types"]


def find_installed(op_type: str) -> Prototype | None:
    """Return the prototype of a type that an installed operator package declares.

    Raises
    ------
    PrototypeError
        OPW-K002.
    """
    for header in headers(os.environ):
        found = of_header(header, header.stat().st_mtime_ns).get(op_type)
        if found is not None:
            return found
    return None


def installed_types() -> Iterator[str]:
    """Yield the types that installed operator packages declare.

    Raises
    ------
    PrototypeError
        OPW-K002.
    """
    for header in headers(os.environ):
        yield from of_header(header, header.stat().st_mtime_ns)


def headers(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield the prototype headers of operator packages, in the order in which CANN looks."""
    entries = environ.get("ASCEND_CUSTOM_OPP_PATH", "").split(os.pathsep)
    packages = [Path(entry) for entry in entries if entry]
    if opp := environ.get("ASCEND_OPP_PATH"):
        packages += sorted((Path(opp) / "vendors").glob("*"))
    for package in packages:
        yield from sorted((package / "op_proto").rglob("*.h"))


@functools.cache
def of_header(header: Path, _modified: int) -> Mapping[str, Prototype]:
    """Return the prototypes of a header, by type."""
    text = header.read_text(encoding="utf-8", errors="replace")
    return {found.op_type: found for found in parse_reg_op(text, where=str(header))}
