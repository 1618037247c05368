"""The parts of a project that can be built."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from opwright.kit.packaging.emitted_tree import read_sources
from opwright.kit.packaging.errors import ExistingOperatorsError
from opwright.project.config import read_project

if TYPE_CHECKING:
    from pathlib import Path

# Text: the file of a project that a test makes.
DECLARATION = """
import opwright as ow

ops = ow.OperatorSet("npu", existing=True)
ops.declare("npu_mish(Tensor input) -> Tensor")
"""


@pytest.mark.parametrize("cpp", [True, False])
def test_the_operators_of_another_library_are_not_built(tmp_path: Path, *, cpp: bool) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.opwright]\ndeclaration = "operators.py"\npackage = "more"\n'
    )
    (tmp_path / "operators.py").write_text(DECLARATION)
    project = read_project(tmp_path)
    with pytest.raises(ExistingOperatorsError, match="OPW-B025") as caught:
        read_sources(project, project.options, cpp=cpp)
    assert "operators.py:4, operator set npu" in str(caught.value)
    assert "npu_mish" in str(caught.value)
