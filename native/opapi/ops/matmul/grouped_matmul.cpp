// native/opapi/ops/matmul/grouped_matmul.cpp
// Products of groups of rows with one weight each, or of groups of columns with rows of one weight:
//   y_i = x_i weight_i + bias_i
// Half-precision factors are multiplied in float32, integers exactly; scales follow, and one rounding. What no group
// covers in the output stays as it was. The WeightNz sibling takes a weight that is stored in blocks; it arrives as the
// matrices that it is.
#include "opapi/ops/matmul/grouped_matmul.h"

#include "opapi/ops/common/activations.h"

namespace {

using namespace opwright::opapi::grouped;  // NOLINT: tables only

using List = std::vector<at::Tensor>;

struct GroupOperands {
  const List &x, &weight, &bias, &scale, &offset, &antiquant_scale, &antiquant_offset, &per_token_scale;
  List& out;
};

struct GroupOptions {
  int64_t split_item = 0;                // 0, 1: one output for each group; 2, 3: one for all
  int64_t group_type = 0, act_type = 0;  // group_type -1: none, 0: rows, 2: the common axis
};

bool is_absent(const List& list) {
  return list.empty() || (list.size() == 1 && (!list[0].defined() || list[0].numel() == 0));
}

// The entry of a list for one expert: lists are as long as that of the weights, or one tensor for all experts.
at::Tensor of_expert(const List& list, const GroupOperands& operands, int64_t expert, const char* name) {
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

at::Tensor weight_of(const GroupOperands& operands, const RowGroup& group) {
  const List& weight = operands.weight;
  const bool stacked = weight.size() == 1 && weight[0].dim() == 3;
  const int64_t count = stacked ? weight[0].size(0) : static_cast<int64_t>(weight.size());
  check_expert(group, count);
  return stacked ? weight[0].select(0, group.expert) : weight[static_cast<size_t>(group.expert)];
}

at::Tensor column(const at::Tensor& per_token_scale) { return per_token_scale.to(at::kFloat).reshape({-1, 1}); }

// Plain factors, or a quantized weight, which is brought back to the dtype of x first.
at::Tensor multiply_floats(const Product& product) {
  const at::ScalarType dtype = product.x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const bool packed = product.weight.scalar_type() == at::kInt;
  at::Tensor weight = packed ? unpacked_weight(product.weight, product.x.size(1)) : product.weight;
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
      return fast_gelu(values);
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

Product product_of(const GroupOperands& operands, const at::Tensor& x, const at::Tensor& weight, int64_t expert) {
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
void multiply_rows(const GroupOperands& operands, const GroupOptions& options, const std::vector<RowGroup>& groups) {
  require(is_absent(operands.per_token_scale) || (operands.x.size() == 1 && operands.per_token_scale.size() == 1),
          ACLNN_ERR_PARAM_INVALID, "parameter 'perTokenScale' has ", operands.per_token_scale.size(), " tensors for ",
          operands.x.size(), " x; allowed: 1 with one x");
  for (size_t i = 0; i < groups.size(); ++i) {
    const RowGroup& group = groups[i];
    at::Tensor x = operands.x.size() == 1 ? operands.x[0] : operands.x[i];
    at::Tensor out = operands.out.size() == 1 ? operands.out[0] : operands.out[i];
    if (operands.x.size() == 1 && x.dim() == 2) x = x.narrow(0, group.begin, group.rows());
    if (operands.out.size() == 1 && out.dim() == 2) out = out.narrow(0, group.begin, group.rows());
    if (out.numel() == 0) continue;
    Product product = product_of(operands, x.flatten(0, -2), weight_of(operands, group), group.expert);
    if (!is_absent(operands.per_token_scale)) {
      product.per_token_scale = operands.per_token_scale[0].narrow(0, group.begin, group.rows());
    }
    at::Tensor rows = out.view({-1, out.size(-1)});
    store(rows, product, options.act_type);
  }
}

// Columns of x meet rows of the weight.
void multiply_columns(const GroupOperands& operands, const GroupOptions& options, const std::vector<RowGroup>& groups) {
  require(operands.x.size() == 1 && is_absent(operands.bias) && is_absent(operands.per_token_scale),
          ACLNN_ERR_PARAM_INVALID,
          "groupType 2 (the common axis) allows one x, and neither parameter 'bias' nor 'perTokenScale'; there are ",
          operands.x.size(), " x");
  const bool one_weight = operands.weight.size() == 1;
  const bool one_out = operands.out.size() == 1 && operands.out[0].dim() == 3;
  for (const RowGroup& group : groups) {
    if (!one_weight) check_expert(group, static_cast<int64_t>(operands.weight.size()));
    check_expert(group, one_out ? operands.out[0].size(0) : static_cast<int64_t>(operands.out.size()));
    const auto expert = static_cast<size_t>(group.expert);
    const at::Tensor weight =
        one_weight ? operands.weight[0].narrow(0, group.begin, group.rows()) : operands.weight[expert];
    at::Tensor out = one_out ? operands.out[0].select(0, group.expert) : operands.out[expert];
    store(out, product_of(operands, operands.x[0].narrow(1, group.begin, group.rows()), weight, group.expert),
          options.act_type);
  }
}

// Without a group list the tensors themselves are the groups: the rows of each x, or of each weight.
std::vector<RowGroup> groups_of_tensors(const GroupOperands& operands, bool columns) {
  std::vector<RowGroup> groups;
  int64_t begin = 0;
  for (const at::Tensor& tensor : columns ? operands.weight : operands.x) {
    const int64_t rows = tensor.dim() > 2 && !columns
                             ? c10::multiply_integers(tensor.sizes().slice(0, tensor.dim() - 1))
                             : tensor.size(0);
    groups.push_back({begin, begin + rows, static_cast<int64_t>(groups.size())});
    begin += rows;
  }
  return groups;
}

void check_options(const GroupOperands& operands, const GroupOptions& options) {
  require(!operands.x.empty() && !operands.weight.empty() && !operands.out.empty(), ACLNN_ERR_PARAM_INVALID,
          "x, weight and out must not be empty lists");
  require(options.group_type == -1 || options.group_type == 0 || options.group_type == 2, ACLNN_ERR_PARAM_INVALID,
          "parameter 'groupType' is ", options.group_type, "; allowed: -1 (none), 0 (rows), 2 (the common axis)");
  require(options.split_item >= 0 && options.split_item <= 3, ACLNN_ERR_PARAM_INVALID, "parameter 'splitItem' is ",
          options.split_item, "; allowed: 0, 1 (an output for each group), 2, 3 (one for all)");
  const bool one_out = options.split_item >= 2;
  require(!one_out || (operands.out.size() == 1 && options.group_type != -1), ACLNN_ERR_PARAM_INVALID,
          "parameter 'splitItem' is ", options.split_item, " with ", operands.out.size(), " outputs and groupType ",
          options.group_type, "; allowed: one output, and groupType 0 or 2");
}

void grouped_matmul(const GroupOperands& operands, const GroupOptions& options, const OptionalTensor& list,
                    int64_t list_type) {
  check_options(operands, options);
  const bool columns = options.group_type == 2;
  std::vector<RowGroup> groups = groups_of_tensors(operands, columns);
  if (given(list)) {
    int64_t limit = 0;
    for (const at::Tensor& x : operands.x) limit += x.size(columns ? 1 : 0);
    const std::vector<RowGroup> listed =
        row_groups(*list, limit, group_list(list_type, GroupList::kPairs), "groupList");
    for (size_t i = 0; i < operands.x.size() && operands.x.size() > 1; ++i) {
      require(listed.size() == groups.size() && listed[i].rows() == groups[i].rows(), ACLNN_ERR_PARAM_INVALID,
              "parameter 'groupList' does not agree with the rows of the tensors of x at group ", i);
    }
    groups = listed;
  }
  const bool one_for_all = operands.out.size() == 1 && (options.split_item >= 2 || groups.size() == 1);
  require(one_for_all || operands.out.size() == groups.size(), ACLNN_ERR_PARAM_INVALID, "there are ",
          operands.out.size(), " outputs for ", groups.size(), " groups with splitItem ", options.split_item,
          "; allowed: one for all with splitItem 2 or 3, one each with 0 or 1");
  columns ? multiply_columns(operands, options, groups) : multiply_rows(operands, options, groups);
}

// The first version has no type of the groups.
void grouped_matmul(const GroupOperands& operands, int64_t split_item, at::OptionalIntArrayRef ends) {
  const OptionalTensor list = listed(ends);
  grouped_matmul(operands, {split_item, list || split_item >= 2 ? 0 : -1}, list, 0);
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
  for (const RowGroup& group : row_groups(list, x.size(0), group_list(list_type, GroupList::kPairs), "groupList")) {
    check_expert(group, experts.size(0));
    const at::Tensor rows = x.slice(0, group.begin, group.end).to(at::kFloat);
    experts.select(0, group.expert).add_(at::mm(rows.t(), weight.slice(0, group.begin, group.end).to(at::kFloat)));
  }
}

// A function of the fourth version or later, and what it has beside its operands.
struct Unavailable {
  const List &activation_input, &activation_scale, &activation_offset, &activation_out, &scale_out;
};

void grouped_matmul(const GroupOperands& operands, const GroupOptions& options, const OptionalTensor& list,
                    int64_t list_type, const Unavailable& unavailable) {
  require(is_absent(unavailable.activation_input) && is_absent(unavailable.activation_scale) &&
              is_absent(unavailable.activation_offset) && is_absent(unavailable.activation_out) &&
              is_absent(unavailable.scale_out),
          ACLNN_ERR_PARAM_INVALID,
          "parameters 'activationInput', 'activationQuantScale', 'activationQuantOffset', 'activationFeatureOut' and "
          "'dynQuantScaleOut' must be null: the device does not take them either");
  grouped_matmul(operands, options, list, list_type);
}

const List kNoList;

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
#define MULTIPLY                                                                                           \
  grouped_matmul(OPERANDS(perTokenScaleOptional, out), {splitItem, groupType, actType}, groupListOptional, \
                 groupListType,                                                                            \
                 {activationInputOptional, activationQuantScaleOptional, activationQuantOffsetOptional,    \
                  activationFeatureOutOptional, dynQuantScaleOutOptional})

ACLNN(GroupedMatmul, FACTORS QUANTIZATION(OptInts, groupListOptional)(Int, splitItem)(OutList, y),
      grouped_matmul(OPERANDS(kNoList, y), splitItem, groupListOptional))
ACLNN(GroupedMatmulV2, FACTORS QUANTIZATION(OptInts, groupListOptional)(Int, splitItem)(Int, groupType)(OutList, y),
      grouped_matmul(OPERANDS(kNoList, y), {splitItem, groupType}, listed(groupListOptional), 0))
ACLNN(GroupedMatmulV3, FACTORS QUANTIZATION(OptIndex, groupListOptional)(Int, splitItem)(Int, groupType)(OutList, y),
      grouped_matmul(OPERANDS(kNoList, y), {splitItem, groupType}, groupListOptional, 0))
ACLNN(GroupedMatmulV4, FACTORS QUANTIZATION GROUPS OUTPUTS, MULTIPLY)
ACLNN(GroupedMatmulV5, FACTORS QUANTIZATION GROUPS(OptInts, tuningConfigOptional) OUTPUTS, MULTIPLY)
// quantGroupSize says what the shape of the scales says too; CANN's own function ignores it (aclnn_grouped_matmul.cpp).
ACLNN(GroupedMatmulWeightNz, FACTORS QUANTIZATION GROUPS(OptInts, tuningConfigOptional)(Int, quantGroupSize) OUTPUTS,
      MULTIPLY)

#define ADDED (In, x)(In, weight)(Index, groupList)(Ref, yRef)(Bool, transposeX)(Bool, transposeWeight)(Int, groupType)
ACLNN(GroupedMatmulAdd, ADDED,
      add_grouped_matmul(x, weight, groupList, 0, transposeX, transposeWeight, groupType, yRef))
ACLNN(GroupedMatmulAddV2, ADDED(Int, groupListType),
      add_grouped_matmul(x, weight, groupList, groupListType, transposeX, transposeWeight, groupType, yRef))

#undef FACTORS
#undef QUANTIZATION
#undef GROUPS
#undef OUTPUTS
#undef OPERANDS
#undef MULTIPLY
#undef ADDED
