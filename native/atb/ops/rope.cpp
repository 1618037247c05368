// native/atb/ops/rope.cpp
// Rope: y = x * cos + turned(x) * sin for query and key. A head is as wide as cos; it falls into rotaryCoeff / 2 parts,
// and the halves of a part turn by 90 degrees. In float32, rounded once.
#include "atb/function.h"
#include "atb/params.h"

using namespace opwright::atb_library;  // NOLINT: as in tables of libopapi

namespace {

using Param = atb::infer::RopeParam;

at::Tensor turned(const at::Tensor& heads, int64_t parts) {
  const int64_t width = heads.size(-1);
  const at::Tensor halves = heads.unflatten(-1, {parts, 2, width / parts / 2});
  return at::stack({halves.select(-2, 1).neg(), halves.select(-2, 0)}, -2).flatten(-3);
}

void rotate(at::Tensor& out, const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, int64_t coefficient) {
  const int64_t width = x.dim() == 2 ? x.size(1) : x.size(1) * x.size(2);
  const at::Tensor heads = to_float(x).reshape({x.size(0), width / cos.size(1), cos.size(1)});
  const at::Tensor result = at::mul(heads, to_float(cos).unsqueeze(1));
  result.addcmul_(turned(heads, coefficient / 2), to_float(sin).unsqueeze(1));
  assign(out, result.view(out.sizes()));
}

}  // namespace

// The lengths of sequences say how many tokens there are, which the shapes say too.
ATB_FUNCTION(RopeOperation,
             (In, query)(In, key)(In, cos)(In, sin)(In, seqLen)(Int, rotaryCoeff)(Out, ropeQuery)(Out, ropeKey),
             rotate(ropeQuery, query, cos, sin, rotaryCoeff);
             rotate(ropeKey, key, cos, sin, rotaryCoeff))

namespace {

void check_rotated(const aclTensor& x, const char* name, const aclTensor& cos, const aclTensor& out) {
  require_rank(x, name, {2, 3});
  require_dtype(x, name, {ACL_FLOAT16, ACL_BF16, ACL_FLOAT});
  require_size(x, name, 0, cos.sizes[0], "a token for each row of 'cos'");
  const int64_t width = x.sizes.size() == 2 ? x.sizes[1] : x.sizes[1] * x.sizes[2];
  require(width % cos.sizes[1] == 0, atb::ERROR_INVALID_TENSOR_DIM, "parameter '", name, "' has shape ",
          to_string(x.sizes), ", ", width, " values for each token; they must be heads of ", cos.sizes[1],
          " values, as wide as 'cos'");
  require_sizes(out, name, x.sizes, "the output as the input");
  require_dtype(out, name, {x.dtype});
}

aclnnStatus prepare(const Param& param, const Form& form, const atb::VariantPack& variants, uint64_t* workspace_size,
                    aclOpExecutor** executor) {
  Pack pack(variants, form.inputs, form.outputs);
  const aclTensor &query = pack.in(0, "query"), &key = pack.in(1, "key"), &cos = pack.in(2, "cos");
  const aclTensor &sin = pack.in(3, "sin"), &lengths = pack.in(4, "seqLen");
  aclTensor &rope_query = pack.out(0, "ropeQuery"), &rope_key = pack.out(1, "ropeKey");
  require_rank(cos, "cos", {2});
  require_dtype(cos, "cos", {ACL_FLOAT16, ACL_BF16, ACL_FLOAT});
  require_sizes(sin, "sin", cos.sizes, "as 'cos'");
  require_dtype(sin, "sin", {cos.dtype});
  require_dtype(lengths, "seqLen", {ACL_INT32});
  require(cos.sizes[1] > 0 && cos.sizes[1] % param.rotaryCoeff == 0, atb::ERROR_INVALID_TENSOR_DIM,
          "parameter 'cos' has shape ", to_string(cos.sizes), "; rotaryCoeff, which is ", param.rotaryCoeff,
          ", must divide its second dimension");
  check_rotated(query, "query", cos, rope_query);
  check_rotated(key, "key", cos, rope_key);
  return operations::RopeOperation::prepare(&query, &key, &cos, &sin, &lengths, param.rotaryCoeff, &rope_query,
                                            &rope_key, workspace_size, executor);
}

Form form_of(const Param& param) {
  require_no_reserved(param);
  require_param(param.rotaryCoeff >= 2 && param.rotaryCoeff % 2 == 0, "rotaryCoeff", param.rotaryCoeff,
                "2 (halves), 4 (quarters), or the width of a head (neighbours)");
  require_param(param.cosFormat == 0, "cosFormat", param.cosFormat, "0: forms for training are not available");
  Form form{"RopeOperation", 5, 2, nullptr, nullptr};
  form.infer = [](const auto& inputs, auto& outputs) {
    for (const size_t i : {0, 1}) outputs.data()[i] = inputs[i];
  };
  form.prepare = [param, counts = form](const atb::VariantPack& variants, uint64_t* size, aclOpExecutor** executor) {
    return prepare(param, counts, variants, size, executor);
  };
  return form;
}

}  // namespace

ATB_OPERATION(RopeParam, form_of)
