// native/opapi/ops/shape/creation.cpp
// Filling, copying and casting: what makes a tensor's contents without arithmetic.
#include <algorithm>
#include <cstring>

#include "opapi/ops/common/precision.h"

namespace {

// `depth` classes along a new axis of `out`; an index outside [0, depth) gives a row of off values.
void one_hot(at::Tensor& out, const at::Tensor& self, int32_t depth, const at::Tensor& on_value,
             const at::Tensor& off_value, int64_t axis) {
  const int64_t rank = self.dim() + 1;
  require(-rank <= axis && axis < rank, ACLNN_ERR_PARAM_INVALID, "parameter 'axis' is ", axis, ", but must be in [",
          -rank, ", ", rank - 1, "] for an input with ", self.dim(), " dimensions");
  if (axis < 0) axis += rank;
  std::vector<int64_t> along(static_cast<size_t>(rank), 1);
  along[static_cast<size_t>(axis)] = depth;
  const at::Tensor classes = at::arange(depth, at::kLong).view(along);
  assign(out, at::where(self.unsqueeze(axis).eq(classes), on_value.reshape({}), off_value.reshape({})));
}

// One thread writes so many bytes sooner than it wakes others for them, as ATen does from 32 Ki elements on. A mask of
// 2048 by 2048 bytes, which torch_npu makes for each causal attention, is one of them.
constexpr size_t kBytesOfThread = size_t{4} << 20;

bool is_for_one_thread(const at::Tensor& tensor) {
  return tensor.nbytes() <= kBytesOfThread && tensor.is_non_overlapping_and_dense();
}

void fill_zero(at::Tensor& out) {
  if (!is_for_one_thread(out)) {
    out.zero_();
    return;
  }
  std::memset(out.data_ptr(), 0, out.nbytes());
}

void fill_one(at::Tensor& out) {
  const bool is_byte = out.element_size() == 1 && c10::isIntegralType(out.scalar_type(), /*includeBool=*/true);
  if (!is_byte || !is_for_one_thread(out)) {
    out.fill_(1);
    return;
  }
  std::memset(out.data_ptr(), 1, out.nbytes());
}

enum class Side { kLower, kUpper };

// The rows of a stack of matrices: one side of the diagonal is the source's, the other one zero.
void copy_side(char* out, const char* source, const at::Tensor& like, int64_t diagonal, Side side) {
  const int64_t element = static_cast<int64_t>(like.element_size());
  const int64_t height = like.size(-2), width = like.size(-1);
  const auto clear = [](char* begin, int64_t bytes) { std::memset(begin, 0, static_cast<size_t>(bytes)); };
  const auto keep = [](char* begin, const char* from, int64_t bytes) {
    if (begin != from) std::memcpy(begin, from, static_cast<size_t>(bytes));
  };
  const int64_t rows = like.numel() / std::max<int64_t>(1, width);
  const int64_t row_bytes = width * element;
  for (int64_t row = 0; row < rows; ++row, out += row_bytes, source += row_bytes) {
    // The diagonal itself is of both sides.
    const int64_t first = row % height + diagonal + (side == Side::kLower ? 1 : 0);
    const int64_t split = std::clamp<int64_t>(first, 0, width) * element;
    if (side == Side::kLower) {
      keep(out, source, split);
      clear(out + split, row_bytes - split);
    } else {
      clear(out, split);
      keep(out + split, source + split, row_bytes - split);
    }
  }
}

// ATen's kernels take `out` for a stack of matrices at equal distances, whatever its strides are.
void triangle(at::Tensor& out, const at::Tensor& self, int64_t diagonal, Side side) {
  const bool is_plain = self.dim() >= 2 && self.is_contiguous() && out.is_contiguous() && is_for_one_thread(out) &&
                        out.sizes() == self.sizes() && out.scalar_type() == self.scalar_type();
  if (is_plain) {
    return copy_side(static_cast<char*>(out.data_ptr()), static_cast<const char*>(self.const_data_ptr()), self,
                     diagonal, side);
  }
  at::Tensor stack = out.is_contiguous() ? out : at::empty(out.sizes(), out.options());
  side == Side::kLower ? at::tril_out(stack, self, diagonal) : at::triu_out(stack, self, diagonal);
  if (!stack.is_same(out)) out.copy_(stack);
}

void copy(at::Tensor& self, const at::Tensor& source) {
  require_expandable(source, self.sizes(), "src");
  self.copy_(source);
}

}  // namespace

ACLNN(Arange, (Scalar, start)(Scalar, end)(Scalar, step)(Out, out), at::arange_out(out, start, end, step))
ACLNN(Range, (Scalar, start)(Scalar, end)(Scalar, step)(Out, out), at::range_out(out, start, end, step))
ACLNN(Linspace, (Scalar, start)(Scalar, end)(Int, steps)(Out, out),
      rounded_once(out, [&](at::Tensor& target) { at::linspace_out(target, start, end, steps); }))
ACLNN(LogSpace, (Scalar, start)(Scalar, end)(Int, steps)(Double, base)(Out, result),
      rounded_once(result, [&](at::Tensor& target) { at::logspace_out(target, start, end, steps, base); }))
ACLNN(Eye, (Int, n)(Int, m)(Out, out), at::eye_out(out, n, m))
ACLNN(OneHot, (In, self)(Int32, numClasses)(In, onValue)(In, offValue)(Int, axis)(Out, out),
      one_hot(out, self, numClasses, onValue, offValue, axis))

ACLNN(InplaceZero, (Out, selfRef), fill_zero(selfRef))
ACLNN(InplaceOne, (Out, selfRef), fill_one(selfRef))
ACLNN(InplaceFillScalar, (Out, selfRef)(Scalar, value), selfRef.fill_(value))
ACLNN(InplaceFillTensor, (Out, selfRef)(In, value), selfRef.fill_(value.reshape({})))
ACLNN(InplaceFillDiagonal, (Ref, selfRef)(Scalar, fillValue)(Bool, wrap), selfRef.fill_diagonal_(fillValue, wrap))

ACLNN(Tril, (In, self)(Int, diagonal)(Out, out), triangle(out, self, diagonal, Side::kLower))
ACLNN(Triu, (In, self)(Int, diagonal)(Out, out), triangle(out, self, diagonal, Side::kUpper))
ACLNN(InplaceTril, (Ref, selfRef)(Int, diagonal), triangle(selfRef, selfRef, diagonal, Side::kLower))
ACLNN(InplaceTriu, (Ref, selfRef)(Int, diagonal), triangle(selfRef, selfRef, diagonal, Side::kUpper))

// The target dtype is out's; `dtype` says it again.
ACLNN(Cast, (In, self)(Dtype, dtype)(Out, out), assign(out, self))
ACLNN(InplaceCopy, (Out, selfRef)(In, src), copy(selfRef, src))
