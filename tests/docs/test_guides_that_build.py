"""The guides that run a compiler, as a reader follows them; and that no guide is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.docs.pages import DOCS, follow, steps
from tests.docs.test_guides import PAGES

if TYPE_CHECKING:
    from pathlib import Path

BUILDING = ("wrap_aclnn", "plugin_form", "third_party")
# It installs opwright, which is here already: tests/acceptance/test_wheel.py does so in an empty
# environment.
INSTALLATION = "installation"


@pytest.mark.twin
@pytest.mark.build
@pytest.mark.slow
@pytest.mark.parametrize("page", BUILDING)
def test_its_commands_print_what_it_says(page: str, tmp_path: Path) -> None:
    follow(DOCS / "guides" / f"{page}.md", tmp_path)


def test_each_guide_is_followed() -> None:
    guides = {page.name.partition(".")[0] for page in (DOCS / "guides").glob("*.md")}
    assert guides == {*PAGES, *BUILDING, INSTALLATION}
    assert steps(DOCS / "guides" / f"{INSTALLATION}.md") == []
