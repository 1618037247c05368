"""Compiled graphs with operators of the package of `operators/`, in a process that finds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import opwright.twin  # noqa: F401  # before torch, which loads torch_npu

# isort: split
import torch
import torchair
from torchair import register_fx_node_ge_converter
from torchair.ge import attr, custom_op

if TYPE_CHECKING:
    from collections.abc import Callable


def compiled(function: Callable[..., Any], *, dynamic: bool = False) -> Callable[..., Any]:
    """Compile a function with TorchAir, for the first time."""
    torch._dynamo.reset()  # noqa: SLF001
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    return torch.compile(function, backend=backend, dynamic=dynamic)


def defined(schema: str, meta: Callable[..., Any]) -> object:
    """Define an operator with a Meta function; it is there as long as what is returned."""
    untyped: Any = torch.library.Library
    library: Any = untyped("asc", "FRAGMENT")
    library.define(schema)
    library.impl(schema.partition("(")[0], meta, "Meta")
    return library


def blend(x: torch.Tensor, bias: torch.Tensor) -> Any:  # noqa: ANN401 - of torch.ops
    return torch.ops.asc.blend(x, bias, 2.0) + 1


def blend_alone(x: torch.Tensor) -> Any:  # noqa: ANN401 - of torch.ops
    return torch.ops.asc.blend(x, None, 2.0) + 1


def negative_cube(x: torch.Tensor) -> Any:  # noqa: ANN401 - of torch.ops
    return torch.ops.asc.power_of(x, 3, True)  # noqa: FBT003 - as a schema has it


def sum_of(*parts: torch.Tensor) -> Any:  # noqa: ANN401 - of torch.ops
    return torch.ops.asc.list_sum(list(parts))


def compute_in_graphs() -> None:
    """TorchAir finds the GE types; one operator has a converter by hand."""
    libraries = [
        defined(
            "blend(Tensor x, Tensor? bias, float weight) -> Tensor",
            lambda x, _bias, _weight: torch.empty_like(x),
        ),
        defined("list_sum(Tensor[] parts) -> Tensor", lambda parts: torch.empty_like(parts[0])),
        defined(
            "power_of(Tensor x, int exponent, bool negate) -> Tensor",
            lambda x, _exponent, _negate: torch.empty_like(x),
        ),
    ]

    def convert(x: Any, bias: Any, weight: float, meta_outputs: object = None) -> Any:  # noqa: ANN401 - of TorchAir
        del meta_outputs
        attributes = {"weight": attr.Float(weight), "block_count": attr.Int(3)}
        return custom_op("Blend", inputs={"x": x, "bias": bias}, attrs=attributes, outputs=["y"])

    register_fx_node_ge_converter(torch.ops.asc.blend.default)(convert)
    for dynamic in (False, True):
        x, bias = torch.randn(4, 333), torch.randn(4, 333)
        step = compiled(blend, dynamic=dynamic)
        torch.testing.assert_close(step(x.to("npu"), bias.to("npu")).cpu(), x * 2 + bias + 1)
        step = compiled(blend_alone, dynamic=dynamic)
        torch.testing.assert_close(step(x.to("npu")).cpu(), x * 2 + 1)
    x = torch.arange(5.0)
    torch.testing.assert_close(compiled(negative_cube)(x.to("npu")).cpu(), -(x**3))
    parts = [torch.randn(9) for _ in range(3)]
    got = compiled(sum_of)(*(part.to("npu") for part in parts))
    torch.testing.assert_close(got.cpu(), torch.stack(parts).sum(0))
    del libraries


def infer_another_shape() -> None:
    """The operator's inference says something else than its Meta function."""
    library = defined("wrong(Tensor x) -> Tensor", lambda x: x.new_empty(3))

    def convert(x: Any, meta_outputs: object = None) -> Any:  # noqa: ANN401 - of TorchAir
        del meta_outputs
        return custom_op("Blend", inputs={"x": x, "bias": None}, attrs={}, outputs=["y"])

    register_fx_node_ge_converter(torch.ops.asc.wrong.default)(convert)
    x = torch.arange(5.0).to("npu")
    text = r"the shape inference function of Blend says \[5\]"
    with pytest.raises(RuntimeError, match=text):
        compiled(torch.ops.asc.wrong.default)(x).cpu()
    del library
