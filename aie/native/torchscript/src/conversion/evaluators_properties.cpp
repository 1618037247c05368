// conversion/evaluators_properties.cpp: what is known of tensors without their values, and numbers made of it.
#include <c10/core/WrapDimMinimal.h>
#include <c10/util/Exception.h>

#include <numeric>

#include "conversion/evaluator_tables.h"
#include "core/util/prelude.h"

namespace torch_aie::core::conversion {

namespace {

/// Of tensors of the network and of constants.
std::vector<int64_t> shape_of(const Var& tensor) {
  if (tensor.isAscendTensor()) return util::toVec(tensor.getAscendTensor()->GetDimensions());
  return tensor.unwrapToAtTensor().sizes().vec();
}

Var number(int64_t value) { return Var(c10::IValue(value)); }

// Sizes that are not fixed are in sizes.cpp.

Vars sizes(const Evaluation& e) { return {Var(c10::IValue(shape_of(e[0])))}; }

Vars size(const Evaluation& e) {
  const std::vector<int64_t> shape = shape_of(e[0]);
  const auto rank = static_cast<int64_t>(shape.size());
  return {number(shape[c10::maybe_wrap_dim(e[1].unwrapToInt(), rank, /*wrap_scalar=*/false)])};
}

Vars tensor_length(const Evaluation& e) {
  const std::vector<int64_t> shape = shape_of(e[0]);
  TORCH_CHECK_TYPE(!shape.empty(), "a tensor without dimensions has no length");
  return {number(shape[0])};
}

Vars count(const Evaluation& e) {
  const std::vector<int64_t> shape = shape_of(e[0]);
  return {number(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()))};
}

constexpr EvaluatorRow kPropertiesEvaluators[] = {
    // Of tensors.
    {"aten::dim", run},
    {"aten::is_complex", run},
    {"aten::is_floating_point", run},
    {"aten::len.Tensor", tensor_length},
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
    {"aten::Float.Tensor", run},
    {"aten::FloatImplicit", run},
    {"aten::Int.Tensor", run},
    {"aten::IntImplicit", run},
    {"aten::ScalarImplicit", run},
    {"prim::NumToTensor", run},
};

}  // namespace

EvaluatorTable properties() { return kPropertiesEvaluators; }

}  // namespace torch_aie::core::conversion
