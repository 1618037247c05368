"""A missing compiler or header is not reported for operators that are not for TorchAir's graphs."""

from __future__ import annotations

from typing import Any

import pytest

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import torch
import torch_npu  # noqa: F401
from torchair.ge import attr, custom_op

import opwright as ow
from opwright.check.examine import examine_cell
from opwright.check.row_context import NotApplicableError, RowContext
from opwright.check.rows import row
from opwright.check.rows.compiled import Trial
from opwright.check.samples import Samples
from opwright.check.target import subjects_of_set

pytestmark = pytest.mark.twin

LIBRARY: Any = torch.library.Library("opwright_test_headers", "DEF")  # type: ignore[no-untyped-call]
SAMPLE = ow.sample(x=ow.tensor(3))
# TorchAir's words where it writes a class for an operator of C++ and cannot compile or load it.
WORDS = [
    "g++ compilation failed for 'op_cpp_graph1':\ngraph/custom_op.h: No such file or directory",
    "torchair_custom_op_cpp_pid1_a/op_cpp_graph1.so: undefined symbol: aclrtMalloc",
    "[Errno 2] No such file or directory: 'g++'",
    # CANN has an operator of the name, which is another one.
    "Failed to convert torch args to AscendIR args: The AscendIR Rotate expected 8 args but got 3.",
]


def trial(name: str) -> Trial:
    """Return a compiled function of an operator of another library."""
    LIBRARY.define(f"{name}(Tensor x) -> Tensor")
    ops = ow.OperatorSet("opwright_test_headers", existing=True)

    @ops.operator(f"{name}(Tensor x) -> Tensor", samples=[SAMPLE])
    def reference(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    assert reference.name == name
    (subject,) = subjects_of_set(ops)
    context = RowContext(subject, row("compiled"), "max-autotune", samples=Samples(subject))
    return Trial(context, SAMPLE)


def test_a_missing_header_is_not_the_operators_fault() -> None:
    of_library = trial("unconverted")
    for text in WORDS:
        with pytest.raises(NotApplicableError, match="nothing says that it is for TorchAir"):
            of_library.raised(None, SAMPLE, RuntimeError(text))  # type: ignore[arg-type]


def test_a_converter_is_asked_for_each_dtype_that_an_argument_names() -> None:
    ops = ow.OperatorSet("opwright_test_tables")

    @ops.operator(
        "scales_to(Tensor x, *, ScalarType dtype) -> Tensor",
        dtypes={"x": "float32", "out": "dtype"},
        samples=[ow.sample(x=ow.tensor(3), dtype=each) for each in (torch.half, torch.bfloat16)],
    )
    def scales_to(x: torch.Tensor, *, dtype: torch.dtype) -> torch.Tensor:
        return (x * 2).to(dtype)

    @scales_to.converter
    def convert(x: object, *, dtype: torch.dtype) -> object:
        number = {torch.float32: 0, torch.half: 1}[dtype]
        attrs = {"dtype": attr.Int(number)}
        return custom_op("ScalesTo", inputs={"x": x}, attrs=attrs, outputs=["out"])

    assert convert is not None
    (subject,) = subjects_of_set(ops)
    outcome = examine_cell(subject, row("compiled"), "max-autotune", samples=Samples(subject))
    (finding,) = outcome.findings
    assert "bfloat16" in str(finding.sample)


def test_a_converter_is_asked_for_numbers_that_are_left_out() -> None:
    ops = ow.OperatorSet("opwright_test_left_out")

    @ops.operator(
        "scales_by(Tensor x, *, float? factor=2.0) -> Tensor",
        aclnn="aclnnScalesBy(x, factor or 1.0, out)",
        dtypes={"x": "float32"},
    )
    def scales_by(x: torch.Tensor, *, factor: float | None = 2.0) -> torch.Tensor:
        return x * (1.0 if factor is None else factor)

    @scales_by.converter
    def convert(x: object, *, factor: float | None = 2.0) -> object:
        attrs = {"factor": attr.Float(factor)}  # of None, too
        return custom_op("ScalesBy", inputs={"x": x}, attrs=attrs, outputs=["out"])

    assert convert is not None
    (subject,) = subjects_of_set(ops)
    outcome = examine_cell(subject, row("compiled"), "max-autotune", samples=Samples(subject))
    (finding,) = outcome.findings
    assert "('factor', None)" in str(finding.sample)
