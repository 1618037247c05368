// native/opapi/ops/common/microscaling.h
// Microscaling (MX) formats: blocks of numbers of few bits that share a scale, a power of two stored as its exponent
// plus 127 (float8_e8m0).
#pragma once

#include "opapi/ops/common/low_precision.h"

namespace opwright::opapi {

constexpr int64_t kMxBlock = 32;

struct MxRule {
  Rounding rounding = Rounding::kNearestEven;
  int64_t algorithm = 0;  // 0: by the largest exponent; 1 and 2: the largest number must fit
  double type_max = 0;    // what the largest number becomes under algorithm 2; 0: the highest of the format
  double low_bound = 0;   // algorithm 1: the largest number counts as at least this
  int64_t block = kMxBlock;
};

struct MxQuantized {
  at::Tensor values;  // float32 numbers of the format, like the input
  at::Tensor scales;  // uint8 codes, one for each block along the axis
};

OPWRIGHT_API MxRule mx_rule(const LowFormat& format, const std::string& round_mode, int64_t algorithm,
                            double type_max = 0);

// Codes of the scales for the largest magnitudes of blocks.
OPWRIGHT_API at::Tensor mx_scale_codes(const at::Tensor& largest, const LowFormat& format, const MxRule& rule);
// `values` over the scales of `codes`, which broadcast to them.
OPWRIGHT_API at::Tensor mx_scaled(const at::Tensor& values, const at::Tensor& codes, const LowFormat& format,
                                  Rounding rounding);

OPWRIGHT_API MxQuantized mx_quantized(const at::Tensor& x, int64_t axis, const LowFormat& format, const MxRule& rule);

// Scales in memory: an even number of them along the axis (filled up with code 0), each pair in a new last dimension.
OPWRIGHT_API at::Tensor paired(const at::Tensor& codes, int64_t axis);
// float32 scales for `size` numbers along `axis` of a tensor whose scales are in memory as above.
OPWRIGHT_API at::Tensor spread_scales(const at::Tensor& scale, int64_t axis, int64_t size, int64_t block = kMxBlock);

// Writes codes to an output of float8_e8m0 or uint8.
OPWRIGHT_API void store_codes(at::Tensor& out, const at::Tensor& codes);
// Quantizes along `axis` into an output and its scales.
OPWRIGHT_API void store_mx(Coded& out, at::Tensor& scale, const at::Tensor& x, int64_t axis, const MxRule& rule);

}  // namespace opwright::opapi
