// native/opapi/ops/communication/fused_products.cpp
// Matrix products fused with a collective. A product is accumulated in float32 or wider and rounded once, to the dtype
// of the output, before ranks add it: that is what the product and the collective give one after the other.
#include "opapi/ops/common/refusal.h"
#include "opapi/ops/communication/ranks.h"
#include "opapi/ops/matmul/quant_matmul.h"

namespace {

constexpr const char* kOtherChip = "it is of Ascend950 alone";

// 4-bit numbers in int32 have other sizes than the matrix; the product itself checks those.
bool is_packed(const at::Tensor& weight) { return weight.scalar_type() == at::kInt; }

// `rows`: of the output.
void require_product(const QuantMatmul& call, at::IntArrayRef rows, const at::Tensor& out) {
  const int64_t k = call.x1.size(-1), inner = call.transpose2 ? -1 : -2, columns = call.transpose2 ? -2 : -1;
  require(call.x2.dim() == 2, ACLNN_ERR_PARAM_INVALID, "x2 has ", call.x2.dim(), " dimensions; allowed: 2");
  std::vector<int64_t> shape = rows.vec();
  shape.push_back(is_packed(call.x2) ? out.size(-1) : call.x2.size(columns));
  require(is_packed(call.x2) || call.x2.size(inner) == k, ACLNN_ERR_PARAM_INVALID, "x1 has ", k, " columns and x2 ",
          call.x2.size(inner), " rows");
  require(out.sizes() == at::IntArrayRef(shape), ACLNN_ERR_PARAM_INVALID, "the output has the shape ", out.sizes(),
          "; it must be ", at::IntArrayRef(shape));
}

void require_matrix(const at::Tensor& tensor, const char* name) {
  require(tensor.dim() == 2, ACLNN_ERR_PARAM_INVALID, name, " has ", tensor.dim(), " dimensions; allowed: 2");
}

int64_t parts(int64_t total, const RankGroup& ranks, const char* what) {
  const auto count = static_cast<int64_t>(ranks.size());
  require(total % count == 0, ACLNN_ERR_PARAM_INVALID, what, " is ", total, "; it must be a multiple of the ", count,
          " ranks");
  return total / count;
}

at::Tensor rounded_product(const QuantMatmul& call, const at::Tensor& out) {
  return quant_product(call, /*unscaled=*/false).to(out.scalar_type());
}

// Whether the caller wants what a function gives back beside its product.
bool is_wanted(const at::Tensor& tensor) { return tensor.defined() && tensor.numel() > 0; }

void require_absent(const at::Tensor& tensor, const char* name) {
  require(!is_wanted(tensor), ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' is given; allowed: null");
}

// The product of all ranks' rows, each rank's by its own scale.
at::Tensor multiply_gathered(const RankGroup& ranks, const QuantMatmul& call, const at::Tensor& rows,
                             const at::Tensor& out) {
  if (!given(call.x1_scale)) {
    QuantMatmul whole = call;
    whole.x1 = rows;
    return rounded_product(whole, out);
  }
  const at::Tensor scales = gather_rows(ranks, call.x1_scale->unsqueeze(0));
  std::vector<at::Tensor> products;
  for (int64_t rank = 0; rank < scales.size(0); ++rank) {
    QuantMatmul part = call;
    part.x1 = rows.narrow(0, rank * call.x1.size(0), call.x1.size(0));
    part.x1_scale = scales.select(0, rank);
    products.push_back(rounded_product(part, out));
  }
  return at::cat(products);
}

void all_gather_matmul(const QuantMatmul& call, const std::string& group, int64_t gather_index, at::Tensor& output,
                       at::Tensor& gathered) {
  require(gather_index == 0, ACLNN_ERR_PARAM_INVALID, "gatherIndex is ", gather_index, "; allowed: 0");
  communicate(group, [&](const RankGroup& ranks) {
    require_matrix(call.x1, "x1");
    const int64_t rows = call.x1.size(0) * static_cast<int64_t>(ranks.size());
    require_product(call, {rows}, output);
    if (is_wanted(gathered)) require_shape(gathered, {rows, call.x1.size(1)}, "gatherOut");
    const at::Tensor all = gather_rows(ranks, call.x1);
    if (is_wanted(gathered)) assign(gathered, all);
    assign(output, multiply_gathered(ranks, call, all, output));
  });
}

void matmul_reduce_scatter(const QuantMatmul& call, const std::string& group, at::Tensor& output) {
  communicate(group, [&](const RankGroup& ranks) {
    require_matrix(call.x1, "x1");
    require_product(call, {parts(call.x1.size(0), ranks, "the number of rows of x1")}, output);
    assign(output, sum_share_of_rows(ranks, rounded_product(call, output)));
  });
}

void require_addend(const OptionalTensor& addend, const at::Tensor& out) {
  require(!given(addend) || addend->sizes() == out.sizes(), ACLNN_ERR_PARAM_INVALID, "x3 has the shape ",
          addend ? addend->sizes() : at::IntArrayRef(), "; it must be that of the output, ", out.sizes());
}

// Adds x3 before the result is rounded.
at::Tensor with_addend(const at::Tensor& product, const OptionalTensor& addend) {
  return given(addend) ? product + addend->to(product.scalar_type()) : product;
}

// This rank's part of the sum.
at::Tensor part_of_sum(const QuantMatmul& call, const OptionalTensor& addend, const at::Tensor& output) {
  require_product(call, call.x1.sizes().slice(0, call.x1.dim() - 1), output);
  require_addend(addend, output);
  return with_addend(quant_product(call, /*unscaled=*/false), addend);
}

void matmul_all_reduce(const QuantMatmul& call, const OptionalTensor& addend, const std::string& group,
                       at::Tensor& output) {
  communicate(group, [&](const RankGroup& ranks) {
    const at::Tensor part = part_of_sum(call, addend, output);
    assign(output, sum_over_ranks(ranks, part.to(output.scalar_type())));
  });
}

// The ranks exchange eight-bit numbers: each column of the product by its first scale, of their sum by its second one.
void low_bit_all_reduce(const QuantMatmul& call, const OptionalTensor& addend, const OptionalTensor& first,
                        const OptionalTensor& second, const std::string& group, at::Tensor& output) {
  if (!given(first) && !given(second)) return matmul_all_reduce(call, addend, group, output);
  require(given(first) && given(second), ACLNN_ERR_PARAM_INVALID,
          "one of commQuantScale1Optional and commQuantScale2Optional is given; allowed: both or none");
  communicate(group, [&](const RankGroup& ranks) {
    const LowFormat& format = low_format(ACL_INT8);
    const at::Tensor part = part_of_sum(call, addend, output).to(at::kFloat);
    const at::Tensor before = first->to(at::kFloat).reshape({-1}), after = second->to(at::kFloat).reshape({-1});
    const at::Tensor sums = sum_over_ranks(ranks, rounded(part / before, format).to(at::kInt));
    assign(output, rounded(sums.to(at::kFloat) * (before / after), format) * after);
  });
}

// The shape of a product with x1.
std::vector<int64_t> rows_and_columns(const at::Tensor& x1, int64_t columns) {
  std::vector<int64_t> shape = x1.sizes().vec();
  shape.back() = columns;
  return shape;
}

void weight_quant_all_reduce(const at::Tensor& x1, const at::Tensor& x2, const OptionalTensor& bias,
                             const at::Tensor& scale, const OptionalTensor& offset, const OptionalTensor& addend,
                             const std::string& group, int64_t group_size, at::Tensor& output) {
  communicate(group, [&](const RankGroup& ranks) {
    require_addend(addend, output);
    require_shape(output, rows_and_columns(x1, output.size(-1)), "the output");
    const at::Tensor product = with_addend(weight_quant_product(x1, x2, scale, offset, bias, group_size), addend);
    assign(output, sum_over_ranks(ranks, product.to(output.scalar_type())));
  });
}

void require_axes(at::IntArrayRef axes, at::IntArrayRef allowed) {
  require(axes.empty() || axes == allowed, ACLNN_ERR_PARAM_INVALID, "alltoAllAxesOptional is ", axes,
          "; allowed: none, ", allowed);
}

std::vector<int64_t> one_each(const RankGroup& ranks) { return std::vector<int64_t>(ranks.size(), 1); }

// x1's columns of all ranks, for this rank's share of the rows; `multiply` makes the output of it.
template <class Multiply>
void all_to_all_before(const QuantMatmul& call, at::IntArrayRef axes, const std::string& group, at::Tensor& output,
                       at::Tensor& exchanged, const Multiply& multiply) {
  require_axes(axes, {-2, -1});
  require(!call.transpose1, ACLNN_ERR_PARAM_INVALID, "transposeX1 is true; allowed: false");
  communicate(group, [&](const RankGroup& ranks) {
    require_matrix(call.x1, "x1");
    const auto count = static_cast<int64_t>(ranks.size());
    const int64_t rows = parts(call.x1.size(0), ranks, "the number of rows of x1"), columns = call.x1.size(1);
    require(output.dim() == 2 && output.size(0) == rows, ACLNN_ERR_PARAM_INVALID, "the output has the shape ",
            output.sizes(), "; it must have ", rows, " rows");
    require_matrix(call.x2, "x2");
    const int64_t inner = call.x2.size(call.transpose2 ? 1 : 0);
    require(is_packed(call.x2) || inner == count * columns, ACLNN_ERR_PARAM_INVALID, "x2 has ", inner,
            " rows; it must have those of all ranks' columns, ", count * columns);
    if (is_wanted(exchanged)) require_shape(exchanged, {rows, count * columns}, "alltoAllOut");
    const at::Tensor blocks =
        exchange_rows(ranks, call.x1.reshape({count, rows, columns}), one_each(ranks), one_each(ranks));
    const at::Tensor x1 = blocks.transpose(0, 1).reshape({rows, count * columns});
    if (is_wanted(exchanged)) assign(exchanged, x1);
    assign(output, multiply(x1));
  });
}

void all_to_all_matmul(const QuantMatmul& call, at::IntArrayRef axes, const std::string& group, at::Tensor& output,
                       at::Tensor& exchanged) {
  all_to_all_before(call, axes, group, output, exchanged, [&](const at::Tensor& x1) {
    QuantMatmul product = call;
    product.x1 = x1;
    return rounded_product(product, output);
  });
}

// CANN's numbers for how an operand is quantized.
constexpr int64_t kByColumn = 2, kByToken = 3, kByTokenOnTheWay = 7;

void require_modes(int64_t x1_mode, int64_t x2_mode, int64_t exchange_mode, bool may_be_on_the_way) {
  const bool known = x1_mode == kByToken || (may_be_on_the_way && x1_mode == kByTokenOnTheWay);
  require(known && x2_mode == kByColumn, ACLNN_ERR_PARAM_INVALID, "x1QuantMode and x2QuantMode are ", x1_mode, " and ",
          x2_mode, "; allowed: 3", may_be_on_the_way ? " or 7" : "", " (by token) and 2 (by column); others are of ",
          "Ascend950 alone");
  require(exchange_mode == 0, ACLNN_ERR_PARAM_INVALID, "commQuantMode is ", exchange_mode, "; allowed: 0");
}

// With x1QuantMode 7 a float x1 is quantized when it has come, and x1Scale smooths it before.
void all_to_all_quant_matmul(const QuantMatmul& call, int64_t mode, at::IntArrayRef axes, const std::string& group,
                             at::Tensor& output, at::Tensor& exchanged) {
  if (mode == kByToken) return all_to_all_matmul(call, axes, group, output, exchanged);
  all_to_all_before(call, axes, group, output, exchanged, [&](const at::Tensor& x1) {
    const DequantOperands operands{{}, {}, {}, call.x1_scale, "pertoken", call.transpose2};
    const at::Tensor product = quantized_product(x1, call.x2, *call.x2_scale, operands);
    return (given(call.bias) ? product + call.bias->to(product.scalar_type()) : product).to(output.scalar_type());
  });
}

void matmul_all_to_all(const QuantMatmul& call, at::IntArrayRef axes, const std::string& group, at::Tensor& output) {
  require_axes(axes, {-1, -2});
  require(!call.transpose1, ACLNN_ERR_PARAM_INVALID, "transposeX1 is true; allowed: false");
  communicate(group, [&](const RankGroup& ranks) {
    require_matrix(call.x1, "x1");
    require_matrix(call.x2, "x2");
    const auto count = static_cast<int64_t>(ranks.size());
    const int64_t rows = call.x1.size(0);
    const int64_t columns = is_packed(call.x2)
                                ? output.size(-1)
                                : parts(call.x2.size(call.transpose2 ? 0 : 1), ranks, "the number of columns of x2");
    require(is_packed(call.x2) || call.x2.size(call.transpose2 ? 1 : 0) == call.x1.size(1), ACLNN_ERR_PARAM_INVALID,
            "x1 has ", call.x1.size(1), " columns and x2 ", call.x2.size(call.transpose2 ? 1 : 0), " rows");
    const std::vector<int64_t> shape{count * rows, columns};
    require(output.sizes() == at::IntArrayRef(shape), ACLNN_ERR_PARAM_INVALID, "the output has the shape ",
            output.sizes(), "; it must be ", at::IntArrayRef(shape));
    const at::Tensor blocks = rounded_product(call, output).view({rows, count, columns}).transpose(0, 1);
    assign(output, exchange_rows(ranks, blocks, one_each(ranks), one_each(ranks)).view(shape));
  });
}

}  // namespace

ACLNN(AllGatherMatmul,
      (In, x1)(In, x2)(OptIn, bias)(Group, group)(Int, gatherIndex)(Int, commTurn)(Int, streamMode)(Out,
                                                                                                    output)(OptOut,
                                                                                                            gatherOut),
      require_options("sum", commTurn, streamMode);
      all_gather_matmul({x1, x2, {}, {}, {}, {}, {}, bias}, group, gatherIndex, output, gatherOut))
ACLNN(AllGatherMatmulV2,
      (In, x1)(In, x2)(OptIn, bias)(OptIn, x1Scale)(OptIn, x2Scale)(OptIn, quantScale)(Int, blockSize)(Group, group)(
          Int, gatherIndex)(Int, commTurn)(Int, streamMode)(Int, groupSize)(Text, commMode)(Out, output)(
          OptOut, gatherOut)(OptOut, amaxOut),
      require_options("sum", commTurn, streamMode);
      refuse({{quantScale, "quantScale"}}, kOtherChip); require_absent(amaxOut, "amaxOut");
      all_gather_matmul({x1, x2, x1Scale, x2Scale, {}, {}, {}, bias, false, false, groupSize}, group, gatherIndex,
                        output, gatherOut))

ACLNN(MatmulReduceScatter,
      (In, x1)(In, x2)(OptIn, bias)(Group, group)(Text, reduceOp)(Int, commTurn)(Int, streamMode)(Out, output),
      require_options(reduceOp, commTurn, streamMode);
      matmul_reduce_scatter({x1, x2, {}, {}, {}, {}, {}, bias}, group, output))
ACLNN(MatmulReduceScatterV2,
      (In, x1)(In, x2)(OptIn, bias)(OptIn, x1Scale)(OptIn, x2Scale)(OptIn, quantScale)(Int, blockSize)(Group, group)(
          Text, reduceOp)(Int, commTurn)(Int, streamMode)(Int, groupSize)(Text, commMode)(Out, output)(OptOut,
                                                                                                       amaxOutOptional),
      require_options(reduceOp, commTurn, streamMode);
      refuse({{quantScale, "quantScale"}}, kOtherChip); require_absent(amaxOutOptional, "amaxOut");
      matmul_reduce_scatter({x1, x2, x1Scale, x2Scale, {}, {}, {}, bias, false, false, groupSize}, group, output))

ACLNN(MatmulAllReduce,
      (In, x1)(In, x2)(OptIn, bias)(Group, group)(Text, reduceOp)(Int, commTurn)(Int, streamMode)(Out, output),
      require_options(reduceOp, commTurn, streamMode);
      matmul_all_reduce({x1, x2, {}, {}, {}, {}, {}, bias}, kNone, group, output))
ACLNN(MatmulAllReduceV2,
      (In, x1)(In, x2)(OptIn, bias)(OptIn, x3)(Group, group)(Text, reduceOp)(Int, commTurn)(Int, streamMode)(Out,
                                                                                                             output),
      require_options(reduceOp, commTurn, streamMode);
      matmul_all_reduce({x1, x2, {}, {}, {}, {}, {}, bias}, x3, group, output))
ACLNN(MatmulAllReduceV3,
      (In, x1)(In, x2)(OptIn, bias)(OptIn, x3)(Group, group)(Text, reduceOp)(Text, commMode)(Int, commTurn)(
          Int, streamMode)(Out, output),
      require_options(reduceOp, commTurn, streamMode);
      matmul_all_reduce({x1, x2, {}, {}, {}, {}, {}, bias}, x3, group, output))

ACLNN(QuantMatmulAllReduce,
      (In, x1)(In, x2)(OptIn, bias)(OptIn, x3)(In, dequantScale)(Group, group)(Text, reduceOp)(Int, commTurn)(
          Int, streamMode)(Out, output),
      require_options(reduceOp, commTurn, streamMode);
      matmul_all_reduce({x1, x2, {}, dequantScale, {}, {}, {}, bias}, x3, group, output))
ACLNN(QuantMatmulAllReduceV2,
      (In, x1)(In, x2)(OptIn, biasOptional)(OptIn, x3Optional)(In, dequantScale)(OptIn, pertokenScaleOptional)(
          Group, group)(Text, reduceOp)(Int, commTurn)(Int, streamMode)(Out, output),
      require_options(reduceOp, commTurn, streamMode);
      matmul_all_reduce({x1, x2, pertokenScaleOptional, dequantScale, {}, {}, {}, biasOptional}, x3Optional, group,
                        output))
ACLNN(QuantMatmulAllReduceV3,
      (In, x1)(In, x2)(OptIn, biasOptional)(OptIn, x3Optional)(In, dequantScale)(OptIn, pertokenScaleOptional)(
          OptIn, commQuantScale1Optional)(OptIn, commQuantScale2Optional)(Group, group)(Text, reduceOp)(Int, commTurn)(
          Int, streamMode)(Out, output),
      require_options(reduceOp, commTurn, streamMode);
      low_bit_all_reduce({x1, x2, pertokenScaleOptional, dequantScale, {}, {}, {}, biasOptional}, x3Optional,
                         commQuantScale1Optional, commQuantScale2Optional, group, output))

// commQuantMode chooses among forms of Ascend950.
#define OPWRIGHT_QUANT_MATMUL_ALL_REDUCE(NAME, ...)                                                                    \
  ACLNN(                                                                                                               \
      NAME,                                                                                                            \
      (In, x1)(In, x2)(OptIn, biasOptional)(OptIn, x3Optional)(OptIn, x1ScaleOptional)(In, x2Scale)(                   \
          OptIn, commQuantScale1Optional)(OptIn, commQuantScale2Optional)(Group, group)(                               \
          Text, reduceOp)__VA_ARGS__(Int, commTurn)(Int, streamMode)(Int, groupSize)(Int, commQuantMode)(Out, output), \
      require_options(reduceOp, commTurn, streamMode);                                                                 \
      require(commQuantMode == 0, ACLNN_ERR_PARAM_INVALID, "commQuantMode is ", commQuantMode, "; allowed: 0");        \
      low_bit_all_reduce({x1, x2, x1ScaleOptional, x2Scale, {}, {}, {}, biasOptional, false, false, groupSize},        \
                         x3Optional, commQuantScale1Optional, commQuantScale2Optional, group, output))
OPWRIGHT_QUANT_MATMUL_ALL_REDUCE(QuantMatmulAllReduceV4, )
OPWRIGHT_QUANT_MATMUL_ALL_REDUCE(QuantMatmulAllReduceV5, (Text, commMode))
#undef OPWRIGHT_QUANT_MATMUL_ALL_REDUCE

#define OPWRIGHT_WEIGHT_QUANT_ALL_REDUCE(NAME, ...)                                                              \
  ACLNN(NAME,                                                                                                    \
        (In, x1)(CodedIn, x2)(OptIn, bias)(In, antiquantScale)(OptIn, antiquantOffset)(OptIn, x3)(Group, group)( \
            Text, reduceOp)__VA_ARGS__(Int, commTurn)(Int, streamMode)(Int, antiquantGroupSize)(Out, output),    \
        require_options(reduceOp, commTurn, streamMode);                                                         \
        weight_quant_all_reduce(x1, x2, bias, antiquantScale, antiquantOffset, x3, group, antiquantGroupSize, output))
OPWRIGHT_WEIGHT_QUANT_ALL_REDUCE(WeightQuantMatmulAllReduce, )
OPWRIGHT_WEIGHT_QUANT_ALL_REDUCE(WeightQuantMatmulAllReduceV2, (Text, commMode))
#undef OPWRIGHT_WEIGHT_QUANT_ALL_REDUCE

#define OPWRIGHT_ALL_TO_ALL_MATMUL(NAME, ...)                                                          \
  ACLNN(NAME,                                                                                          \
        (In, x1)(In, x2)(OptIn, biasOptional)(OptInts, alltoAllAxesOptional)(Group, group)__VA_ARGS__( \
            Bool, transposeX1)(Bool, transposeX2)(Out, output)(OptOut, alltoAllOutOptional),           \
        all_to_all_matmul({x1, x2, {}, {}, {}, {}, {}, biasOptional, transposeX1, transposeX2},        \
                          alltoAllAxesOptional.value_or(at::IntArrayRef()), group, output, alltoAllOutOptional))
OPWRIGHT_ALL_TO_ALL_MATMUL(AlltoAllMatmul, )
OPWRIGHT_ALL_TO_ALL_MATMUL(AlltoAllMatmulV2, (Text, commMode))
#undef OPWRIGHT_ALL_TO_ALL_MATMUL

#define OPWRIGHT_ALL_TO_ALL_QUANT_MATMUL(NAME, ...)                                                                  \
  ACLNN(NAME,                                                                                                        \
        (In, x1)(In, x2)(OptIn, biasOptional)(OptIn, x1ScaleOptional)(In, x2Scale)(OptIn, commScaleOptional)(        \
            OptIn, x1OffsetOptional)(OptIn, x2OffsetOptional)(Group, group)__VA_ARGS__(OptInts,                      \
                                                                                       alltoAllAxesOptional)(        \
            Int, x1QuantMode)(Int, x2QuantMode)(Int, commQuantMode)(Int, commQuantDtype)(Int, x1QuantDtype)(         \
            Int, groupSize)(Bool, transposeX1)(Bool, transposeX2)(Out, output)(OptOut, alltoAllOutOptional),         \
        refuse({{commScaleOptional, "commScale"}, {x1OffsetOptional, "x1Offset"}, {x2OffsetOptional, "x2Offset"}});  \
        require_modes(x1QuantMode, x2QuantMode, commQuantMode, /*may_be_on_the_way=*/true); all_to_all_quant_matmul( \
            {x1, x2, x1ScaleOptional, x2Scale, {}, {}, {}, biasOptional, transposeX1, transposeX2, groupSize},       \
            x1QuantMode, alltoAllAxesOptional.value_or(at::IntArrayRef()), group, output, alltoAllOutOptional))
OPWRIGHT_ALL_TO_ALL_QUANT_MATMUL(AlltoAllQuantMatmul, )
OPWRIGHT_ALL_TO_ALL_QUANT_MATMUL(AlltoAllQuantMatmulV2, (Text, commMode))
#undef OPWRIGHT_ALL_TO_ALL_QUANT_MATMUL

#define OPWRIGHT_MATMUL_ALL_TO_ALL(NAME, ...)                                                          \
  ACLNN(NAME,                                                                                          \
        (In, x1)(In, x2)(OptIn, biasOptional)(OptInts, alltoAllAxesOptional)(Group, group)__VA_ARGS__( \
            Bool, transposeX1)(Bool, transposeX2)(Out, output),                                        \
        matmul_all_to_all({x1, x2, {}, {}, {}, {}, {}, biasOptional, transposeX1, transposeX2},        \
                          alltoAllAxesOptional.value_or(at::IntArrayRef()), group, output))
OPWRIGHT_MATMUL_ALL_TO_ALL(MatmulAlltoAll, )
OPWRIGHT_MATMUL_ALL_TO_ALL(MatmulAlltoAllV2, (Text, commMode))
#undef OPWRIGHT_MATMUL_ALL_TO_ALL

#define OPWRIGHT_QUANT_MATMUL_ALL_TO_ALL(NAME, ...)                                                                   \
  ACLNN(NAME,                                                                                                         \
        (In, x1)(In, x2)(OptIn, biasOptional)(In, x1Scale)(In, x2Scale)(OptIn, commScaleOptional)(                    \
            OptIn, x1OffsetOptional)(OptIn, x2OffsetOptional)(OptInts, alltoAllAxesOptional)(Group, group)            \
            __VA_ARGS__(Int, x1QuantMode)(Int, x2QuantMode)(Int, commQuantMode)(Int, commQuantDtype)(Int, groupSize)( \
                Bool, transposeX1)(Bool, transposeX2)(Out, output),                                                   \
        refuse({{commScaleOptional, "commScale"}, {x1OffsetOptional, "x1Offset"}, {x2OffsetOptional, "x2Offset"}});   \
        require_modes(x1QuantMode, x2QuantMode, commQuantMode, /*may_be_on_the_way=*/false);                          \
        matmul_all_to_all({x1, x2, x1Scale, x2Scale, {}, {}, {}, biasOptional, transposeX1, transposeX2, groupSize},  \
                          alltoAllAxesOptional.value_or(at::IntArrayRef()), group, output))
OPWRIGHT_QUANT_MATMUL_ALL_TO_ALL(QuantMatmulAlltoAll, )
OPWRIGHT_QUANT_MATMUL_ALL_TO_ALL(QuantMatmulAlltoAllV2, (Text, commMode))
#undef OPWRIGHT_QUANT_MATMUL_ALL_TO_ALL
