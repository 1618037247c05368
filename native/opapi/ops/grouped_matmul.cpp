// native/opapi/ops/grouped_matmul.cpp
// Products of groups of rows with one weight each, or of groups of columns with rows of one weight:
//   y_i = x_i weight_i + bias_i
// Half-precision factors are multiplied in float32, integers exactly; scales follow, and one rounding. What no group
// covers in the output stays as it was. The WeightNz sibling is for a weight stored in blocks, which no tensor is here.
#include "opapi/ops/grouped_matmul.h"

namespace {

using namespace opwright::opapi::grouped;  // NOLINT: tables only

using List = std::vector<at::Tensor>;

struct Operands {
  List &x, &weight, &bias, &scale, &offset, &antiquant_scale, &antiquant_offset, &per_token_scale, &out;
};

struct Options {
  int64_t group_type, act_type;  // group_type -1: none, 0: rows, 2: the common axis
};

bool is_absent(const List& list) {
  return list.empty() || (list.size() == 1 && (!list[0].defined() || list[0].numel() == 0));
}

// The entry of a list for one expert: lists are as long as that of the weights, or one tensor for all experts.
at::Tensor of_expert(const List& list, const Operands& operands, int64_t expert, const char* name) {
  if (is_absent(list)) return {};
  const at::Tensor& weight = operands.weight[0];
  if (operands.weight.size() == 1 && list.size() == 1) {
    const bool stacked = weight.dim() == 3 && list[0].dim() > 0 && list[0].size(0) == weight.size(0);
    return stacked ? list[0].select(0, expert) : list[0];
  }
  require(list.size() == operands.weight.size(), ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has ", list.size(),
          " tensors; it must have as many as weight, ", operands.weight.size());
  return list[static_cast<size_t>(expert)];
}

at::Tensor weight_of(const Operands& operands, int64_t expert) {
  const List& weight = operands.weight;
  const bool stacked = weight.size() == 1 && weight[0].dim() == 3;
  const int64_t count = stacked ? weight[0].size(0) : static_cast<int64_t>(weight.size());
  require(expert >= 0 && expert < count, ACLNN_ERR_PARAM_INVALID, "there are ", count, " weights, but group ", expert,
          " needs one more");
  return stacked ? weight[0].select(0, expert) : weight[static_cast<size_t>(expert)];
}

// A packed weight has one of its axes eight times as long.
at::Tensor unpacked_weight(const at::Tensor& weight, int64_t rows) {
  if (weight.scalar_type() != at::kInt) return weight;
  return weight.size(0) * 8 == rows ? unpack_int4(weight.t()).t() : unpack_int4(weight);
}

at::Tensor column(const at::Tensor& per_token_scale) { return per_token_scale.to(at::kFloat).reshape({-1, 1}); }

// Plain factors, or a quantized weight, which is brought back to the dtype of x first.
at::Tensor multiply_floats(const Product& product) {
  const at::ScalarType dtype = product.x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor weight = unpacked_weight(product.weight, product.x.size(1));
  require(weight.is_floating_point() || product.antiquant_scale.defined(), ACLNN_ERR_PARAM_INVALID,
          "parameter 'antiquantScale' is missing: x is ", product.x.scalar_type(), ", but weight is ",
          product.weight.scalar_type());
  if (product.antiquant_scale.defined()) {
    // The device adds and multiplies in float16 for such factors, in float32 for bfloat16.
    const at::ScalarType inner = product.x.scalar_type() == at::kHalf ? at::kHalf : dtype;
    weight = weight.to(inner);
    if (product.antiquant_offset.defined()) weight = weight + product.antiquant_offset.to(inner);
    weight = scaled_blocks(weight, product.antiquant_scale.to(inner), "antiquantScale").to(product.x.scalar_type());
  }
  at::Tensor result = at::mm(product.x.to(dtype), weight.to(dtype));
  if (product.bias.defined()) result.add_(product.bias);
  return result;
}

at::Tensor multiply_int8(const Product& product, bool keep_integers) {
  at::Tensor result = integer_product(product.x, product.weight);
  const bool integer_bias = product.bias.defined() && product.bias.scalar_type() == at::kInt;
  if (integer_bias) result.add_(product.bias);
  if (keep_integers) return result;
  require(product.scale.defined(), ACLNN_ERR_PARAM_INVALID,
          "parameter 'scale' is missing: int8 factors without scales give int32");
  result = result.to(at::kFloat).mul_(scale_of(product.scale));
  if (product.per_token_scale.defined()) result.mul_(column(product.per_token_scale));
  if (product.bias.defined() && !integer_bias) result.add_(product.bias);
  if (product.offset.defined()) result.add_(product.offset);
  return result;
}

// The 4-bit weight of int8 rows: the device splits x into two 4-bit numbers, and the bias makes up for the 8 that it
// takes from the lower one. An offset is what is added to each weight, times its scale.
at::Tensor multiply_int4(const Product& product) {
  require(product.scale.defined(), ACLNN_ERR_PARAM_INVALID, "parameter 'scale' is missing: a 4-bit weight needs it");
  const bool wide = product.x.scalar_type() == at::kChar;
  require(!wide || product.bias.defined(), ACLNN_ERR_PARAM_INVALID,
          "parameter 'bias' is missing: int8 rows and a 4-bit weight need 8 * weight * scale, summed over the rows");
  const at::Tensor x = (wide ? product.x : unpack_int4(product.x)).to(at::kDouble);
  const at::Tensor weight = unpacked_weight(product.weight, x.size(1)).to(at::kDouble);
  const at::Tensor scaled = scaled_blocks(weight, scale_of(product.scale).to(at::kDouble), "scale");
  at::Tensor result = at::mm(wide ? x - 8 : x, scaled);
  if (wide) result.add_(product.bias);
  if (product.offset.defined()) {
    result.add_(at::mm(x, scaled_blocks(at::ones_like(weight), product.offset.to(at::kDouble), "offset")));
  }
  if (product.per_token_scale.defined()) result.mul_(column(product.per_token_scale));
  return result.to(at::kFloat);
}

bool is_float8(at::ScalarType dtype) { return dtype == at::kFloat8_e4m3fn || dtype == at::kFloat8_e5m2; }

at::Tensor multiply_float8(const Product& product) {
  require(product.scale.defined() && product.scale.scalar_type() != at::kFloat8_e8m0fnu, ACLNN_ERR_PARAM_INVALID,
          "8-bit floats need parameter 'scale' of each column in float32; scales of blocks (microscaling) are not "
          "available");
  at::Tensor result = at::mm(product.x.to(at::kFloat), product.weight.to(at::kFloat)).mul_(product.scale);
  if (product.per_token_scale.defined()) result.mul_(column(product.per_token_scale));
  if (product.bias.defined()) result.add_(product.bias);
  return result;
}

at::Tensor activate(const at::Tensor& values, int64_t type) {
  switch (type) {
    case 0:
      return values;
    case 1:
      return at::relu(values);
    case 2:
      return at::gelu(values, "tanh");
    case 4:
      return values * at::sigmoid(values * 1.702);  // fast GELU
    case 5:
      return at::silu(values);
    default:
      fail(ACLNN_ERR_PARAM_INVALID, "parameter 'actType' is ", type,
           "; allowed: 0 (none), 1 (relu), 2 (gelu tanh), 4 (fast gelu), 5 (silu)");
  }
}

}  // namespace

at::Tensor opwright::opapi::grouped::multiply(const Product& product, at::ScalarType out) {
  require(product.x.dim() == 2 && product.weight.dim() == 2, ACLNN_ERR_PARAM_INVALID, "factors of shape ",
          product.x.sizes(), " and ", product.weight.sizes(), "; a group is a product of two matrices");
  const at::ScalarType x = product.x.scalar_type(), weight = product.weight.scalar_type();
  const bool plain = x == at::kFloat || x == at::kHalf || x == at::kBFloat16 || x == at::kDouble;
  if (plain && (weight == x || weight == at::kChar || weight == at::kInt)) return multiply_floats(product);
  if (x == at::kChar && weight == at::kChar) return multiply_int8(product, out == at::kInt);
  if ((x == at::kChar || x == at::kInt) && weight == at::kInt) return multiply_int4(product);
  if (is_float8(x) && is_float8(weight)) return multiply_float8(product);
  fail(
      ACLNN_ERR_PARAM_INVALID, "x is ", x, " and weight ", weight,
      "; allowed: both float32, float16 or bfloat16; a half type with int8 or int32 (4-bit numbers); int8 with int8 or "
      "int32; int32 with int32; 8-bit floats");
}

namespace {

void store(at::Tensor& out, const Product& product, int64_t act_type) {
  at::Tensor values = activate(multiply(product, out.scalar_type()), act_type);
  if (out.scalar_type() == at::kChar) {
    const bool has_offset = product.scale.defined() && is_packed_scale(product.scale);
    values = to_int8(has_offset ? values.round() + offset_of(product.scale) : values);
  }
  require(out.sizes() == values.sizes(), ACLNN_ERR_PARAM_INVALID, "the output of a group has shape ", out.sizes(),
          ", but the product has ", values.sizes());
  out.copy_(values);
}

Product product_of(const Operands& operands, const at::Tensor& x, const at::Tensor& weight, int64_t expert) {
  return {x,
          weight,
          of_expert(operands.bias, operands, expert, "bias"),
          of_expert(operands.scale, operands, expert, "scale"),
          of_expert(operands.offset, operands, expert, "offset"),
          of_expert(operands.antiquant_scale, operands, expert, "antiquantScale"),
          of_expert(operands.antiquant_offset, operands, expert, "antiquantOffset"),
          {}};
}

// Each row of x has one weight.
void multiply_rows(const Operands& operands, const Options& options, const std::vector<Group>& groups) {
  for (size_t i = 0; i < groups.size(); ++i) {
    const Group& group = groups[i];
    at::Tensor x = operands.x.size() == 1 ? operands.x[0] : operands.x[i];
    at::Tensor out = operands.out.size() == 1 ? operands.out[0] : operands.out[i];
    if (operands.x.size() == 1 && x.dim() == 2) x = x.narrow(0, group.start, group.size);
    if (operands.out.size() == 1 && out.dim() == 2) out = out.narrow(0, group.start, group.size);
    if (out.numel() == 0) continue;
    Product product = product_of(operands, x.flatten(0, -2), weight_of(operands, group.expert), group.expert);
    if (!is_absent(operands.per_token_scale)) {
      product.per_token_scale = operands.per_token_scale[0].narrow(0, group.start, group.size);
    }
    at::Tensor rows = out.view({-1, out.size(-1)});
    store(rows, product, options.act_type);
  }
}

// Columns of x meet rows of the weight.
void multiply_columns(const Operands& operands, const Options& options, const std::vector<Group>& groups) {
  require(operands.x.size() == 1 && is_absent(operands.bias) && is_absent(operands.per_token_scale),
          ACLNN_ERR_PARAM_INVALID,
          "groupType 2 (the common axis) allows one x, and neither parameter 'bias' nor 'perTokenScale'; there are ",
          operands.x.size(), " x");
  const bool one_weight = operands.weight.size() == 1, one_out = operands.out.size() == 1;
  for (const Group& group : groups) {
    const auto expert = static_cast<size_t>(group.expert);
    const at::Tensor weight =
        one_weight ? operands.weight[0].narrow(0, group.start, group.size) : operands.weight[expert];
    at::Tensor out = one_out ? operands.out[0].select(0, group.expert) : operands.out[expert];
    store(out, product_of(operands, operands.x[0].narrow(1, group.start, group.size), weight, group.expert),
          options.act_type);
  }
}

// Without a group list the tensors themselves are the groups: the rows of each x, or of each weight.
std::vector<Group> groups_of_tensors(const Operands& operands, bool columns) {
  std::vector<Group> groups;
  int64_t start = 0;
  for (const at::Tensor& tensor : columns ? operands.weight : operands.x) {
    const int64_t size = tensor.dim() > 2 && !columns ? tensor.numel() / tensor.size(-1) : tensor.size(0);
    groups.push_back({static_cast<int64_t>(groups.size()), start, size});
    start += size;
  }
  return groups;
}

void grouped_matmul(const Operands& operands, const Options& options, const OptionalTensor& list, int64_t list_type) {
  require(!operands.x.empty() && !operands.weight.empty() && !operands.out.empty(), ACLNN_ERR_PARAM_INVALID,
          "x, weight and out must not be empty lists");
  require(options.group_type == -1 || options.group_type == 0 || options.group_type == 2, ACLNN_ERR_PARAM_INVALID,
          "parameter 'groupType' is ", options.group_type, "; allowed: -1 (none), 0 (rows), 2 (the common axis)");
  const bool columns = options.group_type == 2;
  std::vector<Group> groups = groups_of_tensors(operands, columns);
  if (list && list->numel() > 0) {
    int64_t limit = 0;
    for (const at::Tensor& x : operands.x) limit += x.size(columns ? 1 : 0);
    const std::vector<Group> given = groups_of(*list, list_type, limit);
    for (size_t i = 0; i < operands.x.size() && operands.x.size() > 1; ++i) {
      require(given.size() == groups.size() && given[i].size == groups[i].size, ACLNN_ERR_PARAM_INVALID,
              "parameter 'groupList' does not agree with the rows of the tensors of x at group ", i);
    }
    groups = given;
  }
  require(operands.out.size() == 1 || operands.out.size() == groups.size(), ACLNN_ERR_PARAM_INVALID, "there are ",
          operands.out.size(), " outputs for ", groups.size(), " groups; allowed: one for all, or one each");
  columns ? multiply_columns(operands, options, groups) : multiply_rows(operands, options, groups);
}

// The first version: the ends of the groups are on the host.
void grouped_matmul(const Operands& operands, at::OptionalIntArrayRef ends) {
  OptionalTensor list;
  if (ends && !ends->empty()) list = at::tensor(*ends, at::kLong);
  grouped_matmul(operands, {list || operands.out.size() == 1 ? 0 : -1, 0}, list, 0);
}

// Products are added to what `out` holds: [experts, rows, columns], or the same rows one after the other.
void add_grouped_matmul(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& list, int64_t list_type,
                        bool transpose_x, bool transpose_weight, int64_t group_type, at::Tensor& out) {
  require(transpose_x && !transpose_weight && group_type == 2, ACLNN_ERR_PARAM_INVALID,
          "transposeX, transposeWeight and groupType are ", transpose_x, ", ", transpose_weight, ", ", group_type,
          "; allowed: true, false, 2");
  require(x.dim() == 2 && weight.dim() == 2, ACLNN_ERR_PARAM_INVALID, "x and weight must be matrices, but have shapes ",
          x.sizes(), " and ", weight.sizes());
  at::Tensor experts = out.view({-1, x.size(1), weight.size(1)});
  for (const Group& group : groups_of(list, list_type, x.size(0))) {
    const at::Tensor rows = x.narrow(0, group.start, group.size).to(at::kFloat);
    experts.select(0, group.expert).add_(at::mm(rows.t(), weight.narrow(0, group.start, group.size).to(at::kFloat)));
  }
}

List no_list;

}  // namespace

#define FACTORS (TensorList, x)(TensorList, weight)
#define QUANTIZATION                                                                          \
  (OptTensorList, biasOptional)(OptTensorList, scaleOptional)(OptTensorList, offsetOptional)( \
      OptTensorList, antiquantScaleOptional)(OptTensorList, antiquantOffsetOptional)
#define GROUPS                                                                                                    \
  (OptTensorList, perTokenScaleOptional)(OptIndex, groupListOptional)(OptTensorList, activationInputOptional)(    \
      OptTensorList, activationQuantScaleOptional)(OptTensorList, activationQuantOffsetOptional)(Int, splitItem)( \
      Int, groupType)(Int, groupListType)(Int, actType)
#define OUTPUTS (OutList, out)(OptRefList, activationFeatureOutOptional)(OptRefList, dynQuantScaleOutOptional)
#define OPERANDS(PER_TOKEN_SCALE, OUT) \
  {x,                                  \
   weight,                             \
   biasOptional,                       \
   scaleOptional,                      \
   offsetOptional,                     \
   antiquantScaleOptional,             \
   antiquantOffsetOptional,            \
   PER_TOKEN_SCALE,                    \
   OUT}
// What the device does not do either.
#define NO_ACTIVATION_INPUT                                                                                            \
  require(is_absent(activationInputOptional) && is_absent(activationQuantScaleOptional) &&                             \
              is_absent(activationQuantOffsetOptional) && is_absent(activationFeatureOutOptional) &&                   \
              is_absent(dynQuantScaleOutOptional),                                                                     \
          ACLNN_ERR_PARAM_INVALID,                                                                                     \
          "parameters 'activationInput', 'activationQuantScale', 'activationQuantOffset', 'activationFeatureOut' and " \
          "'dynQuantScaleOut' must be null")
#define MULTIPLY       \
  NO_ACTIVATION_INPUT; \
  grouped_matmul(OPERANDS(perTokenScaleOptional, out), {groupType, actType}, groupListOptional, groupListType)

ACLNN(GroupedMatmul, FACTORS QUANTIZATION(OptInts, groupListOptional)(Int, splitItem)(OutList, y),
      grouped_matmul(OPERANDS(no_list, y), groupListOptional))
ACLNN(GroupedMatmulV4, FACTORS QUANTIZATION GROUPS OUTPUTS, MULTIPLY)
ACLNN(GroupedMatmulV5, FACTORS QUANTIZATION GROUPS(OptInts, tuningConfigOptional) OUTPUTS, MULTIPLY)
ACLNN(GroupedMatmulWeightNz, FACTORS QUANTIZATION GROUPS(OptInts, tuningConfigOptional)(Int, quantGroupSize) OUTPUTS,
      MULTIPLY)

#define ADDED (In, x)(In, weight)(Index, groupList)(Ref, yRef)(Bool, transposeX)(Bool, transposeWeight)(Int, groupType)
ACLNN(GroupedMatmulAdd, ADDED,
      add_grouped_matmul(x, weight, groupList, 0, transposeX, transposeWeight, groupType, yRef))
ACLNN(GroupedMatmulAddV2, ADDED(Int, groupListType),
      add_grouped_matmul(x, weight, groupList, groupListType, transposeX, transposeWeight, groupType, yRef))
