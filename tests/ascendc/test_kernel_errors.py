"""The identifiers that the runtime of kernels writes are those that the errors page explains."""

from __future__ import annotations

import re
from pathlib import Path

from opwright.ascendc import kernel_errors

RUNTIME = Path(__file__).parents[2] / "native" / "ascendc" / "runtime"


def test_each_identifier_of_the_runtime_has_a_class() -> None:
    written = {
        found
        for path in RUNTIME.rglob("*.cpp")
        for found in re.findall(r"\"(OPW-X\d{3})\"", path.read_text(encoding="utf-8"))
    }
    stated = {getattr(kernel_errors, name).id for name in kernel_errors.__all__}
    assert written == stated
