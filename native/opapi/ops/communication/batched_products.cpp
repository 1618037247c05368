// native/opapi/ops/communication/batched_products.cpp
// Products of experts whose rows are spread over the ranks of experts (ep), and whose weights over ranks of tensors
// (tp); and products of groups that all ranks add.
#include <string_view>

#include "opapi/ops/common/activations.h"
#include "opapi/ops/communication/ranks.h"
#include "opapi/ops/matmul/grouped_matmul.h"

namespace {

struct Grid {
  const std::string &experts, &tensors;
  int64_t expert_ranks, tensor_ranks;
  int64_t shard;  // how the ranks of `tensors` divide a matrix: 0 by columns, 1 by rows
};

void require_grid(const Grid& grid, const RankGroup& experts, const RankGroup& tensors, const char* shard_name) {
  require(grid.expert_ranks == static_cast<int64_t>(experts.size()) &&
              grid.tensor_ranks == static_cast<int64_t>(tensors.size()),
          ACLNN_ERR_PARAM_INVALID, "epWorldSize and tpWorldSize are ", grid.expert_ranks, " and ", grid.tensor_ranks,
          "; the communicators have ", experts.size(), " and ", tensors.size(), " ranks");
  require(grid.shard == 0 || grid.shard == 1, ACLNN_ERR_PARAM_INVALID, shard_name, " is ", grid.shard,
          "; allowed: 0, 1");
}

// Runs the body of an operator with two communicators. The executor tells the ranks of experts if it fails; those of
// tensors learn it here.
template <class Body>
void communicate_on(const Grid& grid, const char* name, const Body& body) {
  communicate(grid.experts, [&](const RankGroup& experts) {
    const RankGroup tensors = find_ranks(grid.tensors);
    if (is_dry_run()) return body(experts, tensors);
    try {
      tensors.run([&] { body(experts, tensors); });
    } catch (const std::exception& error) {
      collective::give_up(grid.tensors, name, error.what());
      throw;
    }
  });
}

// One block for each rank of experts: [ep * experts, ...] -> the same shape.
at::Tensor exchange_blocks(const RankGroup& ranks, const at::Tensor& blocks) {
  const auto count = static_cast<int64_t>(ranks.size());
  const std::vector<int64_t> each(ranks.size(), 1);
  return exchange_rows(ranks, blocks.reshape({count, -1}), each, each).view(blocks.sizes());
}

at::Tensor bias_of(const OptionalTensor& bias, int64_t experts) {
  return bias->to(at::kFloat).reshape({experts, 1, -1});
}

using RowActivation = at::Tensor (*)(const at::Tensor& values);

RowActivation activation_of(int64_t type) {
  static constexpr RowActivation kActivations[] = {[](const at::Tensor& values) { return values; },
                                                   [](const at::Tensor& values) { return at::gelu(values); }, at::silu,
                                                   at::relu, fast_gelu};
  require(type >= 0 && type < static_cast<int64_t>(std::size(kActivations)), ACLNN_ERR_PARAM_INVALID, "actType is ",
          type, "; allowed: 0 (none), 1 (gelu), 2 (silu), 3 (relu), 4 (fastgelu)");
  return kActivations[type];
}

void require_batches(const at::Tensor& x, const at::Tensor& weight, const OptionalTensor& bias) {
  require(x.dim() == 3 && weight.dim() == 3, ACLNN_ERR_PARAM_INVALID, "x and weight have ", x.dim(), " and ",
          weight.dim(), " dimensions; allowed: 3");
  require(!bias || (bias->size(0) == weight.size(0) && (bias->dim() == 2 || bias->dim() == 3)), ACLNN_ERR_PARAM_INVALID,
          "bias has the shape ", bias ? bias->sizes() : at::IntArrayRef(), "; it must be [experts, (1,) columns] for ",
          weight.size(0), " experts");
}

struct Gathered {
  at::Tensor &activated, &rows, &product;
};

void gather_and_multiply(const at::Tensor& x, const at::Tensor& weight, const OptionalTensor& bias, const Grid& grid,
                         RowActivation activation, const Gathered& outputs) {
  require_batches(x, weight, bias);
  communicate_on(grid, "aclnnAlltoAllAllGatherBatchMatMul", [&](const RankGroup& ep, const RankGroup& tp) {
    require_grid(grid, ep, tp, "xShardType");
    const int64_t experts = weight.size(0), eps = grid.expert_ranks, tps = grid.tensor_ranks;
    const int64_t rows = x.size(1), columns = x.size(2), inner = grid.shard == 0 ? columns * tps : columns;
    const int64_t all_rows = eps * rows * (grid.shard == 0 ? 1 : tps);
    require(x.size(0) == eps * experts && weight.size(1) == inner, ACLNN_ERR_PARAM_INVALID,
            "x and weight have the shapes ", x.sizes(), " and ", weight.sizes(), "; with ", eps, " and ", tps,
            " ranks they must be [", eps * experts, ", C, H] and [", experts, ", ", inner, ", M]");
    require_shape(outputs.activated, {experts, all_rows, weight.size(2)}, "y1Out");
    require_shape(outputs.rows, {experts, all_rows, inner}, "y2Out");
    require_shape(outputs.product, {experts, all_rows, weight.size(2)}, "y3Out");
    const at::Tensor blocks = exchange_blocks(ep, x).view({eps, experts, rows, columns}).transpose(0, 1);
    const at::Tensor all = gather_rows(tp, blocks.unsqueeze(0));  // [tp, experts, ep, rows, columns]
    const at::Tensor gathered = grid.shard == 0 ? all.permute({1, 2, 3, 0, 4}) : all.permute({1, 2, 0, 3, 4});
    const at::Tensor x1 = gathered.reshape({experts, all_rows, inner});
    at::Tensor product = at::bmm(x1.to(at::kFloat), weight.to(at::kFloat));
    if (bias) product.add_(bias_of(bias, experts));
    product = product.to(x.scalar_type());
    if (outputs.rows.defined()) assign(outputs.rows, x1);
    if (outputs.product.defined()) assign(outputs.product, product);
    assign(outputs.activated, activation(product.to(at::kFloat)));
  });
}

void multiply_and_scatter(const at::Tensor& x, const at::Tensor& weight, const OptionalTensor& bias, const Grid& grid,
                          at::Tensor& out) {
  require_batches(x, weight, bias);
  communicate_on(grid, "aclnnBatchMatMulReduceScatterAlltoAll", [&](const RankGroup& ep, const RankGroup& tp) {
    require_grid(grid, ep, tp, "yShardType");
    const int64_t experts = weight.size(0), eps = grid.expert_ranks, tps = grid.tensor_ranks;
    const bool by_column = grid.shard == 0;
    const int64_t shares = eps * (by_column ? 1 : tps);
    require(x.size(0) == experts && x.size(2) == weight.size(1) && x.size(1) % shares == 0 &&
                weight.size(2) % (by_column ? tps : 1) == 0,
            ACLNN_ERR_PARAM_INVALID, "x and weight have the shapes ", x.sizes(), " and ", weight.sizes(),
            "; they must be matrices of the same experts that fit, with rows", by_column ? " and columns" : "", " for ",
            eps, " and ", tps, " ranks");
    const int64_t rows = x.size(1) / shares, columns = weight.size(2) / (by_column ? tps : 1);
    require_shape(out, {eps * experts, rows, columns}, "the output");
    const at::Tensor product = at::bmm(x.to(at::kFloat), weight.to(at::kFloat)).to(x.scalar_type());
    const at::Tensor parts = by_column ? product.view({experts, eps, rows, tps, columns}).permute({3, 0, 1, 2, 4})
                                       : product.view({experts, eps, tps, rows, columns}).permute({2, 0, 1, 3, 4});
    at::Tensor sum = sum_share_of_rows(tp, parts).view({experts, eps * rows, columns});
    if (bias) sum = sum.to(at::kFloat).add_(bias_of(bias, experts)).to(x.scalar_type());
    const at::Tensor blocks = sum.view({experts, eps, rows, columns}).transpose(0, 1);
    assign(out, exchange_blocks(ep, blocks.reshape({eps * experts, rows, columns})));
  });
}

using List = std::vector<at::Tensor>;

// The rows of each group: those of a tensor of its own, or those up to the group's end.
List rows_of_groups(const List& x, size_t groups, at::OptionalIntArrayRef ends) {
  List rows;
  if (!ends || ends->empty()) {
    require(x.size() == groups, ACLNN_ERR_PARAM_INVALID, "there are ", x.size(), " x and ", groups,
            " weights; without groupList there must be as many");
    for (const at::Tensor& tensor : x) rows.push_back(tensor.flatten(0, -2));
    return rows;
  }
  require(x.size() == 1 && ends->size() == groups, ACLNN_ERR_PARAM_INVALID, "groupList has ", ends->size(),
          " entries for ", x.size(), " x and ", groups, " weights; allowed: one x, an entry for each weight");
  int64_t begin = 0;
  for (const int64_t end : *ends) {
    require(end >= begin && end <= x[0].size(0), ACLNN_ERR_PARAM_INVALID, "groupList is ", *ends,
            "; it must go up to at most the ", x[0].size(0), " rows of x");
    rows.push_back(x[0].slice(0, begin, end));
    begin = end;
  }
  return rows;
}

void grouped_all_reduce(const List& x, const List& weight, const List& bias, at::OptionalIntArrayRef ends,
                        const std::string& group, List& out) {
  require(!weight.empty() && (out.size() == 1 || out.size() == weight.size()) &&
              (bias.empty() || bias.size() == weight.size()),
          ACLNN_ERR_PARAM_INVALID, "there are ", weight.size(), " weights, ", bias.size(), " biases and ", out.size(),
          " outputs; allowed: as many of each, or one output, or no bias");
  communicate(group, [&](const RankGroup& ranks) {
    const List rows = rows_of_groups(x, weight.size(), ends);
    List products;
    for (size_t i = 0; i < rows.size(); ++i) {
      grouped::Product product;
      product.x = rows[i];
      product.weight = weight[i];
      if (!bias.empty()) product.bias = bias[i];
      products.push_back(grouped::multiply(product, at::kFloat).to(rows[i].scalar_type()));
    }
    if (out.size() == 1) products = {at::cat(products)};
    for (size_t i = 0; i < products.size(); ++i) {
      require(out[i].numel() == products[i].numel() && out[i].size(-1) == products[i].size(-1), ACLNN_ERR_PARAM_INVALID,
              "an output has the shape ", out[i].sizes(), ", but its product has ", products[i].sizes());
    }
    for (size_t i = 0; i < products.size(); ++i) {
      assign(out[i], sum_over_ranks(ranks, products[i]).view(out[i].sizes()));
    }
  });
}

}  // namespace

ACLNN(AlltoAllAllGatherBatchMatMul,
      (In, x)(In, weight)(OptIn, biasOptional)(Group, groupEp)(Text, groupTp)(Int, epWorldSize)(Int, tpWorldSize)(
          Int, xShardType)(Int, actType)(Out, y1Out)(OptOut, y2OutOptional)(OptOut, y3OutOptional),
      gather_and_multiply(x, weight, biasOptional, {groupEp, groupTp, epWorldSize, tpWorldSize, xShardType},
                          activation_of(actType), {y1Out, y2OutOptional, y3OutOptional}))
ACLNN(BatchMatMulReduceScatterAlltoAll,
      (In, x)(In, weight)(OptIn, biasOptional)(Group, groupEp)(Text, groupTp)(Int, epWorldSize)(Int, tpWorldSize)(
          Int, yShardType)(Out, out),
      multiply_and_scatter(x, weight, biasOptional, {groupEp, groupTp, epWorldSize, tpWorldSize, yShardType}, out))
ACLNN(GroupedMatMulAllReduce,
      (TensorList, x)(TensorList, weight)(OptTensorList, bias)(OptInts, groupListOptional)(Int, splitItem)(
          Group, group)(Text, reduceOp)(Int, commTurn)(Int, streamMode)(OutList, y),
      require_options(reduceOp, commTurn, streamMode);
      grouped_all_reduce(x, weight, bias, groupListOptional, group, y))
