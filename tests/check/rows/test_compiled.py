"""A missing compiler or header is not reported for operators that are not for TorchAir's graphs."""

from __future__ import annotations

from typing import Any

import pytest

import opwright.twin  # before torch, which loads torch_npu

# isort: split
import torch
import torch_npu  # noqa: F401

import opwright as ow
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
