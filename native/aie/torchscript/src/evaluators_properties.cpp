// evaluators_properties.cpp: what is known of tensors without their values, and numbers made of it. A size that is not
// known until the model runs is a layer; so is what is calculated with it.
#include <c10/util/Exception.h>

#include <numeric>

#include "core/util/prelude.h"
#include "evaluator_tables.h"

namespace torch_aie::core::conversion {

namespace {

using AscendIE::DataType;
using AscendIE::ElementWiseOperation;

constexpr int64_t kUnknown = -1;

/// Of tensors of the network and of constants.
std::vector<int64_t> shape_of(const Var& tensor) {
  if (tensor.isAscendTensor()) return util::toVec(tensor.getAscendTensor()->GetDimensions());
  return tensor.unwrapToAtTensor().sizes().vec();
}

Var number(int64_t value) { return Var(c10::IValue(value)); }

AscendIE::Tensor* all_sizes(ConversionCtx* ctx, const Var& tensor) {
  auto* const layer = ctx->net->AddShape(tensor.getAscendTensor());
  layer->SetOutputType(DataType::INT64);
  return layer->GetOutput(0);
}

Var size_of(const Evaluation& e, const std::vector<int64_t>& shape, int64_t dim) {
  if (shape[dim] != kUnknown) return number(shape[dim]);
  AscendIE::Tensor* const sizes = all_sizes(e.ctx, e[0]);
  return Var(e.ctx->net->AddOperation("SelectIndex", {sizes}, {{"dim", int64_t{0}}, {"index", dim}})->GetOutput(0));
}

Vars sizes(const Evaluation& e) {
  const std::vector<int64_t> shape = shape_of(e[0]);
  Vars list;
  for (size_t i = 0; i < shape.size(); ++i) list.push_back(size_of(e, shape, static_cast<int64_t>(i)));
  return has_tensor(list) ? Vars{Var(std::move(list))} : Vars{Var(c10::IValue(shape))};
}

Vars size(const Evaluation& e) {
  const std::vector<int64_t> shape = shape_of(e[0]);
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t dim = e[1].unwrapToInt();
  TORCH_CHECK_INDEX(dim >= -rank && dim < rank, "dimension ", dim, " is none of ", -rank, " to ", rank - 1);
  return {size_of(e, shape, dim < 0 ? dim + rank : dim)};
}

Vars length(const Evaluation& e) {
  const std::vector<int64_t> shape = shape_of(e[0]);
  TORCH_CHECK_TYPE(!shape.empty(), "a tensor without dimensions has no length");
  return {size_of(e, shape, 0)};
}

Vars count(const Evaluation& e) {
  const std::vector<int64_t> shape = shape_of(e[0]);
  if (std::find(shape.begin(), shape.end(), kUnknown) == shape.end()) {
    return {number(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()))};
  }
  AscendIE::Tensor* const product =
      e.ctx->net->AddReduce(all_sizes(e.ctx, e[0]), AscendIE::ReduceOperation::PROD, {0}, false)->GetOutput(0);
  return {Var(product)};
}

/// A number that is a tensor of the network stays one.
Vars same_number(const Evaluation& e) { return has_tensor(e.args) ? Vars{e[0]} : run(e); }

Vars real_number(const Evaluation& e) {
  if (!has_tensor(e.args)) return run(e);
  return {Var(e.ctx->net->AddCast(e[0].getAscendTensor(), DataType::FLOAT)->GetOutput(0))};
}

template <ElementWiseOperation operation>
Vars arithmetic(const Evaluation& e) {
  if (!has_tensor(e.args)) return run(e);
  AscendIE::Tensor* const a = e[0].getFreezeAscendTensor(e.ctx);
  AscendIE::Tensor* const b = e[1].getFreezeAscendTensor(e.ctx);
  return {Var(e.ctx->net->AddElementWise(a, b, operation)->GetOutput(0))};
}

Vars negative(const Evaluation& e) {
  if (!has_tensor(e.args)) return run(e);
  return {Var(e.ctx->net->AddUnary(e[0].getAscendTensor(), AscendIE::UnaryOperation::NEG)->GetOutput(0))};
}

constexpr EvaluatorRow kRows[] = {
    // Of tensors.
    {"aten::dim", run},
    {"aten::is_complex", run},
    {"aten::is_floating_point", run},
    {"aten::len.Tensor", length},
    {"aten::numel", count},
    {"aten::size", sizes},
    {"aten::size.int", size},
    {"prim::device", run},
    {"prim::dtype", run},
    {"prim::is_cpu", run},
    {"prim::is_cuda", run},
    {"prim::is_meta", run},
    {"prim::is_mkldnn", run},
    {"prim::is_mps", run},
    {"prim::is_nested", run},
    {"prim::is_quantized", run},
    {"prim::is_sparse", run},
    {"prim::is_vulkan", run},
    {"prim::layout", run},
    {"prim::requires_grad", run},
    {"prim::shape", sizes},
    // From tensors to numbers and back.
    {"aten::Float.Tensor", real_number},
    {"aten::FloatImplicit", real_number},
    {"aten::Int.Tensor", same_number},
    {"aten::IntImplicit", same_number},
    {"aten::ScalarImplicit", same_number},
    {"prim::NumToTensor", same_number},
    // Of numbers that may be sizes.
    {"aten::Float.int", real_number},
    {"aten::Int.Scalar", same_number},
    {"aten::Int.int", same_number},
    {"aten::add.int", arithmetic<ElementWiseOperation::ADD>},
    {"aten::div.int", arithmetic<ElementWiseOperation::DIV>},
    {"aten::floordiv.int", arithmetic<ElementWiseOperation::FLOOR_DIV>},
    {"aten::mul.int", arithmetic<ElementWiseOperation::MUL>},
    {"aten::neg.int", negative},
    {"aten::remainder.int", arithmetic<ElementWiseOperation::MOD>},
    {"aten::sub.int", arithmetic<ElementWiseOperation::SUB>},
    {"prim::max.int", arithmetic<ElementWiseOperation::MAX>},
    {"prim::min.int", arithmetic<ElementWiseOperation::MIN>},
};

}  // namespace

EvaluatorTable properties() { return kRows; }

}  // namespace torch_aie::core::conversion
