// native/atb/ops/quantization.cpp
// The operations that torch_npu quantises with: Elewise QUANT_PER_CHANNEL, clamp(round(x / scale) + offset), and
// RmsNorm with and without quantised result. In float32.
#include "atb/function.h"
#include "atb/params.h"
#include "opapi/ops/kv_cache/stored_keys.h"

using namespace opwright::atb_library;  // NOLINT: as in tables of libopapi

namespace {

at::Tensor quantized(const at::Tensor& values, const at::Tensor& scale, const at::Tensor& offset) {
  at::Tensor result = at::div(values, to_float(scale)).round_();
  if (offset.numel() > 0) result = at::add(result, to_float(offset));
  return to_int8(result);
}

at::Tensor normalized(const at::Tensor& x, const at::Tensor& gamma, double epsilon) {
  return paged::normalized(to_float(x), gamma, epsilon);
}

// Scaled first, and rounded with the offset in it.
at::Tensor normalized_quantized(const at::Tensor& x, const at::Tensor& gamma, const at::Tensor& beta,
                                const at::Tensor& scale, const at::Tensor& offset, double epsilon) {
  at::Tensor result = normalized(x, gamma, epsilon);
  if (beta.numel() > 0) result.add_(to_float(beta));
  return to_int8(result.div_(to_float(scale)).add_(to_float(offset)));
}

}  // namespace

ATB_FUNCTION(ElewiseOperation, (In, x)(In, scale)(In, offset)(Out, y), assign(y, quantized(x, scale, offset)))
ATB_FUNCTION(RmsNormOperation, (In, x)(In, gamma)(Double, epsilon)(Out, y), assign(y, normalized(x, gamma, epsilon)))
ATB_FUNCTION(RmsNormQuantOperation, (In, x)(In, gamma)(In, beta)(In, scale)(In, offset)(Double, epsilon)(Out, y),
             assign(y, normalized_quantized(x, gamma, beta, scale, offset, epsilon)))

namespace {

// Dimensions of `tensor` are the last ones of x, or 1.
void require_spreads(const aclTensor& tensor, const char* name, const aclTensor& x) {
  const Dims &sizes = tensor.sizes, &target = x.sizes;
  bool spreads = sizes.size() <= target.size();
  for (size_t i = 0; spreads && i < sizes.size(); ++i) {
    const int64_t size = sizes[sizes.size() - 1 - i];
    spreads = size == 1 || size == target[target.size() - 1 - i];
  }
  require(spreads || tensor.numel() == 0, atb::ERROR_INVALID_TENSOR_DIM, "parameter '", name, "' has shape ",
          to_string(sizes), "; it must be as the last dimensions of 'x', ", to_string(target), ", or 1");
}

void check_quantized(const aclTensor& x, const aclTensor& scale, const aclTensor& offset, const aclTensor& y) {
  require_dtype(x, "x", {ACL_FLOAT16, ACL_BF16});
  require_dtype(scale, "scale", {x.dtype});
  require_dtype(offset, "offset", {ACL_INT8});
  require_spreads(scale, "scale", x);
  require_spreads(offset, "offset", x);
  require_sizes(y, "y", x.sizes, "as 'x'");
  require_dtype(y, "y", {ACL_INT8});
}

aclnnStatus prepare_elewise(const atb::VariantPack& variants, uint64_t* size, aclOpExecutor** executor) {
  Pack pack(variants, 3, 1);
  const aclTensor &x = pack.in(0, "x"), &scale = pack.in(1, "scale"), &offset = pack.in(2, "offset");
  aclTensor& y = pack.out(0, "y");
  check_quantized(x, scale, offset, y);
  return operations::ElewiseOperation::prepare(&x, &scale, &offset, &y, size, executor);
}

Form form_of_elewise(const atb::infer::ElewiseParam& param) {
  require_no_reserved(param);
  require_param(param.elewiseType == atb::infer::ElewiseParam::ELEWISE_QUANT_PER_CHANNEL, "elewiseType",
                static_cast<int>(param.elewiseType),
                "17 (ELEWISE_QUANT_PER_CHANNEL); the other types are not available on the twin");
  require_no_reserved(param.quantParam);
  require_param(param.outTensorType == ACL_DT_UNDEFINED || param.outTensorType == ACL_INT8, "outTensorType",
                static_cast<int>(param.outTensorType), "-1 (ACL_DT_UNDEFINED), 2 (ACL_INT8)");
  Form form{"ElewiseOperation", 3, 1, prepare_elewise, nullptr};
  form.infer = [](const auto& inputs, auto& outputs) {
    outputs.data()[0] = inputs[0];
    outputs.data()[0].dtype = ACL_INT8;
  };
  return form;
}

void check_gamma(const aclTensor& tensor, const char* name, const aclTensor& x) {
  require_dtype(tensor, name, {x.dtype});
  require(tensor.numel() == x.sizes[x.sizes.size() - 1], atb::ERROR_INVALID_TENSOR_DIM, "parameter '", name,
          "' has shape ", to_string(tensor.sizes), "; it must have an element for each of the last dimension of 'x', ",
          to_string(x.sizes));
  require_spreads(tensor, name, x);
}

aclnnStatus prepare_norm(const atb::infer::RmsNormParam& param, const atb::VariantPack& variants, uint64_t* size,
                         aclOpExecutor** executor) {
  const bool is_quantized = param.normParam.quantType == atb::infer::QUANT_INT8;
  Pack pack(variants, is_quantized ? 5 : 2, 1);
  const aclTensor &x = pack.in(0, "x"), &gamma = pack.in(1, "gamma");
  aclTensor& y = pack.out(0, "y");
  require_dtype(x, "x", {ACL_FLOAT16, ACL_BF16});
  require_rank(x, "x", {1, 2, 3, 4, 5, 6, 7, 8});
  check_gamma(gamma, "gamma", x);
  if (!is_quantized) {
    require_sizes(y, "y", x.sizes, "as 'x'");
    require_dtype(y, "y", {x.dtype});
    return operations::RmsNormOperation::prepare(&x, &gamma, param.normParam.epsilon, &y, size, executor);
  }
  const aclTensor &beta = pack.in(2, "beta"), &scale = pack.in(3, "scale"), &offset = pack.in(4, "offset");
  if (beta.numel() > 0) check_gamma(beta, "beta", x);
  check_quantized(x, scale, offset, y);
  for (const auto& [tensor, name] : {std::pair{&scale, "scale"}, std::pair{&offset, "offset"}}) {
    require(tensor->numel() == 1, atb::ERROR_INVALID_TENSOR_DIM, "parameter '", name, "' has shape ",
            to_string(tensor->sizes), "; it must have 1 element");
  }
  return operations::RmsNormQuantOperation::prepare(&x, &gamma, &beta, &scale, &offset, param.normParam.epsilon, &y,
                                                    size, executor);
}

Form form_of_norm(const atb::infer::RmsNormParam& param) {
  using Param = atb::infer::RmsNormParam;
  require_no_reserved(param);
  require_param(param.layerType == Param::RMS_NORM_NORM, "layerType", static_cast<int>(param.layerType),
                "1 (RMS_NORM_NORM); norms with a residual are not available on the twin");
  const Param::NormParam& norm = param.normParam;
  require_no_reserved(norm);
  const bool is_quantized = norm.quantType == atb::infer::QUANT_INT8;
  require_param(is_quantized || norm.quantType == atb::infer::QUANT_UNDEFINED, "normParam.quantType",
                static_cast<int>(norm.quantType), "0 (QUANT_UNDEFINED), 2 (QUANT_INT8)");
  require_param(norm.dynamicQuantType == 0, "normParam.dynamicQuantType", norm.dynamicQuantType,
                "0: scales that follow the values are not available on the twin");
  require_param(!norm.rstd && norm.precisionMode == 0 && norm.modelType == 0,
                "normParam.rstd, precisionMode, modelType",
                text(norm.rstd, ", ", norm.precisionMode, ", ", norm.modelType),
                "0, 0, 0: other norms are not available on the twin");
  Form form{"RmsNormOperation", is_quantized ? 5U : 2U, 1, nullptr, nullptr};
  form.prepare = [param](const atb::VariantPack& variants, uint64_t* size, aclOpExecutor** executor) {
    return prepare_norm(param, variants, size, executor);
  };
  form.infer = [is_quantized](const auto& inputs, auto& outputs) {
    outputs.data()[0] = inputs[0];
    if (is_quantized) outputs.data()[0].dtype = ACL_INT8;
  };
  return form;
}

}  // namespace

ATB_OPERATION(ElewiseParam, form_of_elewise)
ATB_OPERATION(RmsNormParam, form_of_norm)
