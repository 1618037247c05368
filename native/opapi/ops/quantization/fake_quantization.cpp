// native/opapi/ops/quantization/fake_quantization.cpp
// Quantised and dequantised at once, as in training for quantisation, with a mask of what was within the range.
#include "opapi/opapi.h"

namespace {

struct Range {
  int64_t lowest, highest;
};

void check_range(Range range) {
  require(range.lowest <= range.highest, ACLNN_ERR_PARAM_INVALID, "quantMin is ", range.lowest, " and quantMax is ",
          range.highest, "; quantMin must not be larger");
}

// A zero point in floating point is added before rounding, an integer after it; either way the result is an integer.
void fake_quantize(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& zero_point, Range range,
                   at::Tensor& out, at::Tensor& mask) {
  check_range(range);
  const at::Tensor wide = self.to(at::kFloat), by = scale.to(at::kFloat), zero = zero_point.to(at::kFloat);
  at::Tensor level = at::div(wide, by);
  if (zero_point.is_floating_point()) {
    level.add_(zero).round_();
  } else {
    level.round_().add_(zero);
  }
  assign(mask, level.ge(range.lowest).logical_and_(level.le(range.highest)));
  level.clamp_(range.lowest, range.highest);
  assign(out, level.sub_(zero).mul_(by));
}

// Parameters of one dimension as they stand beside `self`.
at::Tensor along(const at::Tensor& values, const at::Tensor& self, int64_t axis, const char* name) {
  const int64_t dim = at::maybe_wrap_dim(axis, self.dim());
  const int64_t size = self.dim() == 0 ? 1 : self.size(dim);
  require(values.dim() == 1 && values.size(0) == size, ACLNN_ERR_PARAM_INVALID, name, " has the shape ", values.sizes(),
          "; allowed: [", size, "], the size of self along axis ", axis);
  std::vector<int64_t> shape(self.dim(), 1);
  if (self.dim() > 0) shape[dim] = size;
  return values.reshape(shape);
}

at::Tensor single(const at::Tensor& value, const char* name) {
  require(value.numel() == 1, ACLNN_ERR_PARAM_INVALID, name, " has ", value.numel(), " elements; allowed: 1");
  return value.reshape({});
}

void fake_quantize(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& zero_point, bool enabled,
                   Range range, at::Tensor& out, at::Tensor& mask) {
  if (enabled) {
    fake_quantize(self, single(scale, "scale"), single(zero_point, "zeroPoint"), range, out, mask);
    return;
  }
  check_range(range);
  assign(out, self);
  mask.fill_(true);
}

}  // namespace

ACLNN(FakeQuantPerChannelAffineCachemask,
      (In, self)(In, scale)(In, zeroPoint)(Int, axis)(Int, quantMin)(Int, quantMax)(Out, out)(Out, mask),
      fake_quantize(self, along(scale, self, axis, "scale"), along(zeroPoint, self, axis, "zeroPoint"),
                    {quantMin, quantMax}, out, mask))
ACLNN(FakeQuantPerTensorAffineCachemask,
      (In, self)(In, scale)(In, zeroPoint)(Float, fakeQuantEnabled)(Int, quantMin)(Int, quantMax)(Out, out)(Out, mask),
      fake_quantize(self, scale, zeroPoint, fakeQuantEnabled >= 1, {quantMin, quantMax}, out, mask))
