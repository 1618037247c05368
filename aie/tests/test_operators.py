"""Each operator of reference section 8.5, compiled as a whole, beside TorchScript."""

from __future__ import annotations

import linecache
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Optional

import pytest
import torch
from torch import nn
from torch.nn import functional

import torch_aie
from aie.tests.evaluator_rows import EVALUATED
from aie.tests.listed_operators import CONVERTERS, EVALUATORS
from aie.tests.operator_rows import CONVERTED, Row
from aie.tests.other_rows import OTHERS
from torch_aie import PrecisionPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

# PyTorch calls TorchScript deprecated in each of its functions; this package is about it.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:torch.meshgrid:UserWarning"),
    pytest.mark.filterwarnings("ignore:at..frobenius_norm is deprecated:UserWarning"),
]


TOLERANCE = {PrecisionPolicy.FP32: 1e-5, PrecisionPolicy.FP16: 2e-2}
NAMES = {"torch": torch, "F": functional, "math": math, "Optional": Optional}


def scripted(row: Row) -> torch.jit.ScriptModule:
    *statements, result = row.expression.split("\n")
    arguments = ", ".join("xyz"[: len(row.inputs)])
    lines = [f"def forward(self, {arguments}):", *statements, f"return {result}"]
    source = "\n    ".join(lines) + "\n"
    # TorchScript reads the function's source, which is in no file.
    file = f"<{row}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names = dict(NAMES)
    exec(compile(source, file, "exec"), names)  # noqa: S102 - a row's
    module = type("Operator", (nn.Module,), {"forward": names["forward"]})().eval()
    script: torch.jit.ScriptModule = torch.jit.script(module)
    return script


def traced(row: Row) -> torch.jit.ScriptModule:
    class Operator(nn.Module):
        def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
            named = dict(zip("xyz", tensors, strict=False))
            result: torch.Tensor = eval(row.expression, NAMES, named)  # noqa: S307 - a row's
            return result

    module: torch.jit.ScriptModule
    module = torch.jit.trace(Operator().eval(), tuple(row.tensors()))  # type: ignore[no-untyped-call]
    return module


def operators_in(block: torch._C.Block | torch.Graph) -> Iterator[str]:
    """Give each node's kind, and the operator with its overload."""
    for node in block.nodes():
        yield node.kind()
        yield node.schema().split("(")[0]
        for inner in node.blocks():
            yield from operators_in(inner)


def check(row: Row, policy: PrecisionPolicy) -> None:
    module = traced(row) if row.traced else scripted(row)
    assert row.operator in set(operators_in(module.inlined_graph))
    tensors = row.tensors()
    expected = module(*tensors)
    compiled = torch_aie.compile(
        module,
        inputs=tensors,
        precision_policy=policy,
        require_full_compilation=True,
    )
    near = TOLERANCE[policy]
    torch.testing.assert_close(compiled(*tensors), expected, atol=near, rtol=near, equal_nan=True)


@pytest.mark.parametrize("policy", TOLERANCE, ids=lambda policy: policy.name)
@pytest.mark.parametrize("row", [*CONVERTED, *OTHERS], ids=str)
def test_converter_equals_torchscript(row: Row, policy: PrecisionPolicy) -> None:
    check(row, policy)


@pytest.mark.parametrize("row", EVALUATED, ids=str)
def test_evaluator_equals_torchscript(row: Row) -> None:
    check(row, PrecisionPolicy.FP32)


def test_every_listed_operator_has_a_row() -> None:
    converters = {row.operator.removeprefix("aten::") for row in [*CONVERTED, *OTHERS]}
    evaluators = {row.operator.split(".")[0] for row in EVALUATED}
    assert CONVERTERS - {name.split(".")[0] for name in converters} == set()
    assert EVALUATORS - evaluators == set()


def test_each_layer_has_one_row() -> None:
    # The engine takes the first row of a name: a second one would be dead.
    tables = Path(__file__).parents[1] / "native" / "engine" / "src" / "operations"
    rows = [
        name
        for table in tables.glob("*.cpp")
        for name in re.findall(r'^    \{"(\w+)", \d+,', table.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(rows) > 100
    assert sorted(rows) == sorted(set(rows))
