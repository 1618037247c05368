// native/opapi/ops/shape/format.cpp
// Casts between storage formats. Base formats (ND, NCHW, NHWC, NCL, ...) only name the dimensions: the memory is as the
// view says. Tiled formats are blocks in the memory; tiled_format.h has their layouts.
#include "opapi/opapi.h"
#include "opapi/tiled_format.h"
#include "runtime/soc.h"

namespace {

constexpr int kBlockBytes = 32;  // of a row of a block of the matrix unit
constexpr int kDtypeOfSource = -1;

// The elements in a block's row: of `additional`, the dtype in which the matrix unit will see the values.
int64_t row_elements(const aclTensor& source, int additional) {
  const aclDataType dtype = additional == kDtypeOfSource ? source.dtype : static_cast<aclDataType>(additional);
  const size_t bits = bits_of(dtype);
  require(bits > 0 && bits <= 64, ACLNN_ERR_PARAM_INVALID, "parameter 'additionalDtype' is ", additional,
          ", which is not a dtype that blocks can hold; allowed: -1 for that of srcTensor, 0, 1, 2, 3, 4, 8 and 27");
  return static_cast<int64_t>(8 * kBlockBytes / bits);
}

// On Ascend950 the format says how long the rows are, unless they are as long as the dtype's own.
aclFormat format_of_rows(const aclTensor& source, aclFormat format, int64_t c0) {
  if (format != ACL_FORMAT_FRACTAL_NZ || !soc().is_ascend950() || c0 == row_elements(source, kDtypeOfSource))
    return format;
  switch (c0) {
    case 2:
      return kNzC0Of2;
    case 4:
      return kNzC0Of4;
    case 8:
      return kNzC0Of8;
    case 16:
      return kNzC0Of16;
    case 32:
      return kNzC0Of32;
    default:
      fail(ACLNN_ERR_PARAM_INVALID, "there is no FRACTAL_NZ format with rows of ", c0, " elements");
  }
}

// Phase 0 of a format cast: the storage shape and the format that the destination must have.
void size_and_format(const aclTensor* source, int format, int additional, int64_t** shape, uint64_t* rank,
                     int* actual_format) {
  require(source != nullptr, ACLNN_ERR_PARAM_NULLPTR, "parameter 'srcTensor' is null");
  int64_t*& result_shape = ::opwright::out(shape, "dstShape", ACLNN_ERR_PARAM_NULLPTR);
  uint64_t& result_rank = ::opwright::out(rank, "dstShapeSize", ACLNN_ERR_PARAM_NULLPTR);
  int& result_format = ::opwright::out(actual_format, "actualFormat", ACLNN_ERR_PARAM_NULLPTR);
  for (const int wanted : {static_cast<int>(source->format), format}) {
    const auto code = static_cast<aclFormat>(wanted);
    require(is_base_format(code) || is_tiled(code), ACLNN_ERR_PARAM_INVALID, "storage format ", wanted,
            " is not available; the twin has NCHW (0), NHWC (1), ND (2), NC1HWC0 (3), FRACTAL_Z (4), NDHWC (27), "
            "FRACTAL_NZ (29, 50 to 54), NCDHW (30), NDC1HWC0 (32), FRACTAL_Z_3D (33), NC (35) and NCL (47)");
  }
  auto target = static_cast<aclFormat>(format);
  std::vector<int64_t> sizes(source->sizes.begin(), source->sizes.end());
  if (is_tiled(target)) {
    const bool last_channels = source->format == ACL_FORMAT_NHWC || source->format == ACL_FORMAT_NDHWC;
    require(!last_channels, ACLNN_ERR_PARAM_INVALID, "a tensor in format ", static_cast<int>(source->format),
            " cannot be cast to storage format ", format, "; cast it to NCHW (0) or NCDHW (30) first");
    const int64_t c0 = row_elements(*source, additional);
    target = format_of_rows(*source, target, c0);
    sizes = tiled_sizes(target, sizes, c0);
  }
  result_shape = new int64_t[sizes.size()];  // the caller's, who calls delete[]
  std::copy(sizes.begin(), sizes.end(), result_shape);
  result_rank = sizes.size();
  result_format = target;
}

}  // namespace

extern "C" OPWRIGHT_API aclnnStatus aclnnNpuFormatCastCalculateSizeAndFormat(const aclTensor* srcTensor, int dstFormat,
                                                                             int additionalDtype, int64_t** dstShape,
                                                                             uint64_t* dstShapeSize,
                                                                             int* actualFormat) {
  return call(
      "aclnnNpuFormatCastCalculateSizeAndFormat",
      [&] { size_and_format(srcTensor, dstFormat, additionalDtype, dstShape, dstShapeSize, actualFormat); },
      arg("dstFormat", dstFormat), arg("additionalDtype", additionalDtype));
}

ACLNN(NpuFormatCast, (In, srcTensor)(Out, dstTensor), assign(dstTensor, srcTensor))
