// native/atb/ops/topk.cpp
// GroupTopk: of the groups of a row of scores, those beyond the best k become 0. AtbFusedAddTopkDiv: experts for
// tokens, chosen by sigmoid and bias among the best groups, and their weights. Of equal scores the first one wins.
#include "atb/function.h"
#include "atb/named_call.h"
#include "atb/params.h"

using namespace opwright::atb_library;  // NOLINT: as in tables of libopapi

namespace {

using Param = atb::infer::GroupTopkParam;

// A group's score is the sum of its best `count` entries. In float32.
at::Tensor best_groups(const at::Tensor& scores, int64_t groups, int64_t best, int64_t count) {
  const at::Tensor rows = scores.unflatten(1, {groups, scores.size(1) / groups});
  const at::Tensor totals = std::get<0>(to_float(rows).topk(count, -1)).sum(-1);
  const at::Tensor order = std::get<1>(totals.sort(/*stable=*/true, -1, /*descending=*/true));
  const at::Tensor rest = order.narrow(1, best, groups - best);
  const at::Tensor is_left_out = at::zeros_like(totals, at::kBool).scatter_(1, rest, true);
  return rows.masked_fill(is_left_out.unsqueeze(-1), 0).flatten(1);
}

struct Choice {
  int64_t groups, best_groups, count, experts;
  bool is_normed;
  double scale;
};

// The physical expert of each: one of those that stand for it, in turn over the tokens.
at::Tensor mapped(const at::Tensor& experts, const at::Tensor& number, const at::Tensor& table) {
  const at::Tensor copies = number.to(at::kLong).index_select(0, experts.reshape(-1)).view(experts.sizes());
  const int64_t most = copies.numel() == 0 ? 0 : copies.max().item<int64_t>();
  require(most <= table.size(1), ACLNN_ERR_PARAM_INVALID, "parameter 'mappingNum' is up to ", most,
          "; 'mappingTable' has ", table.size(1), " columns");
  const at::Tensor token = at::arange(experts.size(0)).unsqueeze(1);
  return table.to(at::kLong).index({experts, token.remainder(copies.clamp_min(1))});
}

void choose(const at::Tensor& x, const at::Tensor& bias, const OptionalTensor& number, const OptionalTensor& table,
            const Choice& choice, at::Tensor& y, at::Tensor& indices) {
  const at::Tensor weights = to_float(x).sigmoid();
  const at::Tensor scores = best_groups(weights.add(to_float(bias)), choice.groups, choice.best_groups, choice.count);
  at::Tensor experts = std::get<1>(scores.sort(/*stable=*/true, -1, /*descending=*/true)).narrow(1, 0, choice.experts);
  at::Tensor chosen = weights.gather(1, experts);
  if (choice.is_normed) chosen = chosen.div(chosen.sum(-1, true)).mul_(choice.scale);
  assign(y, chosen);
  assign(indices, number ? mapped(experts, *number, *table) : experts);
}

}  // namespace

ATB_FUNCTION(GroupTopkOperation, (Ref, self)(Int, groupNum)(Int, k)(Int, n),
             assign(self, best_groups(self, groupNum, k, n)))
ATB_FUNCTION(AtbFusedAddTopkDiv,
             (In, x)(In, addNum)(OptIn, mappingNum)(OptIn, mappingTable)(Int, groupNum)(Int, groupTopk)(Int, n)(Int, k)(
                 Bool, isNorm)(Double, scale)(Out, y)(Out, indices),
             choose(x, addNum, mappingNum, mappingTable, {groupNum, groupTopk, n, k, isNorm, scale}, y, indices))

namespace {

void check_groups(const aclTensor& scores, const char* name, int64_t groups, int64_t count) {
  require_rank(scores, name, {2});
  require_dtype(scores, name, {ACL_FLOAT16, ACL_BF16, ACL_FLOAT});
  require(scores.sizes[1] % groups == 0, atb::ERROR_INVALID_TENSOR_DIM, "parameter '", name, "' has shape ",
          to_string(scores.sizes), "; its second dimension must be a multiple of groupNum, ", groups);
  require(count <= scores.sizes[1] / groups, atb::ERROR_INVALID_PARAM, "parameter 'n' is ", count,
          "; allowed: 1 to the size of a group, ", scores.sizes[1] / groups);
}

aclnnStatus prepare(const Param& param, const Form& form, const atb::VariantPack& variants, uint64_t* workspace_size,
                    aclOpExecutor** executor) {
  Pack pack(variants, form.inputs, form.outputs);
  const aclTensor &input = pack.in(0, "inTensor0"), &order = pack.in(1, "inTensor1");
  aclTensor& out = pack.out(0, "outTensor0");
  const int64_t count = param.groupMultiFlag == Param::SUM_MULTI_MAX ? param.n : 1;
  check_groups(input, "inTensor0", param.groupNum, count);
  require_dtype(order, "inTensor1", {ACL_INT32});
  require_sizes(out, "outTensor0", input.sizes, "as 'inTensor0'");
  require(input.data == out.data, atb::ERROR_INVALID_TENSOR_ADDR,
          "parameter 'inTensor0' is written in place, so input and output must be the same tensor");
  return operations::GroupTopkOperation::prepare(&out, param.groupNum, param.k, count, workspace_size, executor);
}

Form form_of(const Param& param) {
  require_no_reserved(param);
  require_param(param.groupNum >= 1, "groupNum", param.groupNum, "1 and more");
  require_param(param.k >= 1 && param.k <= param.groupNum, "k", param.k, "1 to groupNum");
  require_param(param.groupMultiFlag == Param::UNDEFINED || param.groupMultiFlag == Param::SUM_MULTI_MAX,
                "groupMultiFlag", uint16_t{param.groupMultiFlag}, "0 (UNDEFINED), 1 (SUM_MULTI_MAX)");
  require_param(param.groupMultiFlag == Param::UNDEFINED || param.n >= 1, "n", param.n, "1 and more");
  Form form{"GroupTopkOperation", 2, 1, nullptr, nullptr};
  form.infer = [](const auto& inputs, auto& outputs) { outputs.data()[0] = inputs[0]; };
  form.prepare = [param, counts = form](const atb::VariantPack& variants, uint64_t* size, aclOpExecutor** executor) {
    return prepare(param, counts, variants, size, executor);
  };
  return form;
}

struct TopkCall {
  uint32_t groups, best_groups, count, experts;
  int activation;
};

void check(const TopkCall& call, const aclTensor& x, const aclTensor& bias, const aclTensor& y,
           const aclTensor& indices) {
  constexpr int kSigmoid = 8;
  require_param(call.activation == kSigmoid, "activationType", call.activation, "8 (activation_sigmoid)");
  require_param(call.groups >= 1, "groupNum", call.groups, "1 and more");
  require_param(call.best_groups >= 1 && call.best_groups <= call.groups, "groupTopk", call.best_groups,
                "1 to groupNum");
  require_param(call.count >= 1, "n", call.count, "1 and more");
  check_groups(x, "x", call.groups, call.count);
  require_param(call.experts >= 1 && call.experts <= x.sizes[1], "k", call.experts, "1 to the number of experts");
  require_rank(bias, "addNum", {1});
  require_dtype(bias, "addNum", {x.dtype});
  require_size(bias, "addNum", 0, x.sizes[1], "as many as 'x' has experts");
  const int64_t sizes[] = {x.sizes[0], call.experts};
  require_sizes(y, "y", {sizes, 2}, "tokens and k");
  require_dtype(y, "y", {ACL_FLOAT});
  require_sizes(indices, "indices", {sizes, 2}, "tokens and k");
  require_dtype(indices, "indices", {ACL_INT32});
}

void check_mapping(const aclTensor& number, const aclTensor& table, const aclTensor& x) {
  require_rank(number, "mappingNum", {1});
  require_rank(table, "mappingTable", {2});
  for (const auto& [tensor, name] : {std::pair{&number, "mappingNum"}, std::pair{&table, "mappingTable"}}) {
    require_dtype(*tensor, name, {ACL_INT32});
    require_size(*tensor, name, 0, x.sizes[1], "as many as 'x' has experts");
  }
}

}  // namespace

ATB_OPERATION(GroupTopkParam, form_of)

extern "C" {

OPWRIGHT_API atb::Status AtbFusedAddTopkDivGetWorkspaceSize(const aclTensor* x, const aclTensor* addNum,
                                                            const aclTensor* mappingNum, const aclTensor* mappingTable,
                                                            uint32_t groupNum, uint32_t groupTopk, uint32_t n,
                                                            uint32_t k, int activationType, bool isNorm, float scale,
                                                            bool enableExpertMapping, aclTensor* y, aclTensor* indices,
                                                            uint64_t* workspaceSize, atb::Operation** operation,
                                                            atb::Context*) {
  const auto prepare = [&](uint64_t* size, aclOpExecutor** executor) {
    const aclTensor& scores = given(x, "x");
    check({groupNum, groupTopk, n, k, activationType}, scores, given(addNum, "addNum"), given(y, "y"),
          given(indices, "indices"));
    const aclTensor* number = nullptr;
    const aclTensor* table = nullptr;
    if (enableExpertMapping) {
      number = &given(mappingNum, "mappingNum");
      table = &given(mappingTable, "mappingTable");
      check_mapping(*number, *table, scores);
    }
    return operations::AtbFusedAddTopkDiv::prepare(x, addNum, number, table, groupNum, groupTopk, n, k, isNorm, scale,
                                                   y, indices, size, executor);
  };
  return set_up_named("AtbFusedAddTopkDiv", "AtbFusedAddTopkDivGetWorkspaceSize", workspaceSize, operation, prepare,
                      __builtin_return_address(0));
}

ATB_NAMED_CALL(AtbFusedAddTopkDiv)

}  // extern "C"
