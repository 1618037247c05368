// native/atb/ops/products.cpp
// Linear: a product of matrices, with a bias or added to what the output holds (float32).
#include "atb/function.h"
#include "atb/params.h"

using namespace opwright::atb_library;  // NOLINT: as in tables of libopapi

namespace {

using Param = atb::infer::LinearParam;

void multiply(at::Tensor& out, const at::Tensor& x, const at::Tensor& weight, const OptionalTensor& bias,
              const OptionalTensor& sum, bool is_x_transposed, bool is_weight_transposed) {
  const at::Tensor left = to_float(is_x_transposed ? x.transpose(-2, -1) : x);
  const at::Tensor right = to_float(is_weight_transposed ? weight.transpose(-2, -1) : weight);
  at::Tensor product = at::matmul(left, right);
  if (bias) product.add_(to_float(*bias));
  if (sum) product.add_(*sum);
  assign(out, product);
}

}  // namespace

ATB_FUNCTION(LinearOperation,
             (In, x)(In, weight)(OptIn, bias)(OptIn, accum)(Bool, transposeA)(Bool, transposeB)(Out, out),
             multiply(out, x, weight, bias, accum, transposeA, transposeB))

namespace {

aclnnStatus prepare(const Param& param, const Form& form, const atb::VariantPack& variants, uint64_t* workspace_size,
                    aclOpExecutor** executor) {
  Pack pack(variants, form.inputs, form.outputs);
  const aclTensor &x = pack.in(0, "x"), &weight = pack.in(1, "weight");
  const aclTensor* const bias = param.hasBias ? &pack.in(2, "bias") : nullptr;
  const aclTensor* const accum = param.enAccum ? &pack.in(2, "accum") : nullptr;
  aclTensor& out = pack.out(0, "out");
  require_rank(x, "x", {2});
  require_rank(weight, "weight", {2});
  require_dtype(x, "x", {ACL_FLOAT16, ACL_BF16});
  require_dtype(weight, "weight", {x.dtype});
  const size_t rows = param.transposeA ? 1 : 0, columns = param.transposeB ? 0 : 1;
  require_size(weight, "weight", 1 - columns, x.sizes[1 - rows], "the size that the two matrices share");
  const int64_t sizes[] = {x.sizes[rows], weight.sizes[columns]};
  require_sizes(out, "out", {sizes, 2}, "rows of 'x' and columns of 'weight'");
  require_dtype(out, "out", {param.enAccum ? ACL_FLOAT : x.dtype});
  if (accum != nullptr) {
    require_sizes(*accum, "accum", out.sizes, "as the output");
    require_dtype(*accum, "accum", {ACL_FLOAT});
    require(accum->data == out.data, atb::ERROR_INVALID_TENSOR_ADDR,
            "parameter 'accum' is written in place, so input and output must be the same tensor");
  }
  if (bias != nullptr) {
    require_rank(*bias, "bias", {1, 2});
    require(bias->sizes.product() == sizes[1], atb::ERROR_INVALID_TENSOR_DIM, "parameter 'bias' has shape ",
            to_string(bias->sizes), "; it must have ", sizes[1], " elements, as 'weight' has columns");
  }
  return operations::LinearOperation::prepare(&x, &weight, bias, accum, param.transposeA, param.transposeB, &out,
                                              workspace_size, executor);
}

Form form_of(const Param& param) {
  require_no_reserved(param);
  require_param(param.outDataType == ACL_DT_UNDEFINED, "outDataType", static_cast<int>(param.outDataType),
                "-1 (ACL_DT_UNDEFINED): quantised products are not available on the twin");
  require_param(!param.enAccum || !param.hasBias, "hasBias", param.hasBias, "false where enAccum is true");
  Form form{"LinearOperation", param.hasBias || param.enAccum ? 3U : 2U, 1, nullptr, nullptr};
  form.infer = [param](const auto& inputs, auto& outputs) {
    atb::TensorDesc& out = outputs.data()[0];
    out = inputs[0];
    out.shape.dims[0] = inputs[0].shape.dims[param.transposeA ? 1 : 0];
    out.shape.dims[1] = inputs[1].shape.dims[param.transposeB ? 0 : 1];
    if (param.enAccum) out.dtype = ACL_FLOAT;
  };
  form.prepare = [param, counts = form](const atb::VariantPack& variants, uint64_t* size, aclOpExecutor** executor) {
    return prepare(param, counts, variants, size, executor);
  };
  return form;
}

}  // namespace

ATB_OPERATION(LinearParam, form_of)
