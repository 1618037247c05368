"""An extension of op-plugin that has every kind of entry, and what its device operators compute."""

# ruff: noqa: E501 - files as their authors write them

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.pairs import installed_minor

if TYPE_CHECKING:
    from pathlib import Path

FUNCTIONS = """\
all_version: [v2.1, v2.2, vNEWEST]
official:
custom:
  - func: npu_t_mul(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor
    op_api: all_version
    exposed: all_version
    gen_opapi:
      out:
        size: broadcast_ops_npu_output_size(x, y)
        dtype: x
      new_params:
        alpha_value: static_cast<float>(alpha)
      exec: aclnnTMul, x, y, alpha_value, out
  - func: npu_t_accumulate_(Tensor(a!) self, Tensor other) -> Tensor(a!)
    op_api: [v2.2, newest]
    gen_opapi:
      exec: aclnnTAccumulate, self, other
  - func: npu_t_tail(Tensor x) -> Tensor
    op_api: all_version
    gen_opapi:
      out:
        size: tail_size(x)
        dtype: at::kFloat
      exec: aclnnTTail
  - func: npu_t_stats.out(Tensor x, int[1] dim, bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)
    op_api: all_version
    gen_opapi:
      out:
        size: reduce_ops_npu_output_size(x, dim, keepdim)
        dtype: x
      exec: aclnnTStats, x, dim, keepdim, out
  - func: npu_t_stats(Tensor x, int[1] dim, bool keepdim=False) -> Tensor
    op_api: all_version
    gen_opapi:
      structured_inherit: npu_t_stats.out
  - func: npu_t_kinds(Tensor x, SymInt n, SymInt[] shape, Tensor? mask, str mode, ScalarType? dtype, Scalar s, Tensor[] more, int[]? dims) -> (Tensor, Tensor)
    op_api: all_version
  - func: npu_t_old(Tensor x) -> Tensor
    op_api: v2.1
  - func: npu_t_fallback(Tensor x) -> Tensor
    op_api: all_version
    acl_op: all_version
    gen_opapi:
      out:
        size: x
        dtype: x
      exec: aclnnTAbsent
""".replace("NEWEST", installed_minor())

# Gradients that are expressions, and a call with what the operator's schema has by default.
DERIVATIVES = """\
backward:
  - name: npu_t_mul(Tensor x, Tensor y, *, float alpha=1.0) -> Tensor
    x: grad * (y * alpha)
    y: npu_t_mul(grad * alpha, x)
  - name: npu_t_stats(Tensor x, int[1] dim, bool keepdim=False) -> Tensor
    x: grad.expand_as(x)
"""

HEADER = """\
#pragma once
#include <ATen/core/Tensor.h>

namespace op_infer {
inline at::IntArrayRef tail_size(const at::Tensor& x) { return x.dim() == 1 ? x.sizes() : x.sizes().slice(1); }
}  // namespace op_infer
"""

KERNEL = """\
#include "op_plugin/AclOpsInterface.h"
#include "op_plugin/OpApiInterface.h"
#include "op_plugin/utils/op_api_common.h"

namespace op_api {
using npu_preparation = at_npu::native::OpPreparation;

std::tuple<at::Tensor, at::Tensor> npu_t_kinds(const at::Tensor& x, int64_t n, at::IntArrayRef shape,
                                               const c10::optional<at::Tensor>& mask, c10::string_view mode,
                                               c10::optional<at::ScalarType> dtype, const at::Scalar& s,
                                               at::TensorList more, at::OptionalIntArrayRef dims) {
  DO_COMPATIBILITY(aclnnTKinds, (std::tuple<at::Tensor, at::Tensor>(x, x)));
  TORCH_CHECK(n > 0, "n is not positive", OPS_ERROR(ErrCode::VALUE));
  auto first = npu_preparation::apply_tensor_without_format(shape, x.options().dtype(dtype.value_or(at::kFloat)));
  TORCH_CHECK(npu_preparation::convert_to_acl_data_type(at::kHalf) == ACL_FLOAT16, "another dtype");
  auto second = npu_preparation::apply_tensor_without_format(x, {n});
  const std::string text(mode);
  char* mode_chars = const_cast<char*>(text.c_str());
  EXEC_NPU_CMD(aclnnTKinds, x, n, mask, mode_chars, s, more, dims, first, second);
  return std::tuple<at::Tensor, at::Tensor>(first, second);
}

}  // namespace op_api
"""

REFERENCE = """\
import torch
from opwright import twin


@twin.kernel("aclnnTMul(const aclTensor *x, const aclTensor *y, float alpha, aclTensor *out)")
def mul(x, y, alpha, out):
    torch.mul(x * alpha, y, out=out)


@twin.kernel("aclnnTAccumulate(aclTensor *self, const aclTensor *other)")
def accumulate(self, other):
    self.add_(other)


@twin.kernel("aclnnTTail(const aclTensor *x, aclTensor *out)")
def tail(x, out):
    out.copy_(x if x.dim() == 1 else x[0])


@twin.kernel("aclnnTStats(const aclTensor *x, const aclIntArray *dim, bool keepdim, aclTensor *out)")
def stats(x, dim, keepdim, out):
    out.copy_(x.sum(dim, keepdim))


@twin.kernel(
    "aclnnTKinds(const aclTensor *x, int64_t n, const aclTensor *maskOptional, char *mode,"
    " const aclScalar *s, const aclTensorList *more, const aclIntArray *dimsOptional,"
    " aclTensor *first, aclTensor *second)"
)
def kinds(x, n, mask, mode, s, more, dims, first, second):
    first.fill_(s if mask is None else -1)
    second.fill_(n + 10 * len(mode) + 100 * len(more) + 1000 * sum(dims or ()))
"""

# Run on the twin with the package on the path; each line holds for torch_npu built with the sources.
CHECKS = """\
import warnings

import torch
import torch_npu

warnings.simplefilter("ignore")
import t_ops

torch.manual_seed(0)
x, y = torch.randn(3, 4), torch.randn(4)
xn, yn = x.npu(), y.npu()

# gen_opapi: a call with a C type, broadcast sizes; Meta by the same rule
torch.testing.assert_close(torch_npu.npu_t_mul(xn, yn, alpha=2.0).cpu(), 2 * x * y)
meta = torch_npu.npu_t_mul(torch.empty(3, 1, device="meta"), torch.empty(4, device="meta"))
assert meta.shape == (3, 4)

# in place: the argument itself, and a new version
a = torch.ones(3).npu()
version = a._version
assert torch_npu.npu_t_accumulate_(a, a.clone()) is a
assert (a.tolist(), a._version) == ([2.0] * 3, version + 1)

# sizes and dtypes in C++
assert torch.equal(torch_npu.npu_t_tail(xn).cpu(), x[0])
assert torch_npu.npu_t_tail(torch.arange(3, dtype=torch.int32).npu()).dtype == torch.float32

# out=, which is resized, and the operator that inherits from it
out = torch.empty(0).npu()
assert torch_npu.npu_t_stats(xn, [0], out=out) is out
torch.testing.assert_close(out.cpu(), x.sum(0))
torch.testing.assert_close(torch_npu.npu_t_stats(xn, [1], True).cpu(), x.sum(1, True))

# a kernel by hand with every kind of argument
for mask, want in ((None, 7), (xn, -1)):
    first, second = torch_npu.npu_t_kinds(
        xn, 3, [2, 2], mask, "abc", torch.float16, 7, [xn, yn], [1, 2]
    )
    assert (first.dtype, first.shape, second.shape) == (torch.float16, (2, 2), (3,))
    assert (first.tolist(), second.tolist()) == ([[want] * 2] * 2, [3233.0] * 3)


def error_of(function, *arguments):
    try:
        function(*arguments)
    except (RuntimeError, ImportError) as error:
        return str(error)
    raise AssertionError(function)


# derivatives whose formulas are expressions, alone, twice, and in a compiled graph
def gradients(function, *arguments):
    leaves = [each.clone().requires_grad_() for each in arguments]
    function(*leaves).sum().backward()
    return [each.grad.cpu() for each in leaves]


def product(left, right):
    return torch_npu.npu_t_mul(left, right, alpha=2.0)


want = [(2 * y).expand(3, 4), 2 * x.sum(0)]
torch.testing.assert_close(gradients(product, xn, yn), want)
compiled = torch.compile(product, backend="aot_eager", fullgraph=True)
torch.testing.assert_close(gradients(compiled, xn, yn), want)
spread = gradients(lambda each: torch_npu.npu_t_stats(each, [0]), xn)
torch.testing.assert_close(spread, [torch.ones(3, 4)])
twice = xn.clone().requires_grad_()
(first,) = torch.autograd.grad(product(twice, twice).sum(), twice, create_graph=True)
first.sum().backward()
torch.testing.assert_close(twice.grad.cpu(), torch.full((3, 4), 4.0))

message = error_of(torch_npu.npu_t_kinds, xn, 0, [1], None, "", None, 1, [], None)
assert message.startswith("n is not positive\\n[ERROR] ERR01003 OPS"), message
message = error_of(torch_npu.npu_t_fallback, xn)
assert "no file of this extension defines acl_op::npu_t_fallback" in message, message
message = error_of(torch_npu.npu_t_tail(xn.clone().requires_grad_()).sum().backward)
assert "derivative for npu::npu_t_tail is not implemented" in message, message
assert not hasattr(torch.ops.npu, "npu_t_old")


# captured, with a write to an input
def step(left, right):
    torch_npu.npu_t_accumulate_(left, right)
    return torch_npu.npu_t_mul(left, right)


compiled = torch.compile(step, backend="aot_eager", fullgraph=True, dynamic=True)
for size in (3, 5):
    left, right = torch.ones(size).npu(), torch.ones(size).npu()
    assert compiled(left, right).tolist() == [2.0] * size == left.tolist()

# a second package with the same operators
import sys

del sys.modules["t_ops"]
message = error_of(__import__, "t_ops")
assert message.startswith("t_ops: npu::npu_t_mul exists already"), message
print("all hold")
"""


def write(tmp_path: Path, text: str, derivatives: str | None = None) -> None:
    """Write the YAML files of an extension."""
    (tmp_path / "f.yaml").write_text(text)
    if derivatives is not None:
        (tmp_path / "derivatives.yaml").write_text(derivatives)
