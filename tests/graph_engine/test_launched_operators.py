"""Operators that launch their work themselves: classes of C++ in graphs.

TorchAir writes such a class for every operator that it has no converter for, among them the one
that `scaled_dot_product_attention` is on an NPU, which the engine computes itself.
"""

from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.graph_engine.agreement import COMPILE, MORE_TIME
from tests.twin.on_twin import output

pytestmark = pytest.mark.build

CLASSES = """
#include <acl/acl.h>
#include <graph/custom_op.h>
#include <graph/operator_reg.h>
#include <register/op_impl_registry.h>

#include <algorithm>
#include <stdexcept>

namespace ge {
REG_OP(Joined).DYNAMIC_INPUT(xs, TensorType::ALL()).OPTIONAL_INPUT(skip, IntTensorType())
    .INPUT(last, TensorType::ALL()).OUTPUT(y, TensorType::ALL()).ATTR(N, Int, 0)
    .OP_END_FACTORY_REG(Joined);
IMPL_OP(Joined).InputsDataDependency({1});
REG_OP(Faulty).INPUT(x, TensorType::ALL()).OUTPUT(y, TensorType::ALL()).OP_END_FACTORY_REG(Faulty);
REG_OP(Strange).INPUT(x, TensorType::ALL()).OUTPUT(y, TensorType::ALL())
    .OP_END_FACTORY_REG(Strange);
REG_OP(Unmade).INPUT(x, TensorType::ALL()).OUTPUT(y, TensorType::ALL()).OP_END_FACTORY_REG(Unmade);
REG_OP(Kept).INPUT(x, TensorType::ALL()).OUTPUT(y, TensorType::ALL()).OP_END_FACTORY_REG(Kept);
}  // namespace ge

// The rows of all tensors one after the other, by way of a workspace; skips as many of the last.
class Joined : public ge::EagerExecuteOp {
 public:
  ge::Status Execute(gert::EagerOpExecutionContext* context) override {
    int64_t skip = 0;
    if (const gert::Tensor* given = context->GetOptionalInputTensor(1)) {
      aclrtMemcpy(&skip, sizeof(skip), given->GetAddr(), given->GetSize(),
                  ACL_MEMCPY_DEVICE_TO_HOST);
    }
    const gert::Tensor* last = context->GetRequiredInputTensor(2);
    gert::StorageShape shape = last->GetShape();
    int64_t rows = last->GetShape().GetStorageShape().GetDim(0) - skip;
    for (size_t i = 0; context->GetDynamicInputTensor(0, i) != nullptr; ++i) {
      rows += context->GetDynamicInputTensor(0, i)->GetStorageShape().GetDim(0);
    }
    shape.MutableOriginShape().SetDim(0, rows);
    shape.MutableStorageShape().SetDim(0, rows);
    gert::Tensor* y =
        context->MallocOutputTensor(0, shape, last->GetFormat(), last->GetDataType());
    if (y == nullptr) return ge::FAILED;
    char* room = static_cast<char*>(context->MallocWorkSpace(y->GetSize()));
    size_t filled = 0;
    const auto append = [&](const gert::Tensor* from) {
      const size_t bytes = std::min(from->GetSize(), y->GetSize() - filled);
      aclrtMemcpyAsync(room + filled, bytes, from->GetAddr(), bytes, ACL_MEMCPY_DEVICE_TO_DEVICE,
                       context->GetStream());
      filled += bytes;
    };
    for (size_t i = 0; const gert::Tensor* x = context->GetDynamicInputTensor(0, i); ++i) append(x);
    append(last);
    aclrtMemcpyAsync(y->GetAddr(), filled, room, filled, ACL_MEMCPY_DEVICE_TO_DEVICE,
                     context->GetStream());
    return ge::SUCCESS;
  }
};
REG_AUTO_MAPPING_OP(Joined);

class Faulty : public ge::EagerExecuteOp {
 public:
  ge::Status Execute(gert::EagerOpExecutionContext*) override {
    throw std::runtime_error("a fault of its own");
  }
};
REG_AUTO_MAPPING_OP(Faulty);

class Strange : public ge::EagerExecuteOp {
 public:
  ge::Status Execute(gert::EagerOpExecutionContext*) override { throw 42; }
};
REG_AUTO_MAPPING_OP(Strange);

class Unmade : public ge::EagerExecuteOp {
 public:
  Unmade() { throw "no class"; }
  ge::Status Execute(gert::EagerOpExecutionContext*) override { return ge::SUCCESS; }
};
REG_AUTO_MAPPING_OP(Unmade);

class Kept : public ge::EagerExecuteOp {
 public:
  ge::Status Execute(gert::EagerOpExecutionContext* context) override {
    return context->MakeOutputRefInput(0, 0) == nullptr ? ge::FAILED : ge::SUCCESS;
  }
};
REG_AUTO_MAPPING_OP(Kept);
"""

PRELUDE = f"""
import ctypes, os, subprocess, tempfile
from torchair.ge import Const, attr, custom_op

folder = tempfile.TemporaryDirectory()
root = os.environ["ASCEND_HOME_PATH"]
subprocess.run(
    ["g++", "-std=c++17", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-xc++", "-",
     f"-I{{root}}/include", f"-L{{root}}/lib64", "-Wl,--no-as-needed", "-lascendcl", "-lge_runner",
     "-lopp_registry", "-o", f"{{folder.name}}/classes.so"],
    input={CLASSES!r}, text=True, check=True)
ctypes.CDLL(f"{{folder.name}}/classes.so")

library = torch.library.Library("page", "DEF")
EVERYWHERE = "CompositeExplicitAutograd"

def define(schema, function):
    library.define(schema)
    library.impl(schema.partition("(")[0], function, EVERYWHERE)

define("joined(Tensor[] xs, Tensor last, *, int? skip=None) -> Tensor",
       lambda xs, last, *, skip=None: torch.cat([*xs, last[: last.shape[0] - (skip or 0)]]))
define("faulty(Tensor x) -> Tensor", lambda x: x.clone())
define("strange(Tensor x) -> Tensor", lambda x: x.clone())
define("unmade(Tensor x) -> Tensor", lambda x: x.clone())
define("kept(Tensor x) -> Tensor", lambda x: x.clone())
define("wrong(Tensor x) -> Tensor", lambda x: x[1:].clone())

@torchair.register_fx_node_ge_converter(torch.ops.page.joined.default)
def convert_joined(xs, last, *, skip=None, meta_outputs=None):
    inputs = {{"xs": xs, "skip": None if skip is None else Const(skip, dtype=9), "last": last}}
    return custom_op("Joined", inputs=inputs, outputs=["y"], attrs={{"N": attr.Int(len(xs))}})

for name in ("faulty", "strange", "unmade", "kept"):
    @torchair.register_fx_node_ge_converter(getattr(torch.ops.page, name).default)
    def convert(x, meta_outputs=None, op_type=name.capitalize()):
        return custom_op(op_type, inputs={{"x": x}}, outputs=["y"], attrs={{}})

@torchair.register_fx_node_ge_converter(torch.ops.page.wrong.default)
def convert_wrong(x, meta_outputs=None):
    inputs = {{"xs": [], "skip": None, "last": x}}
    return custom_op("Joined", inputs=inputs, outputs=["y"], attrs={{"N": attr.Int(0)}})

def whole(*sizes):
    return torch.arange(torch.Size(sizes).numel(), dtype=torch.float32).view(sizes).npu()
"""


def test_a_class_computes_a_node_from_device_memory_of_fixed_and_changing_sizes() -> None:
    assert output(
        COMPILE
        + PRELUDE
        + """
def join(x, y):  # of inputs of the graph, and of what the engine computed in host memory
    return torch.ops.page.joined([x, y * 2], y + 1, skip=1) * 3

for dynamic in (False, True):
    function = compiled(join, dynamic)
    for rows in (2, 5, 3):
        x, y = whole(rows, 4), whole(rows + 1, 4)
        assert torch.equal(function(x, y), join(x, y)), (dynamic, rows)
print(torch.equal(compiled(lambda x: torch.ops.page.joined([], x.t()))(x), x.t()))
print(torch.equal(compiled(lambda x: torch.ops.page.kept(x + 1) * 2)(x), (x + 1) * 2))
"""
    ).split() == ["True", "True"]


def test_what_goes_wrong_in_a_class_is_an_error_of_its_run_and_of_no_later_one() -> None:
    printed = output(
        COMPILE
        + PRELUDE
        + """
x = whole(3, 4)
for name in ("faulty", "strange", "unmade", "wrong"):
    try:
        compiled(getattr(torch.ops.page, name))(x)
        torch.npu.synchronize()
    except RuntimeError as error:
        print(next(line for line in str(error).splitlines() if "got:" in line or "OPW" in line))
        print(" ".join(str(error).split()))
    assert torch.equal(compiled(torch.ops.page.kept)(x), x)
"""
    )
    assert "a fault of its own" in printed
    assert "Execute threw something that is no std::exception" in printed
    assert "the class threw something that is no std::exception" in printed
    assert "[3, 4], but Meta says" in printed


ATTENTION = """
from torch.nn.functional import scaled_dot_product_attention as attend

def same(ours, theirs):  # up to one rounding to half precision
    torch.testing.assert_close(ours, theirs, rtol=2e-3, atol=2e-3)

def operands(length, heads=4, shared=4):
    return [drawn(2, n, length, 32) for n in (heads, shared, shared)]

some, several = torch.rand(2, 1, 16, 16) > 0.3, torch.randn(2, 1, 16, 16).half()
CASES = {
    "plain": (lambda q, k, v, m: attend(q, k, v), operands(16), None),
    "causal": (lambda q, k, v, m: attend(q, k, v, is_causal=True), operands(16), None),
    "of booleans": (lambda q, k, v, m: attend(q, k, v, m), operands(16), some),
    "of numbers": (lambda q, k, v, m: attend(q, k, v, m), operands(16), several),
    "no dropout": (lambda q, k, v, m: attend(q, k, v, dropout_p=0.0), operands(16), None),
    "shared heads": (lambda q, k, v, m: attend(q, k, v, enable_gqa=True), operands(16, 4, 2), None),
}
for name, (function, given, mask) in CASES.items():
    mask = None if mask is None else mask.npu()
    with torch.no_grad():
        same(compiled(function)(*given, mask), function(*given, mask))
    print(name)

causal = CASES["causal"][0]
changing = compiled(causal, dynamic=True)
for length in (8, 24, 12):
    with torch.no_grad():
        given = operands(length)
        same(changing(*given, None), causal(*given, None))
print("changing sizes")

eager, graph = ([x.clone().requires_grad_() for x in operands(16)] for _ in range(2))
for ours, theirs in zip(graph, eager):
    ours.data.copy_(theirs.data)
causal(*eager, None).square().sum().backward()
compiled(causal)(*graph, None).square().sum().backward()
for ours, theirs in zip(graph, eager):
    same(ours.grad, theirs.grad)
print("gradients")
"""


@pytest.mark.slow
def test_fused_attention_answers_in_graphs_what_it_does_in_eager() -> None:
    """TorchAir compiles two classes: those of the operator and of its gradient."""
    assert len(output(COMPILE + MORE_TIME + ATTENTION).splitlines()) >= 8


LIBRARY = """
#include <ATen/ATen.h>
#include <torch/library.h>

at::Tensor scale(const at::Tensor& x, double by) { return at::mul(x, by); }
at::Tensor scale_meta(const at::Tensor& x, double) { return at::empty_like(x); }

TORCH_LIBRARY(plain, m) { m.def("scale(Tensor x, float by) -> Tensor"); }
TORCH_LIBRARY_IMPL(plain, PrivateUse1, m) { m.impl("scale", scale); }
TORCH_LIBRARY_IMPL(plain, Meta, m) { m.impl("scale", scale_meta); }
"""


@pytest.mark.slow
def test_an_operator_of_a_library_without_a_converter_answers_what_it_does_in_eager(
    tmp_path: Path,
) -> None:
    """TorchAir writes and compiles the class for it."""
    source, library = tmp_path / "plain.cpp", tmp_path / "plain.so"
    source.write_text(LIBRARY)
    torch = Path(find_spec("torch").origin or "").parent  # type: ignore[union-attr]  # installed
    includes = [f"-I{torch / 'include'}", f"-I{torch / 'include/torch/csrc/api/include'}"]
    link = [f"-L{torch / 'lib'}", "-ltorch_cpu", "-lc10"]
    subprocess.run(
        [
            "g++",
            "-shared",
            "-fPIC",
            "-std=c++20",
            *includes,
            str(source),
            "-o",
            str(library),
            *link,
        ],
        check=True,
    )
    script = f"""
torch.ops.load_library({str(library)!r})
x = torch.randn(3, 4).npu()
function = lambda x: torch.ops.plain.scale(x, 2.5) + 1
print(torch.equal(compiled(function)(x), function(x)))
"""
    assert output(COMPILE + MORE_TIME + script).split() == ["True"]
