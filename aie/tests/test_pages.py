"""The guide of torch_aie, as a reader follows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import follow

PAGES = Path(__file__).parents[1] / "docs"


@pytest.mark.twin
@pytest.mark.build
@pytest.mark.slow
def test_the_commands_of_the_guide_print_what_it_says(tmp_path: Path) -> None:
    follow(PAGES / "guide.md", tmp_path)
