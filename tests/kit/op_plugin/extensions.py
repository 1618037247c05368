"""An extension of op-plugin that has every kind of entry.

`programs/` has its kernels in Python, and a program that calls it.
"""

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


def write(tmp_path: Path, text: str, derivatives: str | None = None) -> None:
    """Write the YAML files of an extension."""
    (tmp_path / "f.yaml").write_text(text)
    if derivatives is not None:
        (tmp_path / "derivatives.yaml").write_text(derivatives)
