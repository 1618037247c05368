"""Operators that launch their work themselves: classes of C++ in graphs.

TorchAir writes such a class for every operator that it has no converter for, among them the one
that `scaled_dot_product_attention` is on an NPU, which the engine computes itself.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
import torch_npu  # noqa: F401 - torchair is found by way of it
import torchair
from torch.nn.functional import scaled_dot_product_attention
from torchair.ge import Const, attr, custom_op

from tests.graph_engine.agreement import (
    compiled,
    drawn,
    give_compilers_time,
    new_library,
    run_to_the_end,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
REG_OP(Halved).INPUT(x, TensorType::ALL()).OUTPUT(y, TensorType::ALL()).OP_END_FACTORY_REG(Halved);
REG_OP(Kept).INPUT(x, TensorType::ALL()).OUTPUT(y, TensorType::ALL()).OP_END_FACTORY_REG(Kept);
REG_OP(Apart).DYNAMIC_INPUT(x_0, TensorType::ALL()).DYNAMIC_OUTPUT(output_0, TensorType::ALL())
    .OUTPUT(output_1, TensorType::ALL()).ATTR(N, Int, 0).OP_END_FACTORY_REG(Apart);
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

// The first half of the rows; infers so, too, and the dtype of its input.
class Halved : public ge::EagerExecuteOp, public ge::ShapeInferOp {
 public:
  ge::Status Execute(gert::EagerOpExecutionContext* context) override {
    const gert::Tensor* x = context->GetInputTensor(0);
    gert::StorageShape shape = x->GetShape();
    shape.MutableOriginShape().SetDim(0, shape.GetOriginShape().GetDim(0) / 2);
    shape.MutableStorageShape().SetDim(0, shape.GetStorageShape().GetDim(0) / 2);
    gert::Tensor* y = context->MallocOutputTensor(0, shape, x->GetFormat(), x->GetDataType());
    if (y == nullptr) return ge::FAILED;
    aclrtMemcpyAsync(y->GetAddr(), y->GetSize(), x->GetAddr(), y->GetSize(),
                     ACL_MEMCPY_DEVICE_TO_DEVICE, context->GetStream());
    return ge::SUCCESS;
  }
  ge::graphStatus InferShape(gert::InferShapeContext* context) override {
    if (context->GetInputTensor(0)->GetAddr() != nullptr) return ge::GRAPH_FAILED;
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    context->GetOutputShape(0)->SetDim(0, context->GetInputShape(0)->GetDim(0) / 2);
    return ge::GRAPH_SUCCESS;
  }
  ge::graphStatus InferDataType(gert::InferDataTypeContext* context) override {
    return context->SetOutputDataType(0, context->GetInputDataType(0));
  }
};
REG_AUTO_MAPPING_OP(Halved);

// Copies of its inputs, and one more of the last.
class Apart : public ge::EagerExecuteOp {
 public:
  ge::Status Execute(gert::EagerOpExecutionContext* context) override {
    size_t count = 0;
    while (context->GetDynamicInputTensor(0, count) != nullptr) ++count;
    for (size_t i = 0; i <= count; ++i) {
      const gert::Tensor* x = context->GetDynamicInputTensor(0, std::min(i, count - 1));
      gert::Tensor* y =
          context->MallocOutputTensor(i, x->GetShape(), x->GetFormat(), x->GetDataType());
      if (y == nullptr) return ge::FAILED;
      aclrtMemcpyAsync(y->GetAddr(), y->GetSize(), x->GetAddr(), x->GetSize(),
                       ACL_MEMCPY_DEVICE_TO_DEVICE, context->GetStream());
    }
    return ge::SUCCESS;
  }
};
REG_AUTO_MAPPING_OP(Apart);
"""

INT64 = 9  # of GE


def load_classes(folder: Path) -> None:
    """Compile the classes and load them into this process."""
    root, file = os.environ["ASCEND_HOME_PATH"], folder / "classes.so"
    command = ("g++", "-std=c++17", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror")
    libraries = ("-Wl,--no-as-needed", "-lascendcl", "-lge_runner", "-lopp_registry")
    places = (f"-I{root}/include", f"-L{root}/lib64")
    arguments = (*command, "-xc++", "-", *places, *libraries, "-o", str(file))
    subprocess.run(arguments, input=CLASSES, text=True, check=True)
    ctypes.CDLL(str(file))


def joined(
    xs: Sequence[torch.Tensor], last: torch.Tensor, *, skip: int | None = None
) -> torch.Tensor:
    return torch.cat([*xs, last[: last.shape[0] - (skip or 0)]])


def convert_joined(xs: Sequence[object], last: object, *, skip: int | None = None) -> object:
    number = None if skip is None else Const(skip, dtype=INT64)
    inputs = {"xs": xs, "skip": number, "last": last}
    return custom_op("Joined", inputs=inputs, outputs=["y"], attrs={"N": attr.Int(len(xs))})


def apart(xs: Sequence[torch.Tensor]) -> tuple[list[torch.Tensor], torch.Tensor]:
    return [x.clone() for x in xs], xs[-1].clone()


def convert_apart(xs: Sequence[object]) -> object:
    """Give ports the names that TorchAir's own converters give them: they end in digits."""
    outputs = [("output_0", len(xs)), "output_1"]
    return custom_op("Apart", inputs={"x_0": xs}, outputs=outputs, attrs={"N": attr.Int(len(xs))})


def converter_to(op_type: str) -> Callable[[object], object]:
    return lambda x: custom_op(op_type, inputs={"x": x}, outputs=["y"], attrs={})


def define_operators() -> Any:  # noqa: ANN401 - torch does not type it
    """Return a library with an operator for each class, and one whose Meta contradicts it."""
    library = new_library("page")
    one = "(Tensor x) -> Tensor"
    schemas: dict[str, tuple[str, Callable[..., object], Callable[..., object]]] = {
        "joined": (
            "(Tensor[] xs, Tensor last, *, int? skip=None) -> Tensor",
            joined,
            convert_joined,
        ),
        "apart": ("(Tensor[] xs) -> (Tensor[], Tensor)", apart, convert_apart),
        "faulty": (one, torch.clone, converter_to("Faulty")),
        "strange": (one, torch.clone, converter_to("Strange")),
        "unmade": (one, torch.clone, converter_to("Unmade")),
        "kept": (one, torch.clone, converter_to("Kept")),
        "halved": (one, lambda x: x[: x.shape[0] // 2].clone(), converter_to("Halved")),
        "whole": (one, torch.clone, converter_to("Halved")),
        "wrong": (one, lambda x: x[1:].clone(), lambda x: convert_joined([], x)),
    }
    for name, (schema, function, converter) in schemas.items():
        library.define(name + schema)
        library.impl(name, function, "CompositeExplicitAutograd")
        overload = getattr(torch.ops.page, name).default
        torchair.register_fx_node_ge_converter(overload)(converter)
    return library


def whole(*sizes: int) -> torch.Tensor:
    return torch.arange(torch.Size(sizes).numel(), dtype=torch.float32).view(sizes).to("npu")


def join(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Join inputs of the graph, and what the engine computed in host memory."""
    result: torch.Tensor = torch.ops.page.joined([x, y * 2], y + 1, skip=1) * 3
    return result


@pytest.mark.isolated
def test_a_class_computes_a_node_from_device_memory_of_fixed_and_changing_sizes(
    tmp_path: Path,
) -> None:
    load_classes(tmp_path)
    _library = define_operators()
    for dynamic in (False, True):
        function = compiled(join, dynamic=dynamic)
        for rows in (2, 5, 3):
            x, y = whole(rows, 4), whole(rows + 1, 4)
            assert torch.equal(function(x, y), join(x, y)), (dynamic, rows)
    x = whole(3, 4)
    assert torch.equal(compiled(lambda x: torch.ops.page.joined([], x.t()))(x), x.t())
    assert torch.equal(compiled(lambda x: torch.ops.page.kept(x + 1) * 2)(x), (x + 1) * 2)
    assert torch.equal(compiled(torch.ops.page.halved)(x), x[:1])


@pytest.mark.isolated
def test_a_class_has_lists_of_tensors_whose_names_end_in_digits(tmp_path: Path) -> None:
    load_classes(tmp_path)
    _library = define_operators()

    def function(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        some, last = torch.ops.page.apart([x, y + 1])
        return [*some, last]

    for sizes in ((2, 3), (5, 4)):
        given = [whole(size, 4) for size in sizes]
        for got, want in zip(compiled(function)(*given), function(*given), strict=True):
            assert torch.equal(got, want)


@pytest.mark.isolated
def test_what_goes_wrong_in_a_class_is_an_error_of_its_run_and_of_no_later_one(
    tmp_path: Path,
) -> None:
    load_classes(tmp_path)
    _library = define_operators()
    x = whole(3, 4)
    for name, text in {
        "faulty": "a fault of its own",
        "strange": "the class threw something that is no std::exception",
        "whole": "the class infers output 0 as dtype 0 [1, 4], but Meta says dtype 0 [3, 4]",
        "unmade": "the class threw something that is no std::exception",
        "wrong": "[3, 4], but Meta says",
    }.items():
        function = compiled(getattr(torch.ops.page, name))
        with pytest.raises(RuntimeError) as raised:
            run_to_the_end(function, x)
        assert text in " ".join(str(raised.value).split())
        assert torch.equal(compiled(torch.ops.page.kept)(x), x)


def attend(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor | None = None,
    **options: Any,  # noqa: ANN401 - of the operator
) -> torch.Tensor:
    return scaled_dot_product_attention(q, k, v, mask, **options)


def attend_causally(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return attend(q, k, v, is_causal=True)


def operands(length: int, heads: int = 4, shared: int = 4) -> list[torch.Tensor]:
    return [drawn(2, n, length, 32) for n in (heads, shared, shared)]


def assert_close(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    """Up to one rounding to half precision."""
    torch.testing.assert_close(ours, theirs, rtol=2e-3, atol=2e-3)


@pytest.mark.slow
@pytest.mark.isolated
def test_fused_attention_answers_in_graphs_what_it_does_in_eager() -> None:
    """TorchAir compiles two classes, once: those of the operator and of its gradient."""
    give_compilers_time()
    torch.manual_seed(7)
    some, several = torch.rand(2, 1, 16, 16) > 0.3, torch.randn(2, 1, 16, 16).half()
    cases: dict[str, tuple[Callable[..., torch.Tensor], list[torch.Tensor]]] = {
        "plain": (attend, operands(16)),
        "causal": (attend_causally, operands(16)),
        "of booleans": (attend, [*operands(16), some.to("npu")]),
        "of numbers": (attend, [*operands(16), several.to("npu")]),
        "no dropout": (lambda q, k, v: attend(q, k, v, dropout_p=0.0), operands(16)),
        "shared heads": (lambda q, k, v: attend(q, k, v, enable_gqa=True), operands(16, 4, 2)),
    }
    with torch.no_grad():
        for function, given in cases.values():
            assert_close(compiled(function)(*given), function(*given))

        changing = compiled(attend_causally, dynamic=True)
        for length in (8, 24, 12):
            given = operands(length)
            assert_close(changing(*given), attend_causally(*given))

    eager, graph = ([x.clone().requires_grad_() for x in operands(16)] for _ in range(2))
    for ours, theirs in zip(graph, eager, strict=True):
        ours.data.copy_(theirs.data)
    attend_causally(*eager).square().sum().backward()  # type: ignore[no-untyped-call]
    compiled(attend_causally)(*graph).square().sum().backward()
    for ours, theirs in zip(graph, eager, strict=True):
        assert ours.grad is not None
        assert theirs.grad is not None
        assert_close(ours.grad, theirs.grad)


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
@pytest.mark.isolated
def test_an_operator_of_a_library_without_a_converter_answers_what_it_does_in_eager(
    tmp_path: Path,
) -> None:
    """TorchAir writes and compiles the class for it."""
    source, library = tmp_path / "plain.cpp", tmp_path / "plain.so"
    source.write_text(LIBRARY)
    root = Path(torch.__file__).parent
    includes = [f"-I{root / 'include'}", f"-I{root / 'include/torch/csrc/api/include'}"]
    link = [f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10"]
    command = ["g++", "-shared", "-fPIC", "-std=c++20", *includes, str(source)]
    subprocess.run([*command, "-o", str(library), *link], check=True)

    def function(x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch.ops.plain.scale(x, 2.5) + 1
        return result

    give_compilers_time()
    torch.ops.load_library(str(library))  # type: ignore[no-untyped-call]
    x = torch.randn(3, 4).to("npu")
    assert torch.equal(compiled(function)(x), function(x))
