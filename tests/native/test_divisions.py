"""Sizes that native code divides by: an integer division by zero ends the process.

Functions divide by a size of the caller's through `divided` (native/opapi/opapi.h), or say in the
same file that it is above zero.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TABLES = Path(__file__).parents[2] / "native" / "opapi" / "ops"
DIVIDED = re.compile(r"[\w)] [/%] ((?:[\w\[\]]+(?:\.|->))+(?:size\([-\w]+\)|numel\(\)))")


def unguarded(text: str) -> list[str]:
    code = re.sub(r"//.*", "", text)
    return [divisor for divisor in DIVIDED.findall(code) if f"{divisor} > 0" not in code]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x.size(0) / y.size(-1)", ["y.size(-1)"]),
        ("n % part.key->numel() == 0", ["part.key->numel()"]),
        ("y.size(0) > 0 && x.size(0) % y.size(0) == 0", []),
        ("divided(n, y.size(0), name)  // not n / y.size(0)", []),
    ],
)
def test_what_is_looked_for(text: str, found: list[str]) -> None:
    assert unguarded(text) == found


def test_no_division_by_a_size_that_may_be_zero() -> None:
    files = [path for suffix in ("*.cpp", "*.h") for path in sorted(TABLES.rglob(suffix))]
    assert files
    found = {str(path.relative_to(TABLES)): unguarded(path.read_text()) for path in files}
    assert {name: divisors for name, divisors in found.items() if divisors} == {}
