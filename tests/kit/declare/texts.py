"""Expected texts by name, in a file beside the tests.

`OPWRIGHT_ACCEPT=1 pytest ...` writes such a file anew; the diff is to be read.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

__all__ = ["expected_texts"]


def expected_texts(
    path: Path, names: Iterable[str], text_of: Callable[[str], str]
) -> dict[str, str]:
    """Read the file; write it first, if that is asked for."""
    if os.environ.get("OPWRIGHT_ACCEPT"):
        sections = [f"== {name} ==\n{text_of(name)}\n" for name in names]
        path.write_text("\n".join(sections), encoding="utf-8")
    parts = re.split(r"^== (.*) ==\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: text.rstrip("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}
