"""`opwright proto gen`: converters that call the generated functions build graphs that compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typer.testing import CliRunner

from opwright.cli import app
from tests.twin.on_twin import output

if TYPE_CHECKING:
    from pathlib import Path

# As an operator project has it. Weighted has a function in aclnn, Every has attributes that only
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

SCRIPT = """
import sys
import torchair
from opwright import twin
from opwright.graph_engine.table import kernel
from torchair import register_fx_node_ge_converter

sys.path.insert(0, {folder!r})
from generated import Every, _Weighted

def compiled(function, dynamic):
    torch._dynamo.reset()
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    return torch.compile(function, backend=backend, dynamic=dynamic)

seen = []

@twin.kernel({header!r}, op="Weighted")
def weighted(x, bias, others, epsilon, times, negate, mode, axes, weights, flags, out, parts):
    seen.append((epsilon, negate, mode, axes, weights, flags))
    result = x * times if bias is None else x * times + bias
    for other, weight in zip(others, weights):
        result = result + other * weight
    out.copy_(-result if negate else result)
    for index, part in enumerate(parts):
        part.copy_(x * index)

@kernel("Every", source="inferred")
def every(x: torch.Tensor, *, types, attr=27, names=(), rows=(), text="", more=()) -> torch.Tensor:
    return x + len(types) + len(names) + len(rows) + len(text) + attr

library = torch.library.Library("my", "DEF")
library.define(
    "weighted(Tensor x, Tensor? bias, Tensor[] others, int times, bool given) -> (Tensor, Tensor[])"
)
library.define("every(Tensor x) -> Tensor")
like = torch.empty_like
library.impl("weighted", lambda x, _, others, *__: (like(x), [like(x) for _ in others]), "Meta")
library.impl("every", like, "Meta")

@register_fx_node_ge_converter(torch.ops.my.weighted.default)
def convert_weighted(x, bias, others, times, given, meta_outputs=None):
    if not given:
        return _Weighted(x, bias, others, size_of_parts=len(others), times=times)
    first, parts = _Weighted(
        x, bias, others, size_of_parts=len(others), times=times, epsilon=0.25, negate=True,
        mode="b", axes=[], weights=[1.0, 2.0], flags=[False], node_name="second",
        dependencies=[x],
    )
    assert first.node.name == "second" and first.node.input[-1].endswith(":-1")
    return first, parts

@register_fx_node_ge_converter(torch.ops.my.every.default)
def convert_every(x, meta_outputs=None):
    return Every(x, attr=3, types=[0, 1], names=["n"], rows=[[4]], text="hello",
                 more=[1])

ops = torch.ops.my
function = lambda x, bias, others: (
    ops.weighted(x, None, others, 2, False), ops.weighted(x, bias, others, 3, True), ops.every(x)
)
for dynamic, lengths in ((False, (2,)), (True, (3, 5))):
    graph = compiled(function, dynamic)
    for length in lengths:
        x, bias, a, b = (torch.randn(length, 4) for _ in range(4))
        (one, parts), (two, _), every = graph(x.npu(), bias.npu(), [a.npu(), b.npu()])
        torch.testing.assert_close(one.cpu(), x * 2 + a * 0.5 + b * 0.25)
        torch.testing.assert_close(two.cpu(), -(x * 3 + bias + a + 2 * b))
        torch.testing.assert_close(parts[0].cpu(), x * 0)
        torch.testing.assert_close(parts[1].cpu(), x)
        torch.testing.assert_close(every.cpu(), x + 2 + 1 + 1 + 5 + 3)
defaults, given = sorted(seen[:2], key=lambda each: each[0])
assert abs(defaults[0] - 1e-12) < 1e-18, defaults
assert defaults[1:] == (False, 'say "sum" \\\\', [0, 4], [0.5, 0.25], [True, False]), defaults
assert given == (0.25, True, "b", [], [1.0, 2.0], [False]), given
print("equal")
"""


def test_generated_functions_build_graphs_that_compute(tmp_path: Path) -> None:
    header = tmp_path / "package" / "op_proto" / "inc" / "op_proto.h"
    header.parent.mkdir(parents=True)
    header.write_text(HEADER)
    module = tmp_path / "generated.py"
    done = CliRunner().invoke(app, ["proto", "gen", str(header), "-o", str(module)])
    assert done.exit_code == 0, done.output
    script = SCRIPT.format(folder=str(tmp_path), header=str(header))
    printed = output(script, ASCEND_CUSTOM_OPP_PATH=str(tmp_path / "package"))
    assert printed.splitlines()[-1] == "equal"
