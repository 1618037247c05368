"""Calls of the extension's operators; each check holds for torch_npu built with the sources."""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import TYPE_CHECKING, Any

import torch
import torch_npu

if TYPE_CHECKING:
    from collections.abc import Callable

torch.manual_seed(0)
X, Y = torch.randn(3, 4), torch.randn(4)
XN, YN = X.to("npu"), Y.to("npu")


def check_a_call_with_a_c_type_and_broadcast_sizes() -> None:
    """gen_opapi, and Meta by the same rule."""
    torch.testing.assert_close(torch_npu.npu_t_mul(XN, YN, alpha=2.0).cpu(), 2 * X * Y)
    meta = torch_npu.npu_t_mul(torch.empty(3, 1, device="meta"), torch.empty(4, device="meta"))
    assert meta.shape == (3, 4), meta.shape


def check_in_place() -> None:
    """The argument itself, and a new version."""
    a = torch.ones(3).to("npu")
    version = a._version  # noqa: SLF001
    assert torch_npu.npu_t_accumulate_(a, a.clone()) is a
    assert a.tolist() == [2, 2, 2], a
    assert a._version == version + 1  # noqa: SLF001


def check_sizes_and_dtypes_in_cpp() -> None:
    assert torch.equal(torch_npu.npu_t_tail(XN).cpu(), X[0])
    assert torch_npu.npu_t_tail(torch.arange(3, dtype=torch.int32).to("npu")).dtype == torch.float32


def check_out() -> None:
    """It is resized; another operator inherits from the one with out=."""
    out = torch.empty(0).to("npu")
    assert torch_npu.npu_t_stats(XN, [0], out=out) is out
    torch.testing.assert_close(out.cpu(), X.sum(0))
    keep = True
    torch.testing.assert_close(torch_npu.npu_t_stats(XN, [1], keep).cpu(), X.sum(1, keep))


def check_a_kernel_by_hand() -> None:
    """With every kind of argument."""
    for mask, want in ((None, 7), (XN, -1)):
        first, second = torch_npu.npu_t_kinds(
            XN, 3, [2, 2], mask, "abc", torch.float16, 7, [XN, YN], [1, 2]
        )
        assert (first.dtype, first.shape, second.shape) == (torch.float16, (2, 2), (3,))
        assert (first.tolist(), second.tolist()) == ([[want] * 2] * 2, [3233.0] * 3)


def gradients(function: Callable[..., Any], *arguments: torch.Tensor) -> list[torch.Tensor | None]:
    leaves = [each.clone().requires_grad_() for each in arguments]
    function(*leaves).sum().backward()
    return [None if each.grad is None else each.grad.cpu() for each in leaves]


def product(left: torch.Tensor, right: torch.Tensor) -> Any:  # noqa: ANN401 - of torch_npu
    return torch_npu.npu_t_mul(left, right, alpha=2.0)


def check_derivatives() -> None:
    """Their formulas are expressions: alone, twice, and in a compiled graph."""
    want = [(2 * Y).expand(3, 4), 2 * X.sum(0)]
    torch.testing.assert_close(gradients(product, XN, YN), want)
    compiled = torch.compile(product, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(gradients(compiled, XN, YN), want)
    spread = gradients(lambda each: torch_npu.npu_t_stats(each, [0]), XN)
    torch.testing.assert_close(spread, [torch.ones(3, 4)])
    twice = XN.clone().requires_grad_()
    (first,) = torch.autograd.grad(product(twice, twice).sum(), twice, create_graph=True)
    torch.autograd.backward([first.sum()])
    assert twice.grad is not None
    torch.testing.assert_close(twice.grad.cpu(), torch.full((3, 4), 4.0))


def error_of(function: Callable[..., Any], *arguments: object) -> str:
    """Return what a call says that fails.

    Raises
    ------
    AssertionError
        If it does not fail.
    """
    try:
        function(*arguments)
    except (RuntimeError, ImportError) as error:
        return str(error)
    raise AssertionError(function)


def check_errors() -> None:
    message = error_of(torch_npu.npu_t_kinds, XN, 0, [1], None, "", None, 1, [], None)
    assert message.startswith("n is not positive\n[ERROR] ERR01003 OPS"), message
    message = error_of(torch_npu.npu_t_fallback, XN)
    assert "no file of this extension defines acl_op::npu_t_fallback" in message, message
    message = error_of(torch_npu.npu_t_tail(XN.clone().requires_grad_()).sum().backward)
    assert "derivative for npu::npu_t_tail is not implemented" in message, message
    assert not hasattr(torch.ops.npu, "npu_t_old")


def accumulate_and_multiply(left: torch.Tensor, right: torch.Tensor) -> Any:  # noqa: ANN401 - of torch_npu
    torch_npu.npu_t_accumulate_(left, right)
    return torch_npu.npu_t_mul(left, right)


def check_a_captured_write_to_an_input() -> None:
    step = accumulate_and_multiply
    compiled = torch.compile(step, backend="aot_eager", fullgraph=True, dynamic=True)
    for size in (3, 5):
        left, right = torch.ones(size).to("npu"), torch.ones(size).to("npu")
        assert compiled(left, right).tolist() == [2.0] * size == left.tolist()


def check_a_second_package_with_the_same_operators() -> None:
    del sys.modules["t_ops"]
    message = error_of(importlib.import_module, "t_ops")
    assert message.startswith("t_ops: npu::npu_t_mul exists already"), message


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("t_ops")  # the package, which is on the path
        for check in (
            check_a_call_with_a_c_type_and_broadcast_sizes,
            check_in_place,
            check_sizes_and_dtypes_in_cpp,
            check_out,
            check_a_kernel_by_hand,
            check_derivatives,
            check_errors,
            check_a_captured_write_to_an_input,
            check_a_second_package_with_the_same_operators,
        ):
            check()
    print("all hold")  # noqa: T201 - read by the test
