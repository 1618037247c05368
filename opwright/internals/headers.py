"""The C++ that torch's headers ask for; imports nothing of torch."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["cxx_standard"]

# Values of __cplusplus and the standards' names, the oldest that emitted code can use first: C++17
# compiles 0.8 s faster than C++20 (measured with g++ 12 and an operator with autograd).
STANDARDS = {201703: "c++17", 202002: "c++20", 202302: "c++23"}
GUARD = re.compile(r"__cplusplus < (\d+)L")


@cache
def cxx_standard(torch: Path) -> str:
    """Return the value of g++'s option -std for code that includes headers of torch.

    Parameters
    ----------
    torch
        The folder of the package. ATen/ATen.h refuses an older standard than the headers need.

    Examples
    --------
    >>> from pathlib import Path
    >>> cxx_standard(Path("no such folder"))
    'c++17'
    """
    header = torch / "include" / "ATen" / "ATen.h"
    text = header.read_text(encoding="utf-8") if header.is_file() else ""
    asked = max((int(value) for value in GUARD.findall(text)), default=0)
    newest = list(STANDARDS.values())[-1]
    return next((name for value, name in STANDARDS.items() if value >= asked), newest)
