"""`opwright proto gen`: converters that call the generated functions build graphs that compute."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence  # noqa: TC003 - the annotations of a kernel are read
from typing import TYPE_CHECKING, Any

import torch
import torch_npu  # noqa: F401 - torchair is found by way of it
import torchair
from typer.testing import CliRunner

from opwright import twin
from opwright.cli import app
from opwright.graph_engine.table import kernel
from tests.graph_engine.agreement import compiled, new_library
from tests.twin.on_twin import output

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Text: the header that `opwright proto gen` reads,
# as an operator project has it. Weighted has a function in aclnn, Every has attributes that only
# graphs have.
HEADER = r"""#pragma once
#include "graph/operator_reg.h"
namespace ge {
/* A sum with weights. */
REG_OP(Weighted)
    .INPUT(x, ge::TensorType({DT_FLOAT, DT_FLOAT16}))
    .OPTIONAL_INPUT(bias, TensorType({DT_FLOAT}))
    .DYNAMIC_INPUT(lambda, TensorType({DT_FLOAT}))  // a keyword of Python
    .OUTPUT(out, TensorType({DT_FLOAT}))
    .DYNAMIC_OUTPUT(parts, TensorType({DT_FLOAT}))
    .ATTR(epsilon, Float, 1e-12f)
    .REQUIRED_ATTR(times, Int)
    .ATTR(negate, Bool, false)
    .ATTR(mode, String, "say \"sum\" \\")
    .ATTR(axes, ListInt, {0, 1 << 2})
    .ATTR(weights, ListFloat, {0.5f, 1.0f / 4})
    .ATTR(flags, ListBool, {true, false})
    .OP_END_FACTORY_REG(Weighted);

REG_OP(Every)
    .INPUT(x, TensorType::ALL())
    .OUTPUT(y, TensorType::ALL())
    .ATTR(attr, Type, DT_BF16)
    .ATTR(more, ListInt, {})
    .REQUIRED_ATTR(types, ListType)
    .ATTR(names, ListString, {"p", "q,r"})
    .ATTR(rows, ListListInt, {{1, 2}, {}})
    .ATTR(text, AscendString, "s")
    .OP_END_FACTORY_REG(Every);
}  // namespace ge
"""


def kernel_of_weighted(seen: list[tuple[Any, ...]]) -> Callable[..., None]:
    """Return a kernel that notes its attributes."""

    def weighted(
        x: torch.Tensor,
        bias: torch.Tensor | None,
        others: Sequence[torch.Tensor],
        *rest: Any,  # noqa: ANN401 - of several types
    ) -> None:
        epsilon, times, negate, mode, axes, weights, flags, out, parts = rest
        seen.append((epsilon, negate, mode, axes, weights, flags))
        result = x * times if bias is None else x * times + bias
        for other, weight in zip(others, weights, strict=False):  # only as many as are given
            result = result + other * weight
        out.copy_(-result if negate else result)
        for index, part in enumerate(parts):
            part.copy_(x * index)

    return weighted


def define_operators(generated: Any) -> Any:  # noqa: ANN401 - a module, and what torch does not type
    """Return a library whose converters call the generated functions."""

    def convert_weighted(
        x: object,
        bias: object,
        others: Sequence[object],
        times: int,
        given: bool,  # noqa: FBT001
    ) -> object:
        size = len(others)
        if not given:
            return generated._Weighted(x, bias, others, size_of_parts=size, times=times)  # noqa: SLF001
        first, parts = generated._Weighted(  # noqa: SLF001 - the generated name
            *(x, bias, others),
            size_of_parts=size,
            times=times,
            epsilon=0.25,
            negate=True,
            mode="b",
            axes=[],
            weights=[1.0, 2.0],
            flags=[False],
            node_name="second",
            dependencies=[x],
        )
        assert first.node.name == "second"
        assert first.node.input[-1].endswith(":-1")
        return first, parts

    def convert_every(x: object) -> object:
        texts = {"names": ["n"], "text": "hello"}
        return generated.Every(x, attr=3, types=[0, 1], rows=[[4]], more=[1], **texts)

    library = new_library("my")
    library.define(
        "weighted(Tensor x, Tensor? bias, Tensor[] others, int times, bool given)"
        " -> (Tensor, Tensor[])"
    )
    library.define("every(Tensor x) -> Tensor")
    like = torch.empty_like
    library.impl("weighted", lambda x, _, others, *__: (like(x), [like(x) for _ in others]), "Meta")
    library.impl("every", like, "Meta")
    register = torchair.register_fx_node_ge_converter
    register(torch.ops.my.weighted.default)(convert_weighted)
    register(torch.ops.my.every.default)(convert_every)
    return library


def function(x: torch.Tensor, bias: torch.Tensor, others: list[torch.Tensor]) -> object:
    ops = torch.ops.my
    plain = ops.weighted(x, None, others, 2, False)  # noqa: FBT003 - a value
    return plain, ops.weighted(x, bias, others, 3, True), ops.every(x)  # noqa: FBT003 - a value


def use_generated_functions(folder: str, header: str) -> None:
    sys.path.insert(0, folder)
    seen: list[tuple[Any, ...]] = []
    twin.kernel(header, op="Weighted")(kernel_of_weighted(seen))

    @kernel("Every", source="inferred")
    def every(
        x: torch.Tensor,
        *,
        types: Sequence[int],
        attr: int = 27,
        names: Sequence[str] = (),
        rows: Sequence[Sequence[int]] = (),
        text: str = "",
        more: Sequence[int] = (),  # noqa: ARG001 - as the prototype has it
    ) -> torch.Tensor:
        return x + len(types) + len(names) + len(rows) + len(text) + attr

    _library = define_operators(importlib.import_module("generated"))
    for dynamic, lengths in ((False, (2,)), (True, (3, 5))):
        graph = compiled(function, dynamic=dynamic)
        for length in lengths:
            x, bias, a, b = (torch.randn(length, 4) for _ in range(4))
            (one, parts), (two, _), result = graph(
                x.to("npu"), bias.to("npu"), [a.to("npu"), b.to("npu")]
            )
            torch.testing.assert_close(one.cpu(), x * 2 + a * 0.5 + b * 0.25)
            torch.testing.assert_close(two.cpu(), -(x * 3 + bias + a + 2 * b))
            torch.testing.assert_close(parts[0].cpu(), x * 0)
            torch.testing.assert_close(parts[1].cpu(), x)
            torch.testing.assert_close(result.cpu(), x + 2 + 1 + 1 + 5 + 3)
    (epsilon, *defaults), given = sorted(seen[:2], key=lambda each: each[0])
    assert abs(epsilon - 1e-12) < 1e-18
    assert defaults == [False, 'say "sum" \\', [0, 4], [0.5, 0.25], [True, False]]
    assert given == (0.25, True, "b", [], [1.0, 2.0], [False])


def test_generated_functions_build_graphs_that_compute(tmp_path: Path) -> None:
    header = tmp_path / "package" / "op_proto" / "inc" / "op_proto.h"
    header.parent.mkdir(parents=True)
    header.write_text(HEADER)
    module = tmp_path / "generated.py"
    done = CliRunner().invoke(app, ["proto", "gen", str(header), "-o", str(module)])
    assert done.exit_code == 0, done.output
    package = str(tmp_path / "package")
    output(use_generated_functions, str(tmp_path), str(header), ASCEND_CUSTOM_OPP_PATH=package)
