// native/opapi/ops/format.cpp
// Storage formats. A tensor of the twin lies in memory as its view says: that is ND and the formats that only name
// dimensions (NCHW, NHWC, NCL, ...). The tiled formats of the matrix unit do not exist here.
#include "opapi/opapi.h"

namespace {

// Phase 0 of a format cast: the storage shape and the format that the destination must have.
void size_and_format(const aclTensor* source, int format, int64_t** shape, uint64_t* rank, int* actual_format) {
  require(source != nullptr, ACLNN_ERR_PARAM_NULLPTR, "parameter 'srcTensor' is null");
  int64_t*& result_shape = ::opwright::out(shape, "dstShape", ACLNN_ERR_PARAM_NULLPTR);
  uint64_t& result_rank = ::opwright::out(rank, "dstShapeSize", ACLNN_ERR_PARAM_NULLPTR);
  int& result_format = ::opwright::out(actual_format, "actualFormat", ACLNN_ERR_PARAM_NULLPTR);
  for (const int wanted : {static_cast<int>(source->format), format}) {
    require(is_base_format(static_cast<aclFormat>(wanted)), ACLNN_ERR_PARAM_INVALID, "storage format ", wanted,
            " is a tiled layout of the device's matrix unit; the twin has NCHW (0), NHWC (1), ND (2), NDHWC (27), "
            "NCDHW (30), NC (35) and NCL (47)");
  }
  result_shape = new int64_t[source->sizes.size()];  // the caller's, who calls delete[]
  std::copy(source->sizes.begin(), source->sizes.end(), result_shape);
  result_rank = source->sizes.size();
  result_format = format;
}

}  // namespace

extern "C" OPWRIGHT_API aclnnStatus aclnnNpuFormatCastCalculateSizeAndFormat(const aclTensor* srcTensor, int dstFormat,
                                                                             int additionalDtype, int64_t** dstShape,
                                                                             uint64_t* dstShapeSize,
                                                                             int* actualFormat) {
  return call(
      "aclnnNpuFormatCastCalculateSizeAndFormat",
      [&] { size_and_format(srcTensor, dstFormat, dstShape, dstShapeSize, actualFormat); }, arg("dstFormat", dstFormat),
      arg("additionalDtype", additionalDtype));
}

ACLNN(NpuFormatCast, (In, srcTensor)(Out, dstTensor), assign(dstTensor, srcTensor))

// Static kernels are compiled for one shape and replace general ones. Every kernel here is general: with none to
// select, the choice that a process has is already the only one.
extern "C" OPWRIGHT_API aclnnStatus aclnnReselectStaticKernel() {
  return call("aclnnReselectStaticKernel", [] {});
}

extern "C" OPWRIGHT_API aclnnStatus aclnnReselectStaticKernelWithPath(const char* path) {
  return call(
      "aclnnReselectStaticKernelWithPath",
      [&] { require(path != nullptr, ACLNN_ERR_PARAM_NULLPTR, "parameter 'path' is null"); },
      arg("path", path == nullptr ? "null" : path));
}
