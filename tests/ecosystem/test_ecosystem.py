"""The parts of `make ecosystem` that need none of its libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from tests.ecosystem import known
from tests.ecosystem.comparison import assert_close, assert_same_step, tensors_in
from tests.ecosystem.models import Subject, models
from tests.ecosystem.page import LIBRARIES, page, rows

if TYPE_CHECKING:
    from pathlib import Path

REPORT = """\
<testsuites><testsuite>
  <testcase classname="tests.ecosystem.generation" name="test_writes[transformers-causal-a]"/>
  <testcase classname="tests.ecosystem.generation" name="test_writes[transformers-causal-b]">
    <failure message="no"/>
  </testcase>
  <testcase classname="tests.ecosystem.generation" name="test_writes[timm-any-size-c]">
    <skipped type="pytest.skip" message="it cannot"/>
  </testcase>
</testsuite></testsuites>
"""


def test_a_wrong_result_is_found() -> None:
    with pytest.raises(AssertionError, match="logits"):
        assert_close(torch.tensor([1.0, 2.1]), torch.tensor([1.0, 2.0]), 1e-4, "logits")


def test_differences_are_measured_by_the_largest_element() -> None:
    assert_close(torch.tensor([1e-5, 1.0]), torch.tensor([0.0, 1.0]), 1e-4, "y")
    with pytest.raises(AssertionError):
        assert_close(torch.tensor([1e-5, 0.0]), torch.tensor([0.0, 0.0]), 1e-4, "y")


def test_integers_have_to_be_equal() -> None:
    with pytest.raises(AssertionError):
        assert_close(torch.tensor([1, 3]), torch.tensor([1, 2]), 1e-4, "tokens")


def test_nested_results_have_places() -> None:
    nested = {"a": (torch.ones(1), None), "b": [torch.ones(2)]}
    assert [place for place, _ in tensors_in(nested)] == [".a[0]", ".b[0]"]


@pytest.mark.twin
@pytest.mark.isolated
def test_a_model_is_compared_with_its_copy_on_the_npu() -> None:
    network = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh())
    assert_same_step(Subject(network, {"input": torch.randn(2, 4)}))


def test_no_model_is_listed_twice() -> None:
    listed = [str(each) for library in LIBRARIES for each in models(library)]
    assert len(listed) == len(set(listed)) > 300


def test_a_known_difference_needs_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "known.tsv"
    path.write_text("test\treason\na.py::test_b[c]\t\n", encoding="utf-8")
    with pytest.raises(ValueError, match="with a reason"):
        known.read(path)


def test_known_differences_are_about_tests_that_are_there() -> None:
    listed = [str(each) for library in LIBRARIES for each in models(library)]
    for test in known.read():
        file, _, function = test.partition("::")
        name, _, case = function.partition("[")
        text = (known.TABLE.parent / file).read_text(encoding="utf-8")
        assert f"def {name}(" in text
        assert any(case.startswith(model) for model in listed)


def test_the_page_counts_by_test_and_library(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT, encoding="utf-8")
    text = page(rows(report), "# Head\n")
    assert "| writes | transformers | 2 | 1 | 0 | 0 | 1 |" in text
    assert "| writes | timm | 1 | 0 | 0 | 1 | 0 |" in text
