"""The guides that need no compiler, as a reader follows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml  # type: ignore[import-untyped]  # PyYAML ships no types

from opwright.pairs import read_pairs
from tests.docs.pages import DOCS, follow
from tests.docs.tree import TORCH

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.twin, pytest.mark.compile, pytest.mark.slow]

PAGES = ("in_place", "backward", "dynamic_shapes", "converter", "ci", "twin_in_ci")


@pytest.mark.parametrize("page", PAGES)
def test_its_commands_print_what_it_says(page: str, tmp_path: Path) -> None:
    follow(DOCS / "guides" / f"{page}.md", tmp_path)


@pytest.mark.parametrize("name", ["ci.sh", "workflow.yml"])
def test_the_page_on_ci_shows_the_files_beside_it(name: str) -> None:
    page = (DOCS / "guides" / "ci.md").read_text(encoding="utf-8")
    assert f"\n{(DOCS / 'guides' / name).read_text(encoding='utf-8')}```\n" in page


def test_the_workflow_runs_what_the_script_runs() -> None:
    script = (DOCS / "guides" / "ci.sh").read_text(encoding="utf-8").splitlines()
    workflow = yaml.safe_load((DOCS / "guides" / "workflow.yml").read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    install, *commands = [step["run"] for step in job["steps"] if "run" in step]
    torch_npu = next(each.torch_npu for each in read_pairs() if each.torch == TORCH)
    assert install == f'python -m pip install torch_npu=={torch_npu} "$OPWRIGHT" pytest'
    assert commands == script[script.index("set -euo pipefail") + 1 :]
