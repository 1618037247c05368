"""The header with the small functions that kernels use: only those that this set needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opwright.kit.emit.cpp.layout import block
from opwright.kit.emit.cpp.text import sections

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["tensors_header"]


@dataclass(frozen=True, slots=True)
class Helper:
    """A function of the header.

    Parameters
    ----------
    name
        What units call.
    """

    name: str
    text: str
    includes: tuple[str, ...] = ()


def helpers() -> tuple[Helper, ...]:
    """Return all helpers; each may use those before it."""
    return tuple(
        Helper(head.split()[0], text, tuple(head.split()[1:]))
        for head, text in sections("tensors.h").items()
    )


def calls(name: str, text: str) -> bool:
    """Return whether a text uses a helper."""
    return re.search(rf"(?<![\w:.>]){name}[(<]", text) is not None


def tensors_header(namespace: str, units: Iterable[str]) -> str:
    """Return the header.

    Parameters
    ----------
    units
        The texts that use it.
    """
    whole = "\n".join(units)
    chosen: list[Helper] = []
    for helper in reversed(helpers()):
        if calls(helper.name, whole):
            chosen.insert(0, helper)
            whole += helper.text
    includes = {include for helper in chosen for include in helper.includes}
    standard = sorted({name for name in includes if "/" not in name} | {"<optional>"})
    others = sorted({name for name in includes if "/" in name} | {"<ATen/core/Tensor.h>"})
    lines = ["// tensors.h: small functions that the kernels share.", "#pragma once", ""]
    lines += [f"#include {name}" for name in others]
    lines += ["", *(f"#include {name}" for name in standard)]
    lines += ["", f"namespace {namespace} {{", ""]
    for helper in chosen:
        lines += [*helper.text.splitlines(), ""]
    return "\n".join(block(lines, [], f"}}  // namespace {namespace}")) + "\n"
