"""TorchAir's converters of live operators: when they come and go, and what is refused."""

from __future__ import annotations

import pytest

from tests.twin.on_twin import printed, run_fresh

pytestmark = [pytest.mark.twin, pytest.mark.compile]

CODE = """
import opwright as ow
from opwright.errors import OpwrightError

def declared(factor):
    ops = ow.OperatorSet("converting")

    @ops.operator(
        "times(Tensor x, SymInt by=2, *, int? or_=None) -> Tensor",
        aclnn="aclnnTimes(x, by, or_ or 7, out)",
        samples=[ow.sample(x=ow.tensor(2, 3))],
    )
    def times(x, by=2, *, or_=None):
        return x * by * factor

    @ops.operator("add_(Tensor(a!) x, Tensor y) -> Tensor(a!)", aclnn="aclnnAddTo(x, y)")
    def add_(x, y):
        return x.add_(y)

    return ops

def has(name):
    return hasattr(getattr(torch.ops.converting, name).default, "_ge_converter")

names = ("times", "add_", "_mutate_add_", "add_functional")
first = declared(1).load()
print([has(name) for name in names])

import torchair
from torchair._ge_concrete_graph.fx2ge_converter import _declare_supported_converters

print([has(name) for name in names])
print([str(op) for op in _declare_supported_converters() if "converting" in str(op)])

def compiled(function, dynamic=False):
    torch._dynamo.reset()
    backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    return torch.compile(function, backend=backend, dynamic=dynamic)

x = torch.arange(3.0).npu()
model = lambda x: torch.ops.converting.times(x, 3)
print(compiled(model)(x).tolist())
second = declared(10).load()  # replaces the first
print(compiled(model)(x).tolist(), [has(name) for name in names])
try:
    compiled(lambda x: torch.ops.converting.times(x, x.shape[0]), dynamic=True)(x)
except RuntimeError as error:
    print([line for line in str(error).splitlines() if "attribute 'by'" in line][0])
kept = [getattr(torch.ops.converting, name).default for name in names]
second.unload()
print([hasattr(each, "_ge_converter") for each in kept])
print([str(op) for op in _declare_supported_converters() if "converting" in str(op)])

ops = ow.OperatorSet("converting")
ops.declare(
    "times(Tensor x, int by=2) -> Tensor",
    converter=lambda x: torchair.ge.custom_op("Times", x, 2),
)
try:
    ops.load()
except OpwrightError as error:
    print(error)
"""


def test_converters_come_with_torchair_and_go_with_their_set() -> None:
    before, after, samples, first, second, dynamic, gone, none, *refused = [
        line for line in printed(run_fresh(CODE)).splitlines() if not line.startswith("[W")
    ]
    assert before == "[False, False, False, False]"
    assert after == "[True, True, True, True]"
    assert samples == "['converting.times.default']"
    assert first == "[0.0, 3.0, 6.0]"
    assert second == "[0.0, 30.0, 60.0] [True, True, True, True]"
    assert "attribute 'by' of Times: got a size that is known only when the graph runs" in dynamic
    assert gone == "[False, False, False, False]"
    assert none == "[]"
    assert refused[0] == "OPW-E004 the converter takes other parameters than the operator"
    assert "operator converting::times, converter <lambda>" in refused[1]
    assert refused[2].strip() == "got:     (x): too many positional arguments"
