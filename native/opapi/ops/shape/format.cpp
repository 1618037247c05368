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

// The sizes of a weight, of which the last two dimensions fill whole blocks.
void weight_size(const aclIntArray* shape, aclDataType dtype, uint64_t* count) {
  require(shape != nullptr, ACLNN_ERR_PARAM_NULLPTR, "parameter 'tensorShape' is null");
  uint64_t& result = ::opwright::out(count, "weightTensorSize", ACLNN_ERR_PARAM_NULLPTR);
  const std::vector<int64_t>& sizes = shape->values;
  require(sizes.size() >= 2 && sizes.size() <= 6, ACLNN_ERR_PARAM_INVALID, "tensorShape has ", sizes.size(),
          " dimensions; allowed: 2 to 6");
  for (const int64_t size : sizes) {
    require(size > 0, ACLNN_ERR_PARAM_INVALID, "tensorShape has a size of ", size, "; allowed: 1 and more");
  }
  // Every dtype but these two counts as int8 (CANN's aclnn_trans_matmul_weight.cpp), also int32 that holds int4.
  const aclDataType counted = dtype == ACL_FLOAT16 || dtype == ACL_BF16 ? dtype : ACL_INT8;
  const auto c0 = static_cast<int64_t>(8 * kBlockBytes / bits_of(counted));
  result = static_cast<uint64_t>(c10::multiply_integers(tiled_sizes(ACL_FORMAT_FRACTAL_NZ, sizes, c0)));
}

void check_filter(bool transposed, int64_t groups) {
  require(!transposed, ACLNN_ERR_PARAM_INVALID, "transposed is true; allowed: false");
  require(groups == 1, ACLNN_ERR_PARAM_INVALID, "groups is ", groups, "; available on the twin: 1");
}

void filter_size(const aclIntArray* shape, bool transposed, int64_t groups, aclDataType dtype, uint64_t* count) {
  require(shape != nullptr, ACLNN_ERR_PARAM_NULLPTR, "parameter 'tensorShape' is null");
  uint64_t& result = ::opwright::out(count, "weightTensorSize", ACLNN_ERR_PARAM_NULLPTR);
  check_filter(transposed, groups);
  require(shape->values.size() == 4, ACLNN_ERR_PARAM_INVALID, "tensorShape has ", shape->values.size(),
          " dimensions; allowed: 4");
  require(dtype == ACL_FLOAT16, ACLNN_ERR_PARAM_INVALID, "dataType is ", dtype_name(dtype), "; allowed: float16");
  const auto c0 = static_cast<int64_t>(8 * kBlockBytes / bits_of(dtype));
  const bool empty = c10::multiply_integers(shape->values) == 0;
  const std::vector<int64_t> sizes =
      empty ? std::vector<int64_t>{0} : tiled_sizes(ACL_FORMAT_FRACTAL_Z, shape->values, c0);
  result = static_cast<uint64_t>(c10::multiply_integers(sizes));
}

}  // namespace

namespace opwright::opapi::kind {

// A tensor whose storage becomes blocks of the format: a phase 1 that accepts the call says so in the caller's
// descriptor, which later calls use, and the task writes the blocks. Body: at::Tensor&, what the tensor holds before
// (`kReadToo`), or what it shall.
template <aclFormat kFormat, bool kReadToo>
struct Retiled {
  using C = aclTensor*;
  struct Stored {
    aclTensor before, after;
    aclTensor* callers;  // not to be used after phase 1
  };
  struct Value {
    at::Tensor seen;
  };
  using Body = at::Tensor&;
  static constexpr Role kRole = Role::kOutput;
  static constexpr Access kAccess = access_of(kRole, kReadToo);
  static constexpr bool kSimple = false;

  static Stored keep(aclTensor* tensor, const char* name) {
    if (tensor == nullptr) reject_null(name);
    require(is_base_format(tensor->format), ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has storage format ",
            static_cast<int>(tensor->format), " already; allowed: a format without blocks");
    require(tensor->dtype == ACL_FLOAT16 || tensor->dtype == ACL_BF16 || tensor->dtype == ACL_INT8,
            ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is ", dtype_name(tensor->dtype),
            "; allowed: float16, bfloat16, int8");
    validate(*tensor, name);
    Stored stored{*tensor, with_blocks(*tensor, kFormat), tensor};
    validate(stored.after, name);
    return stored;
  }
  static void commit(const Stored& stored) { *stored.callers = stored.after; }
  static Value open(const Stored& stored, const char*, const Opening& opening) {
    const at::ScalarType dtype = scalar_type(stored.before.dtype);
    if (opening.operands != Operands::kMemory) return {stand_in(stored.before, dtype, kRole, opening.operands)};
    const at::Tensor values = view_of(stored.before);
    return {kReadToo ? values.clone() : at::empty(values.sizes(), values.options())};
  }
  static Body get(Value& value) { return value.seen; }
  static bool steady(const Value&, const Stored&) { return false; }
  static void close(const Value& value, const Stored& stored, const char*) { pack(value.seen, stored.after); }
  static void each_tensor(Stored& stored, std::vector<std::vector<aclTensor*>>& tensors) {
    tensors.push_back({&stored.after});
  }
  static std::string describe(const Stored& stored) { return summary(stored.before); }
  static void sign(const Stored& stored, Signature& signature) { signature.add(stored.before); }
};
using RetiledWeight = Retiled<ACL_FORMAT_FRACTAL_NZ, true>;
using RetiledFilter = Retiled<ACL_FORMAT_FRACTAL_Z, false>;

template <aclFormat kFormat, bool kReadToo>
void check_shape(Retiled<kFormat, kReadToo>, const typename Retiled<kFormat, kReadToo>::Value&,
                 const typename Retiled<kFormat, kReadToo>::Stored&, const char*) {}

}  // namespace opwright::opapi::kind

extern "C" OPWRIGHT_API aclnnStatus aclnnCalculateMatmulWeightSize(const aclIntArray* tensorShape,
                                                                   uint64_t* weightTensorSize) {
  return call("aclnnCalculateMatmulWeightSize", [&] { weight_size(tensorShape, ACL_FLOAT16, weightTensorSize); });
}

extern "C" OPWRIGHT_API aclnnStatus aclnnCalculateMatmulWeightSizeV2(const aclIntArray* tensorShape,
                                                                     aclDataType dataType, uint64_t* weightTensorSize) {
  return call(
      "aclnnCalculateMatmulWeightSizeV2", [&] { weight_size(tensorShape, dataType, weightTensorSize); },
      arg("dataType", static_cast<int>(dataType)));
}

extern "C" OPWRIGHT_API aclnnStatus aclnnCalculateConvolutionWeightSize(const aclIntArray* tensorShape, bool transposed,
                                                                        int64_t groups, aclDataType dataType,
                                                                        uint64_t* weightTensorSize) {
  return call(
      "aclnnCalculateConvolutionWeightSize",
      [&] { filter_size(tensorShape, transposed, groups, dataType, weightTensorSize); },
      arg("dataType", static_cast<int>(dataType)));
}

// The weight's values go to its blocks.
ACLNN(TransMatmulWeight, (RetiledWeight, mmWeightRef), static_cast<void>(mmWeightRef))
ACLNN(TransConvolutionWeight, (In, weightIn)(Bool, transposed)(Int, groups)(RetiledFilter, weightOut),
      check_filter(transposed, groups);
      assign(weightOut, weightIn))

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
