// native/opapi/ops/attention/nsa_compress.cpp
// Native sparse attention (NSA): tokens of keys or values compressed, block by block, to a weighted sum. Blocks of
// `size` tokens begin every `stride` tokens of a sequence; what is left at its end is not compressed. Input [T, N, D],
// weight [size, N]. Computed in float32.
#include "opapi/ops/attention/sequences.h"

namespace {

struct Blocks {
  int64_t size, stride;

  int64_t count(int64_t length) const { return length < size ? 0 : (length - size) / stride + 1; }
};

void check(const at::Tensor& weight, int64_t heads, const Blocks& blocks, const std::string& layout) {
  require(layout.empty() || layout == "TND", ACLNN_ERR_PARAM_INVALID, "parameter 'layout' is '", layout,
          "'; it must be TND");
  require(blocks.size > 0 && blocks.stride > 0, ACLNN_ERR_PARAM_INVALID, "compressBlockSize and compressStride are ",
          blocks.size, " and ", blocks.stride, "; they must be positive");
  require(weight.dim() == 2 && weight.size(0) == blocks.size && weight.size(1) == heads, ACLNN_ERR_PARAM_INVALID,
          "parameter 'weight' has shape ", weight.sizes(), "; it must be [", blocks.size, ", ", heads, "]");
}

// Calls compute(start, length, first block, count) for each sequence with blocks. Lengths are sums, with or without the
// 0 in front.
template <class Compute>
void for_each_sequence(at::OptionalIntArrayRef ends, int64_t type, int64_t tokens, const Blocks& blocks,
                       const Compute& compute) {
  require(type == 0, ACLNN_ERR_PARAM_INVALID, "parameter 'actSeqLenType' is ", type, "; it must be 0 (sums)");
  int64_t block = 0;
  for (const auto& [batch, start, length] : opapi::attention::packed_spans(ends, tokens, "actSeqLen")) {
    const int64_t count = blocks.count(length);
    if (count > 0) compute(start, length, block, count);
    block += count;
  }
}

// The tokens of each block, [count, N, D, size].
at::Tensor blocks_of(const at::Tensor& input, int64_t start, int64_t length, const Blocks& blocks) {
  return input.narrow(0, start, length).unfold(0, blocks.size, blocks.stride);
}

// [size, N] -> [N, size, 1]
at::Tensor as_columns(const at::Tensor& weight) { return to_float(weight).t().unsqueeze(2); }

void compress(const at::Tensor& input, const at::Tensor& weight, at::OptionalIntArrayRef ends,
              const std::string& layout, const Blocks& blocks, int64_t type, at::Tensor& out) {
  require(input.dim() == 3, ACLNN_ERR_PARAM_INVALID, "parameter 'input' has shape ", input.sizes(),
          "; it must be [T, N, D]");
  check(weight, input.size(1), blocks, layout);
  const at::Tensor tokens = to_float(input), columns = as_columns(weight);
  out.zero_();
  for_each_sequence(ends, type, input.size(0), blocks,
                    [&](int64_t start, int64_t length, int64_t first, int64_t count) {
                      require(first + count <= out.size(0), ACLNN_ERR_PARAM_INVALID, "parameter 'output' has shape ",
                              out.sizes(), "; the sequences have more blocks than that");
                      const at::Tensor result = blocks_of(tokens, start, length, blocks).matmul(columns).squeeze(3);
                      out.narrow(0, first, count).copy_(result);
                    });
}

void compress_backward(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight,
                       at::OptionalIntArrayRef ends, const std::string& layout, const Blocks& blocks, int64_t type,
                       at::Tensor& grad_input, at::Tensor& grad_weight) {
  require(input.dim() == 3 && grad.dim() == 3, ACLNN_ERR_PARAM_INVALID, "input and outputGrad have shapes ",
          input.sizes(), " and ", grad.sizes(), "; they must have 3 dimensions");
  check(weight, input.size(1), blocks, layout);
  const at::Tensor tokens = to_float(input), columns = as_columns(weight);
  at::Tensor by_input = at::zeros(input.sizes(), at::kFloat), by_weight = at::zeros(weight.sizes(), at::kFloat);
  for_each_sequence(
      ends, type, input.size(0), blocks, [&](int64_t start, int64_t length, int64_t first, int64_t count) {
        require(first + count <= grad.size(0), ACLNN_ERR_PARAM_INVALID, "parameter 'outputGrad' has shape ",
                grad.sizes(), "; the sequences have more blocks than that");
        const at::Tensor by_out = to_float(grad.narrow(0, first, count));
        at::Tensor target = blocks_of(by_input, start, length, blocks);
        for (int64_t i = 0; i < blocks.size; ++i) {  // blocks overlap, so one of their tokens at a time
          target.select(3, i).addcmul_(by_out, columns.select(1, i));
        }
        by_weight.add_(
            blocks_of(tokens, start, length, blocks).mul(by_out.unsqueeze(3)).sum(at::IntArrayRef{0, 2}).t());
      });
  assign(grad_input, by_input);
  assign(grad_weight, by_weight);
}

// Of each sequence in pages, the block that its last token completes, if it does.
void compress_last(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& slots,
                   at::OptionalIntArrayRef lengths, const OptionalTensor& table, const std::string& layout,
                   const Blocks& blocks, int64_t type, int64_t page_size, at::Tensor& cache) {
  require(input.dim() == 4 && input.size(1) == page_size && page_size > 0, ACLNN_ERR_PARAM_INVALID,
          "parameter 'input' has shape ", input.sizes(), "; it must be [pages, ", page_size, ", N, D]");
  check(weight, input.size(2), blocks, layout);
  require(type == 1, ACLNN_ERR_PARAM_INVALID, "parameter 'actSeqLenType' is ", type, "; it must be 1 (lengths)");
  require(lengths.has_value() && table.has_value(), ACLNN_ERR_PARAM_NULLPTR,
          "parameters 'actSeqLen' and 'blockTable' are needed");
  const auto sequences = static_cast<int64_t>(lengths->size());
  require(table->dim() == 2 && table->size(0) >= sequences && slots.numel() >= sequences, ACLNN_ERR_PARAM_INVALID,
          "blockTable and slotMapping have shapes ", table ? table->sizes() : at::IntArrayRef(), " and ", slots.sizes(),
          " for ", sequences, " sequences");
  for (int64_t i = 0; i < sequences; ++i) {
    const int64_t length = (*lengths)[i];
    if (length < blocks.size || (length - blocks.size) % blocks.stride != 0) continue;
    const at::Tensor token = at::arange(length - blocks.size, length);
    const at::Tensor page = table->select(0, i).index_select(0, token.floor_divide(page_size));
    require(page.ge(0).logical_and_(page.lt(input.size(0))).all().item<bool>(), ACLNN_ERR_PARAM_INVALID,
            "parameter 'blockTable' names a page that is not one of ", input.size(0), " for sequence ", i);
    const at::Tensor tokens = to_float(input.index({page, token.remainder(page_size)}));  // [size, N, D]
    const auto slot = slots.reshape(-1).select(0, i).item<int64_t>();
    require(0 <= slot && slot < cache.size(0), ACLNN_ERR_PARAM_INVALID, "parameter 'slotMapping' has ", slot,
            "; the cache has ", cache.size(0), " slots");
    cache.select(0, slot).copy_(tokens.mul(to_float(weight).unsqueeze(2)).sum(0));
  }
}

}  // namespace

ACLNN(NsaCompress,
      (In, input)(In, weight)(OptInts, actSeqLenOptional)(Text, layoutOptional)(Int, compressBlockSize)(
          Int, compressStride)(Int, actSeqLenType)(Out, output),
      compress(input, weight, actSeqLenOptional, layoutOptional, {compressBlockSize, compressStride}, actSeqLenType,
               output))
ACLNN(NsaCompressGrad,
      (In, outputGrad)(In, input)(In, weight)(OptInts, actSeqLenOptionalOptional)(Int, compressBlockSize)(
          Int, compressStride)(Int, actSeqLenType)(Text, layoutOptionalOptional)(Out, inputGradOut)(Out, weightGradOut),
      compress_backward(outputGrad, input, weight, actSeqLenOptionalOptional, layoutOptionalOptional,
                        {compressBlockSize, compressStride}, actSeqLenType, inputGradOut, weightGradOut))
ACLNN(NsaCompressWithCache,
      (In, input)(In, weight)(Index, slotMapping)(OptInts, actSeqLenOptional)(OptIndex,
                                                                              blockTableOptional)(Text, layoutOptional)(
          Int, compressBlockSize)(Int, compressStride)(Int, actSeqLenType)(Int, pageBlockSize)(Ref, outputCache),
      compress_last(input, weight, slotMapping, actSeqLenOptional, blockTableOptional, layoutOptional,
                    {compressBlockSize, compressStride}, actSeqLenType, pageBlockSize, outputCache))
