// native/opapi/ops/communication/ranks.cpp
#include "opapi/ops/communication/ranks.h"

#include <numeric>

namespace opwright::opapi {
namespace {

HcclDataType hccl_type(at::ScalarType dtype) {
  switch (dtype) {
    case at::kHalf:
      return HCCL_DATA_TYPE_FP16;
    case at::kBFloat16:
      return HCCL_DATA_TYPE_BFP16;
    case at::kFloat:
      return HCCL_DATA_TYPE_FP32;
    case at::kInt:
      return HCCL_DATA_TYPE_INT32;
    default:
      fail(ACLNN_ERR_PARAM_INVALID, "HCCL does not add ", dtype, "; allowed: float16, bfloat16, float32, int32");
  }
}

std::vector<int64_t> with_rows(const at::Tensor& tensor, int64_t rows) {
  std::vector<int64_t> shape = tensor.sizes().vec();
  shape.at(0) = rows;
  return shape;
}

// Bytes of rows of this tensor.
std::vector<size_t> bytes_of(const at::Tensor& tensor, at::IntArrayRef rows) {
  const auto row = static_cast<size_t>(tensor.size(0) > 0 ? tensor.nbytes() / tensor.size(0) : 0);
  std::vector<size_t> bytes;
  for (const int64_t count : rows) bytes.push_back(static_cast<size_t>(count) * row);
  return bytes;
}

int64_t total(at::IntArrayRef counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

}  // namespace

at::Tensor gather_rows(const RankGroup& ranks, const at::Tensor& rows) {
  const at::Tensor own = rows.contiguous();
  begin_effects();
  at::Tensor all = at::empty(with_rows(own, own.size(0) * static_cast<int64_t>(ranks.size())), own.options());
  ranks.all_gather(own.const_data_ptr(), all.mutable_data_ptr(), own.nbytes());
  return all;
}

at::Tensor exchange_rows(const RankGroup& ranks, const at::Tensor& rows, at::IntArrayRef sent,
                         at::IntArrayRef received) {
  const at::Tensor source = rows.contiguous();
  begin_effects();
  at::Tensor target = at::empty(with_rows(source, total(received)), source.options());
  // A rank that sends nothing may still receive rows, whose size its own tensor has in its other dims.
  const at::Tensor row = at::empty(with_rows(source, 1), source.options());
  ranks.all_to_all(source.const_data_ptr(), bytes_of(row, sent), target.mutable_data_ptr(), bytes_of(row, received));
  return target;
}

at::Tensor sum_over_ranks(const RankGroup& ranks, const at::Tensor& values) {
  const HcclDataType type = hccl_type(values.scalar_type());
  const at::Tensor own = values.contiguous();
  begin_effects();
  at::Tensor sums = at::empty_like(own);
  ranks.all_reduce(own.const_data_ptr(), sums.mutable_data_ptr(), static_cast<size_t>(own.numel()), type);
  return sums;
}

at::Tensor sum_share_of_rows(const RankGroup& ranks, const at::Tensor& values) {
  const HcclDataType type = hccl_type(values.scalar_type());
  const at::Tensor own = values.contiguous();
  begin_effects();
  const int64_t rows = own.size(0) / static_cast<int64_t>(ranks.size());
  at::Tensor sums = at::empty(with_rows(own, rows), own.options());
  ranks.reduce_scatter(own.const_data_ptr(), sums.mutable_data_ptr(), static_cast<size_t>(sums.numel()), type);
  return sums;
}

void wait_for_all(const RankGroup& ranks) {
  begin_effects();
  ranks.barrier();
}

RankGroup find_ranks(const std::string& group) { return RankGroup(group, ACLNN_ERR_PARAM_INVALID); }

void require_shape(const at::Tensor& tensor, at::IntArrayRef sizes, const char* name) {
  require(!tensor.defined() || tensor.sizes() == sizes, ACLNN_ERR_PARAM_INVALID, name, " has the shape ",
          tensor.defined() ? tensor.sizes() : at::IntArrayRef(), "; it must be ", sizes);
}

void require_options(const std::string& reduce_op, int64_t comm_turn, int64_t stream_mode) {
  require(reduce_op == "sum", ACLNN_ERR_PARAM_INVALID, "reduceOp is '", reduce_op, "'; allowed: sum");
  require(comm_turn == 0, ACLNN_ERR_PARAM_INVALID, "commTurn is ", comm_turn, "; allowed: 0");
  require(stream_mode == 1, ACLNN_ERR_PARAM_INVALID, "streamMode is ", stream_mode, "; allowed: 1");
}

}  // namespace opwright::opapi
