"""Tests of ``add_custom`` in the installed wheel; they need an NPU or its twin."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import custom_pypto
from support import MODES, compiled

add_custom = torch.ops.custom_pypto.add_custom


def test_the_installed_wheel_is_tested_and_not_the_sources() -> None:
    assert "site-packages" in Path(custom_pypto.__file__).parts


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32], ids=str)
def test_sums_agree_with_the_cpu(mode: str, dtype: torch.dtype) -> None:
    call = compiled(lambda x, y: torch.relu(add_custom(2 * x, y)) - x, mode, dynamic=True)
    for rows in (8, 3, 1):
        x, y = torch.randn(rows, 2048).to(dtype), torch.randn(rows, 2048).to(dtype)
        got = call(x.npu(), y.npu())
        torch.testing.assert_close(got.cpu(), torch.relu(2 * x + y) - x, rtol=0, atol=0)


@pytest.mark.parametrize("mode", MODES)
def test_gradients_agree_with_the_cpu(mode: str) -> None:
    x, y = torch.randn(3, 5), torch.randn(3, 5)
    leaves = [each.npu().requires_grad_() for each in (x, y)]
    wanted = [each.requires_grad_() for each in (x, y)]
    compiled(lambda x, y: add_custom(x, y).square(), mode)(*leaves).sum().backward()
    (x + y).square().sum().backward()
    for leaf, other in zip(leaves, wanted, strict=True):
        torch.testing.assert_close(leaf.grad.cpu(), other.grad, rtol=0, atol=0)


def test_second_derivatives() -> None:
    x, y = (torch.randn(4).npu().requires_grad_() for _ in range(2))
    (first,) = torch.autograd.grad((add_custom(x, y) ** 3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), y)
    torch.testing.assert_close(second, 6 * (x + y).detach())


def test_the_result_and_the_gradients_are_tensors_of_their_own() -> None:
    x = torch.randn(16).npu()
    results = (x, add_custom(x, x), *torch.ops.custom_pypto.add_custom_backward(x))
    assert len({each.data_ptr() for each in results}) == len(results)


@pytest.mark.parametrize("device", ["npu", "meta"])
@pytest.mark.parametrize(
    ("shapes", "dtypes", "message"),
    [
        (((2, 3), (3,)), "ff", r"other must have the shape \[2, 3\] of self, got \[3\]"),
        (((2, 3), (2, 4)), "ff", r"other must have the shape \[2, 3\] of self, got \[2, 4\]"),
        (((2,), (2,)), "fh", "other must be Float like self, got Half"),
        (((2,), (2,)), "dd", "self must be Half or Float, got Double"),
    ],
)
def test_refusals(
    device: str, shapes: tuple[tuple[int, ...], ...], dtypes: str, message: str
) -> None:
    named = {"f": torch.float32, "h": torch.float16, "d": torch.float64}
    operands = (
        torch.zeros(shape, dtype=named[dtype], device=device)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    )
    with pytest.raises(RuntimeError, match=f"add_custom: {message}"):
        add_custom(*operands)
