"""The names of reference section 8.5."""

from __future__ import annotations

from typing import Final

_CONVERTERS: Final = """
relu sigmoid tanh cos acos cosh sin asin sinh tan atan floor log ceil exp neg erf sign asinh
acosh atanh abs sqrt reciprocal log2 isfinite logical_not bitwise_not
add add_ sub sub_ rsub mul mul_ div div_ floor_divide pow square atan2 max min clamp clamp_min
clamp_max eq ne lt le gt ge logical_and
elu hardtanh hardtanh_ leaky_relu leaky_relu_ prelu
_convolution linear matmul bmm baddbmm einsum
batch_norm instance_norm layer_norm norm linalg_norm frobenius_norm
avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool3d
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d
adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d
mean sum prod any all argmax argmin topk cumsum softmax to cat stack chunk split
split_with_sizes unbind narrow select slice index index_select embedding scatter where
masked_fill flip roll
reshape view permute transpose t flatten unflatten pixel_shuffle squeeze unsqueeze expand
expand_as repeat repeat_interleave meshgrid constant_pad_nd reflection_pad1d reflection_pad2d
replication_pad1d replication_pad2d replication_pad3d
upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d upsample_bilinear2d
upsample_trilinear3d grid_sampler lstm_cell gru_cell fake_quantize_per_tensor_affine
fake_quantize_per_channel_affine
"""

_EVALUATORS: Final = """
prim::ListConstruct prim::ListUnpack prim::TupleConstruct prim::TupleIndex prim::TupleUnpack
prim::NumToTensor prim::dtype prim::max prim::min prim::unchecked_cast prim::RaiseException
aten::Int aten::Float aten::Bool aten::add aten::sub aten::mul aten::div aten::floordiv
aten::remainder aten::neg aten::pow aten::floor aten::sqrt aten::__and__ aten::__or__
aten::__xor__ aten::__not__ aten::__is__ aten::__isnot__ aten::eq aten::ne aten::lt aten::le
aten::gt aten::ge aten::size aten::dim aten::numel aten::len aten::__getitem__ aten::append
aten::extend aten::add_ aten::slice aten::list aten::__range_length aten::__derive_index
aten::is_floating_point aten::zeros aten::ones aten::full aten::arange aten::zeros_like
aten::ones_like aten::full_like aten::new_zeros aten::new_ones aten::tensor aten::copy_
aten::clone aten::fill_ aten::format
"""

CONVERTERS: Final = frozenset(_CONVERTERS.split())
EVALUATORS: Final = frozenset(_EVALUATORS.split())
