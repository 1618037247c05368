// native/opapi/ops/communication/grouped_products.cpp
// Products of rows with the weights of experts on several ranks: the rows travel to the experts before, or back after.
#include <numeric>

#include "opapi/ops/common/low_precision.h"
#include "opapi/ops/common/refusal.h"
#include "opapi/ops/communication/expert_ranks.h"

namespace {

struct Shared {  // a product of this rank alone that the device computes beside it
  const OptionalTensor& x;
  const OptionalTensor& weight;
  bool transposed;
  at::Tensor& out;
};

at::Tensor matrix_of(const Shared& shared) {
  return shared.transposed ? shared.weight->transpose(-1, -2) : *shared.weight;
}

// A rank may have no rows for it.
void require_shared(const Shared& shared) {
  if (!given(shared.weight)) return;
  require(shared.x && shared.out.defined(), ACLNN_ERR_PARAM_INVALID,
          "of mmXOptional, mmWeightOptional and mmYOptional some are given; allowed: all or none");
  const at::Tensor matrix = matrix_of(shared);
  require(shared.x->dim() == 2 && matrix.dim() == 2 && shared.x->size(1) == matrix.size(0), ACLNN_ERR_PARAM_INVALID,
          "mmX and mmWeight have the shapes ", shared.x->sizes(), " and ", matrix.sizes(),
          "; the columns of the one must be the rows of the other");
  require_shape(shared.out, {shared.x->size(0), matrix.size(1)}, "mmY");
}

void multiply_shared(const Shared& shared) {
  if (!given(shared.weight)) return;
  assign(shared.out, at::matmul(to_float(*shared.x), to_float(matrix_of(shared))));
}

// [ranks * experts] -> [ranks][experts]
RowCounts counts_of(at::IntArrayRef counts, int64_t ranks, int64_t experts, const char* name) {
  require(static_cast<int64_t>(counts.size()) == ranks * experts, ACLNN_ERR_PARAM_INVALID, name, " has ", counts.size(),
          " numbers; it must have one for each of ", experts, " experts on each of ", ranks, " ranks");
  RowCounts result;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const at::IntArrayRef own = counts.slice(static_cast<size_t>(rank * experts), static_cast<size_t>(experts));
    for (const int64_t count : own) {
      require(count >= 0, ACLNN_ERR_PARAM_INVALID, name, " has the number ", count, "; allowed: 0 or more");
    }
    result.push_back(own.vec());
  }
  return result;
}

int64_t total(const RowCounts& counts) {
  const std::vector<int64_t> rows = rows_by_rank(counts);
  return std::accumulate(rows.begin(), rows.end(), int64_t{0});
}

void require_rows(const at::Tensor& tensor, int64_t rows, const char* name) {
  require(tensor.dim() == 2 && tensor.size(0) == rows, ACLNN_ERR_PARAM_INVALID, name, " has the shape ", tensor.sizes(),
          "; it must have two dimensions and the ", rows, " rows of the counts");
}

void require_world(const RankGroup& ranks, int64_t size) {
  require(static_cast<int64_t>(ranks.size()) == size, ACLNN_ERR_PARAM_INVALID, "epWorldSize is ", size,
          ", but the communicator has ", ranks.size(), " ranks");
}

// [experts, k, n]
at::Tensor matrices(const at::Tensor& weight, bool transposed, int64_t columns) {
  require(weight.dim() == 3, ACLNN_ERR_PARAM_INVALID, "gmmWeight has ", weight.dim(), " dimensions; allowed: 3");
  const at::Tensor matrices = transposed ? weight.transpose(-1, -2) : weight;
  require(matrices.size(1) == columns, ACLNN_ERR_PARAM_INVALID, "gmmX has ", columns,
          " columns and each matrix of gmmWeight ", matrices.size(1), " rows");
  return matrices;
}

// Rows in the order of their experts, each times its expert's matrix, in float32.
at::Tensor grouped_product(const at::Tensor& rows, const at::Tensor& weights, at::IntArrayRef counts) {
  at::Tensor result = at::empty({rows.size(0), weights.size(2)}, at::kFloat);
  int64_t begin = 0;
  for (size_t expert = 0; expert < counts.size(); ++expert) {
    at::Tensor target = result.narrow(0, begin, counts[expert]);
    at::mm_out(target, to_float(rows.narrow(0, begin, counts[expert])),
               to_float(weights.select(0, static_cast<int64_t>(expert))));
    begin += counts[expert];
  }
  return result;
}

struct Exchanged {
  const std::string& group;
  int64_t world;
  at::IntArrayRef sent, received;
};

// Operands that have passed all checks but those of outputs of one operator alone.
struct Checked {
  at::Tensor weights;  // [experts, k, n]
  RowCounts sent, received;
};

Checked check_grouped(const RankGroup& ranks, const Exchanged& call, const at::Tensor& x, const at::Tensor& weight,
                      bool transposed, const at::Tensor& out, const Shared& shared) {
  require_world(ranks, call.world);
  const at::Tensor weights = matrices(weight, transposed, x.size(-1));
  const RowCounts sent = counts_of(call.sent, call.world, weights.size(0), "sendCounts");
  const RowCounts received = counts_of(call.received, call.world, weights.size(0), "recvCounts");
  require_rows(x, total(sent), "gmmX");
  require_shape(out, {total(received), weights.size(2)}, "the output");
  require_shared(shared);
  return {weights, sent, received};
}

constexpr const char* kListedCounts = "counts are taken from the lists";

void all_to_all_grouped_matmul(const at::Tensor& x, const at::Tensor& weight, bool transposed, const Exchanged& call,
                               at::Tensor& y, const at::Tensor& permuted, const Shared& shared) {
  communicate(call.group, [&](const RankGroup& ranks) {
    const auto [weights, sent, received] = check_grouped(ranks, call, x, weight, transposed, y, shared);
    if (permuted.defined() && permuted.numel() > 0) require_shape(permuted, {total(received), x.size(1)}, "permuteOut");
    const at::Tensor rows =
        exchange_rows(ranks, x, rows_by_rank(sent), rows_by_rank(received)).index_select(0, order_by_expert(received));
    if (permuted.defined() && permuted.numel() > 0) {
      at::Tensor out = permuted;
      assign(out, rows);
    }
    assign(y, grouped_product(rows, weights, rows_by_expert(received)));
    multiply_shared(shared);
  });
}

void grouped_matmul_all_to_all(const at::Tensor& x, const at::Tensor& weight, bool transposed, const Exchanged& call,
                               at::Tensor& y, const Shared& shared) {
  communicate(call.group, [&](const RankGroup& ranks) {
    const auto [weights, sent, received] = check_grouped(ranks, call, x, weight, transposed, y, shared);
    const at::Tensor product = grouped_product(x, weights, rows_by_expert(sent)).to(y.scalar_type());
    // Back to the order of the ranks, as the rows came.
    const at::Tensor rows = at::empty_like(product).index_copy_(0, order_by_expert(sent), product);
    assign(y, exchange_rows(ranks, rows, rows_by_rank(sent), rows_by_rank(received)));
    multiply_shared(shared);
  });
}

}  // namespace

// The tensors of counts are reserved.
#define OPWRIGHT_ALL_TO_ALL_GROUPED_MATMUL(NAME, ...)                                                                  \
  ACLNN(NAME,                                                                                                          \
        (In, gmmX)(In, gmmWeight)(OptIn, sendCountsTensorOptional)(OptIn, recvCountsTensorOptional)(                   \
            OptIn, mmXOptional)(OptIn, mmWeightOptional)(Group, group)__VA_ARGS__(Int, epWorldSize)(Ints,              \
                                                                                                    sendCounts)(       \
            Ints, recvCounts)(Bool, transGmmWeight)(Bool, transMmWeight)(Bool, permuteOutFlag)(Out, gmmY)(             \
            OptOut, mmYOptional)(OptOut, permuteOutOptional),                                                          \
        refuse({{sendCountsTensorOptional, "sendCountsTensorOptional"},                                                \
                {recvCountsTensorOptional, "recvCountsTensorOptional"}},                                               \
               kListedCounts);                                                                                         \
        all_to_all_grouped_matmul(gmmX, gmmWeight, transGmmWeight, {group, epWorldSize, sendCounts, recvCounts}, gmmY, \
                                  permuteOutFlag ? permuteOutOptional : at::Tensor(),                                  \
                                  {mmXOptional, mmWeightOptional, transMmWeight, mmYOptional}))
OPWRIGHT_ALL_TO_ALL_GROUPED_MATMUL(AlltoAllvGroupedMatMul, )
OPWRIGHT_ALL_TO_ALL_GROUPED_MATMUL(AlltoAllvGroupedMatMulV2, (Text, commMode))
#undef OPWRIGHT_ALL_TO_ALL_GROUPED_MATMUL

#define OPWRIGHT_GROUPED_MATMUL_ALL_TO_ALL(NAME, ...)                                                               \
  ACLNN(NAME,                                                                                                       \
        (In, gmmX)(In, gmmWeight)(OptIn, sendCountsTensorOptional)(OptIn, recvCountsTensorOptional)(                \
            OptIn, mmXOptional)(OptIn, mmWeightOptional)(Group, group)__VA_ARGS__(Int, epWorldSize)(Ints,           \
                                                                                                    sendCounts)(    \
            Ints, recvCounts)(Bool, transGmmWeight)(Bool, transMmWeight)(Out, y)(OptOut, mmYOptional),              \
        refuse({{sendCountsTensorOptional, "sendCountsTensorOptional"},                                             \
                {recvCountsTensorOptional, "recvCountsTensorOptional"}},                                            \
               kListedCounts);                                                                                      \
        grouped_matmul_all_to_all(gmmX, gmmWeight, transGmmWeight, {group, epWorldSize, sendCounts, recvCounts}, y, \
                                  {mmXOptional, mmWeightOptional, transMmWeight, mmYOptional}))
OPWRIGHT_GROUPED_MATMUL_ALL_TO_ALL(GroupedMatMulAlltoAllv, )
OPWRIGHT_GROUPED_MATMUL_ALL_TO_ALL(GroupedMatMulAlltoAllvV2, (Text, commMode))
#undef OPWRIGHT_GROUPED_MATMUL_ALL_TO_ALL
