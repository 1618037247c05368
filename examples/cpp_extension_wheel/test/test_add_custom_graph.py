"""Tests of the operator in graphs that TorchAir compiles; they need an NPU or its twin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
import torchair

import custom_ops.converter  # noqa: F401 - for max-autotune
from custom_ops import add_custom

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MODES = ("reduce-overhead", "max-autotune")


def compiled(
    model: Callable[..., Any], mode: str, *, dynamic: bool, dump: Path | None = None
) -> Callable[..., Any]:
    torch.compiler.reset()
    config = torchair.CompilerConfig()
    config.mode = mode
    if dump:
        config.debug.graph_dump.type = "txt"
        config.debug.graph_dump.path = str(dump)
    backend = torchair.get_npu_backend(compiler_config=config)
    return torch.compile(model, backend=backend, dynamic=dynamic, fullgraph=True)


def model(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.relu(add_custom(2 * x, y)) - x


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("mode", MODES)
def test_a_compiled_model_agrees_with_the_cpu(mode: str, *, dynamic: bool) -> None:
    torch.manual_seed(2024)
    call = compiled(model, mode, dynamic=dynamic)
    for size in (4, 4, 7, 12) if dynamic else (4, 4):
        x, y = torch.randn(size, 8), torch.randn(size, 8)
        with torch.no_grad():
            got = call(x.npu(), y.npu())
        torch.testing.assert_close(got.cpu(), torch.relu(2 * x + y) - x, rtol=0.0, atol=0.0)


@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_a_compiled_model_agree_with_the_cpu(mode: str) -> None:
    x, y = torch.randn(3, 5), torch.randn(3, 5)
    leaves = [each.npu().requires_grad_() for each in (x, y)]
    want = [each.requires_grad_() for each in (x, y)]
    compiled(model, mode, dynamic=False)(*leaves).sum().backward()
    (torch.relu(2 * x + y) - x).sum().backward()
    for leaf, other in zip(leaves, want, strict=True):
        torch.testing.assert_close(leaf.grad.cpu(), other.grad, rtol=0.0, atol=0.0)


def test_the_graph_of_ascend_ir_has_the_operator_of_the_prototype(tmp_path: Path) -> None:
    call = compiled(model, "max-autotune", dynamic=False, dump=tmp_path)
    with torch.no_grad():
        call(torch.ones(3).npu(), torch.ones(3).npu())
    (file,) = tmp_path.glob("dynamo_optimized_*")
    assert file.read_text(encoding="utf-8").count('type: "AddCustom"') == 1
