"""Which Python reference function an operator has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu

from opwright import twin
from opwright.twin.user_kernels.registry import DuplicateKernelError, KernelParametersError
from tests.twin.aclnn_calls import call

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.twin, pytest.mark.build, pytest.mark.usefixtures("device")]

ADD = "(const aclTensor *x, const aclTensor *y, aclTensor *out)"


def test_a_second_function_is_refused_and_the_first_stays() -> None:
    @twin.kernel("aclnnTestTwice(const aclTensor *x)")
    def first(_: torch.Tensor) -> None:
        pass

    def second(_: torch.Tensor) -> None:
        pass

    with pytest.raises(DuplicateKernelError) as caught:
        twin.kernel("aclnnTestTwice(const aclTensor *x)")(second)
    assert caught.value.got == f"one at {first.registration.where}"
    call("aclnnTestTwice", torch.ones(1, device="npu"))
    torch_npu.npu.synchronize()
    first.registration.remove()
    twin.kernel("aclnnTestTwice(const aclTensor *x)")(second)


def test_the_same_function_again_replaces() -> None:
    values: list[int] = []

    def declare(value: int) -> None:
        @twin.kernel("aclnnTestAgain(const aclTensor *x)")
        def reference(_: torch.Tensor) -> None:
            values.append(value)

    declare(1)
    declare(2)
    call("aclnnTestAgain", torch.ones(1, device="npu"))
    torch_npu.npu.synchronize()
    assert values == [2]


def test_a_function_with_other_parameters_is_refused() -> None:
    def two(x: torch.Tensor, out: torch.Tensor) -> None:
        pass

    with pytest.raises(KernelParametersError) as caught:
        twin.kernel(f"aclnnTestParameters{ADD}")(two)
    line = two.__code__.co_firstlineno
    assert str(caught.value) == (
        "OPW-K020 the function does not take the operator's parameters\n"
        f"  where:   {__file__}:{line}\n"
        "  got:     two(x: 'torch.Tensor', out: 'torch.Tensor') -> 'None': "
        "too many positional arguments\n"
        "  allowed: const aclTensor *x, const aclTensor *y, aclTensor *out\n"
        "  fix:     give the function one positional parameter for each, in this order"
    )


def test_from_a_reg_op_header(tmp_path: Path) -> None:
    header = tmp_path / "neg_custom.h"
    header.write_text("REG_OP(TestNeg).INPUT(x, T).OUTPUT(y, T).OP_END_FACTORY_REG(TestNeg)")

    @twin.kernel(header)
    def neg(x: torch.Tensor, out: torch.Tensor) -> None:
        torch.neg(x, out=out)

    out = torch.empty(2, device="npu")
    call("aclnnTestNeg", torch.ones(2, device="npu"), out)
    assert out.cpu().tolist() == [-1, -1]


def test_a_built_in_function_can_be_replaced_and_is_back_afterwards() -> None:
    zeros, out = torch.zeros(2, device="npu"), torch.empty(2, device="npu")

    @twin.kernel("aclnnErfinv(const aclTensor *self, aclTensor *out)")
    def erfinv(_: torch.Tensor, out: torch.Tensor) -> None:
        out.fill_(42)

    call("aclnnErfinv", zeros, out)
    assert out.cpu().tolist() == [42, 42]
    erfinv.registration.remove()
    call("aclnnErfinv", zeros, out)
    assert out.cpu().tolist() == [0, 0]
    assert torch.erfinv(zeros).cpu().tolist() == [0, 0]
