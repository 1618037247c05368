"""Requests for a build."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.kit.op_plugin.errors import InputsError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Request", "check_name"]

NAME = re.compile(r"[a-z][a-z0-9_]*")
VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?", re.ASCII)
# Names that a program that imports the package has: pip would replace it, or the package hide it.
TAKEN = frozenset({"torch", "torch_npu", "torchair", "torchgen", "functorch", "numpy", "opwright"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request for a build.

    Parameters
    ----------
    paths
        The files of the extension, or folders with them.
    name, version
        Of the package.
    out
        The folder for the wheel.
    work
        The folder for generated sources, which holds nothing else.
    """

    paths: Sequence[Path]
    name: str
    version: str
    out: Path
    work: Path
    may_compile: bool = True
    jobs: int | None = None


def check_name(request: Request) -> None:
    """Raise if the package cannot have this name or version."""
    if not NAME.fullmatch(request.name):
        fix = "choose another name with --name: small letters, digits and underscores"
        raise InputsError(where="--name", got=repr(request.name), fix=fix)
    if keyword.iskeyword(request.name) or request.name in sys.stdlib_module_names | TAKEN:
        got = f"{request.name!r}, a name of Python or of a package that it needs"
        raise InputsError(where="--name", got=got, fix="choose another name with --name")
    if not VERSION.fullmatch(request.version):
        raise InputsError(
            where="--version", got=repr(request.version), fix="write numbers with points: 1.0"
        )
