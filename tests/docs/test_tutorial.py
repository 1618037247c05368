"""The tutorial as a reader follows it: files written, commands run, output compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import DOCS, follow

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.twin, pytest.mark.build, pytest.mark.slow]


def test_its_commands_print_what_it_says(tmp_path: Path) -> None:
    follow(DOCS / "tutorial.md", tmp_path)
