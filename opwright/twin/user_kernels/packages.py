"""Where torch_npu looks for user operators: the operator packages of an environment."""

from __future__ import annotations

import os
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.twin.user_kernels.library import library_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["OperatorPackage", "absent_packages", "operator_packages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorPackage:
    """A place where torch_npu looks for user operators."""

    source: str
    library: Path
    owner: int | None

    @property
    def exists(self) -> bool:
        """Whether the library is there."""
        return self.owner is not None


def operator_packages(environ: Mapping[str, str]) -> Iterator[OperatorPackage]:
    """Return where torch_npu looks for user operators, in its order (op_api_common.h)."""
    for entry in filter(None, environ.get("ASCEND_CUSTOM_OPP_PATH", "").split(os.pathsep)):
        yield operator_package("ASCEND_CUSTOM_OPP_PATH", Path(entry))
    if environ.get("ASCEND_OPP_PATH"):
        vendors = Path(environ["ASCEND_OPP_PATH"]) / "vendors"
        for vendor in vendor_names(vendors / "config.ini"):
            yield operator_package("vendors/config.ini", vendors / vendor)


def absent_packages(entries: Iterable[str]) -> list[str]:
    """Return what is wrong with those entries of ASCEND_CUSTOM_OPP_PATH that hold no package.

    torch_npu passes over them without a word, and a function of that package runs as another one
    of its name: that of CANN, or the reference of a declared operator.
    """
    wrong = []
    for entry in entries:
        folder = Path(entry)
        if not folder.is_dir():
            wrong.append(f"ASCEND_CUSTOM_OPP_PATH: {entry} does not exist")
        elif not library_of(folder).exists():
            library = library_of(folder).relative_to(folder)
            wrong.append(f"ASCEND_CUSTOM_OPP_PATH: {entry} is no operator package: no {library}")
    return wrong


def operator_package(source: str, folder: Path) -> OperatorPackage:
    """Look at one package."""
    library = library_of(folder)
    owner = library.stat().st_uid if library.exists() else None
    return OperatorPackage(source=source, library=library, owner=owner)


def vendor_names(config: Path) -> list[str]:
    """Read `load_priority=a,b` from a file that has no section headers."""
    if not config.is_file():
        return []
    parser = ConfigParser()
    parser.read_string("[vendors]\n" + config.read_text(encoding="utf-8"))
    names = parser.get("vendors", "load_priority", fallback="")
    return [name.strip() for name in names.split(",") if name.strip()]
