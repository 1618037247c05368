// native/opapi/ops/attention/causal_convolution.cpp
// Convolutions along a sequence, channel by channel, that see earlier tokens only. Computed in float32.
#include <algorithm>

#include "opapi/opapi.h"

namespace {

// rows [K - 1 + L, ...], weight [K, H] -> [L, ...]
at::Tensor convolved(const at::Tensor& rows, const at::Tensor& weight) {
  const int64_t width = weight.size(0), length = rows.size(0) - width + 1;
  at::Tensor result = at::mul(rows.narrow(0, 0, length), weight.select(0, 0));
  for (int64_t k = 1; k < width; ++k) result.addcmul_(rows.narrow(0, k, length), weight.select(0, k));
  return result;
}

// ---- with a cache of what came before

struct Indices {
  const OptionalTensor &starts, &cache, &accepted, &computed, &first_block, &last_block, &initial;
};

struct ConvolutionOptions {
  int64_t skipped_line, residual, block_size, mode;
};

int64_t at_index(const OptionalTensor& tensor, int64_t i, const char* name) {
  require(tensor.has_value(), ACLNN_ERR_PARAM_NULLPTR, "parameter '", name, "' is needed here");
  require(tensor->dim() == 1 && i < tensor->size(0), ACLNN_ERR_PARAM_INVALID, "parameter '", name, "' has shape ",
          tensor->sizes(), "; it must have a value for each sequence");
  return tensor->select(0, i).item<int64_t>();
}

class CachedConvolution {
 public:
  CachedConvolution(const at::Tensor& weight, at::Tensor& states, const Indices& indices,
                    const ConvolutionOptions& options)
      : weight_(to_float(weight)), states_(states), indices_(indices), options_(options), kept_(weight.size(0) - 1) {
    require(states.dim() == 3 && states.size(1) >= kept_, ACLNN_ERR_PARAM_INVALID, "parameter 'convStates' has shape ",
            states.sizes(), "; it must be [lines, at least ", kept_, ", channels]");
    require(options.mode == 0 || options.mode == 1, ACLNN_ERR_PARAM_INVALID, "parameter 'convMode' is ", options.mode,
            "; it must be 0 (default) or 1 (pangu)");
    require(options.residual == 0 || options.residual == 1, ACLNN_ERR_PARAM_INVALID,
            "parameter 'residualConnection' is ", options.residual, "; it must be 0 (none) or 1 (x is added)");
    require(!blocks() || options.block_size > 0, ACLNN_ERR_PARAM_INVALID, "parameter 'blockSize' is ",
            options.block_size, "; it must be positive");
  }

  // x and y: the tokens of sequence i, which may be one memory.
  void run(int64_t i, const at::Tensor& x, at::Tensor y, bool in_place) {
    const Lines lines = lines_of(i);
    if (lines.read == options_.skipped_line) {
      if (!in_place) y.zero_();
      return;
    }
    const int64_t length = x.size(0);
    const Past past = past_of(i, line(lines.read), length);
    const at::Tensor padded = at::cat({past.rows, x});
    const int64_t used = std::min(states_.size(1), padded.size(0));
    last(line(lines.write), used).copy_(last(padded, used));
    const at::Tensor rows = padded.slice(0, past.skipped);
    if (blocks()) fill_blocks(i, rows, length);
    at::Tensor result = convolved(to_float(rows), weight_);
    if (options_.mode == 1) {
      const int64_t reset = kept_ - at_index(indices_.computed, i, "numComputedTokens");
      result.narrow(0, 0, std::clamp<int64_t>(reset, 0, length)).zero_();
    }
    if (options_.residual == 1) result.add_(to_float(x));
    y.copy_(result);
  }

 private:
  struct Lines {
    int64_t read, write;
  };
  struct Past {
    at::Tensor rows;
    int64_t skipped;  // of them, before the convolution
  };

  bool blocks() const { return indices_.last_block.has_value(); }

  static at::Tensor last(const at::Tensor& rows, int64_t count) { return rows.narrow(0, rows.size(0) - count, count); }

  at::Tensor line(int64_t index) const {
    require(0 <= index && index < states_.size(0), ACLNN_ERR_PARAM_INVALID, "line ", index, " of 'convStates' is not ",
            "one of its ", states_.size(0));
    return states_.select(0, index);
  }

  int64_t cache_line(int64_t i, int64_t block) const {
    require(indices_.cache.has_value() && indices_.cache->dim() == 2, ACLNN_ERR_PARAM_INVALID,
            "parameter 'cacheIndices' must have 2 dimensions if caches lie in blocks");
    require(0 <= block && block < indices_.cache->size(1), ACLNN_ERR_PARAM_INVALID, "block ", block,
            " is beyond parameter 'cacheIndices', ", indices_.cache->sizes());
    return indices_.cache->select(0, i).select(0, block).item<int64_t>();
  }

  Lines lines_of(int64_t i) const {
    if (blocks()) {
      return {cache_line(i, at_index(indices_.initial, i, "initialStateIdx")),
              cache_line(i, at_index(indices_.last_block, i, "blockIdxLastScheduledToken"))};
    }
    const int64_t both = indices_.cache ? at_index(indices_.cache, i, "cacheIndices") : i;
    return {both, both};
  }

  Past past_of(int64_t i, const at::Tensor& state, int64_t length) const {
    if (indices_.computed && at_index(indices_.computed, i, "numComputedTokens") == 0) {
      return {at::zeros({kept_, state.size(1)}, state.options()), 0};
    }
    int64_t skipped = state.size(0) - kept_;
    if (indices_.accepted) {
      skipped = at_index(indices_.accepted, i, "numAcceptedTokens") - 1;
      require(0 <= skipped && skipped < length && skipped + kept_ <= state.size(0), ACLNN_ERR_PARAM_INVALID,
              "parameter 'numAcceptedTokens' has ", skipped + 1, " for a sequence of ", length, " tokens and ",
              state.size(0), " rows of state");
    }
    return {state.narrow(0, 0, skipped + kept_), skipped};
  }

  // Writes the end of each block of the cache that is full now.
  void fill_blocks(int64_t i, const at::Tensor& rows, int64_t length) {
    const int64_t size = options_.block_size;
    const int64_t begun = at_index(indices_.computed, i, "numComputedTokens") % size;
    const int64_t behind = (((length - (size - begun)) % size) + size) % size;
    const int64_t last_full = length - behind - (behind == 0 ? size : 0);
    const int64_t first = at_index(indices_.first_block, i, "blockIdxFirstScheduledToken");
    const int64_t count = at_index(indices_.last_block, i, "blockIdxLastScheduledToken") - first;
    for (int64_t block = 0; block < count; ++block) {
      const int64_t boundary = last_full - (count - block - 1) * size;
      require(0 < boundary && boundary + kept_ <= rows.size(0), ACLNN_ERR_PARAM_INVALID, "the end of block ",
              first + block, " is at token ", boundary, " of ", length);
      last(line(cache_line(i, first + block)), kept_).copy_(rows.narrow(0, boundary, kept_));
    }
  }

  at::Tensor weight_;
  at::Tensor& states_;
  Indices indices_;
  ConvolutionOptions options_;
  int64_t kept_;
};

void convolve(const at::Tensor& x, const at::Tensor& weight, at::Tensor& states, const Indices& indices,
              const ConvolutionOptions& options, at::Tensor& y, bool in_place) {
  require(weight.dim() == 2 && (x.dim() == 2 || x.dim() == 3) && x.size(-1) == weight.size(1), ACLNN_ERR_PARAM_INVALID,
          "x and weight have shapes ", x.sizes(), " and ", weight.sizes(),
          "; they must be [tokens, channels] or [B, S, channels], and [K, channels]");
  CachedConvolution convolution(weight, states, indices, options);
  if (x.dim() == 3 && !indices.starts) {
    for (int64_t i = 0; i < x.size(0); ++i) convolution.run(i, x.select(0, i), y.select(0, i), in_place);
    return;
  }
  require(indices.starts.has_value(), ACLNN_ERR_PARAM_NULLPTR,
          "parameter 'queryStartLoc' is needed for x with 2 dimensions");
  const at::Tensor tokens = x.dim() == 3 ? x.flatten(0, 1) : x;
  at::Tensor results = x.dim() == 3 ? y.view({-1, y.size(-1)}) : y;
  const at::Tensor starts = indices.starts->to(at::kLong).contiguous();
  const int64_t* start = starts.const_data_ptr<int64_t>();
  for (int64_t i = 0; i + 1 < starts.numel(); ++i) {
    require(0 <= start[i] && start[i] <= start[i + 1] && start[i + 1] <= tokens.size(0), ACLNN_ERR_PARAM_INVALID,
            "parameter 'queryStartLoc' has ", start[i], " and ", start[i + 1], " for ", tokens.size(0), " tokens");
    const int64_t length = start[i + 1] - start[i];
    convolution.run(i, tokens.narrow(0, start[i], length), results.narrow(0, start[i], length), in_place);
  }
}

// ---- with a mask

// From [B, S], true where a token counts, to what [S, B, H] is multiplied with.
at::Tensor factors(const OptionalTensor& mask) { return mask->to(at::kFloat).transpose(0, 1).unsqueeze(2); }

at::Tensor padded(const at::Tensor& x, int64_t before) { return at::constant_pad_nd(x, {0, 0, 0, 0, before, 0}); }

void convolve_masked(const at::Tensor& x, const at::Tensor& weight, const OptionalTensor& mask, at::Tensor& out) {
  at::Tensor result = convolved(padded(to_float(x), weight.size(0) - 1), to_float(weight));
  if (mask) result.mul_(factors(mask));
  assign(out, result);
}

void convolve_masked_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& weight,
                              const OptionalTensor& mask, at::Tensor& grad_x, at::Tensor& grad_weight) {
  const int64_t width = weight.size(0), length = x.size(0);
  const at::Tensor factor = to_float(weight), rows = padded(to_float(x), width - 1);
  const at::Tensor by_out = mask ? to_float(grad).mul(factors(mask)) : to_float(grad);
  at::Tensor by_rows = at::zeros(rows.sizes(), rows.options());
  std::vector<at::Tensor> by_weight;
  for (int64_t k = 0; k < width; ++k) {
    by_rows.narrow(0, k, length).addcmul_(by_out, factor.select(0, k));
    by_weight.push_back(by_out.mul(rows.narrow(0, k, length)).sum(at::IntArrayRef{0, 1}));
  }
  assign(grad_x, by_rows.slice(0, width - 1));
  assign(grad_weight, at::stack(by_weight));
}

}  // namespace

// The initial state's mode, bias, activation, run mode and the longest query have no effect, as documented.
#define CONVOLVE_INDICES                                                                                     \
  (OptIndex, queryStartLoc)(OptIndex, cacheIndices)(OptIn, initialStateMode)(OptIn, bias)(                   \
      OptIndex, numAcceptedTokens)(OptIndex, numComputedTokens)(OptIndex, blockIdxFirstScheduledToken)(      \
      OptIndex, blockIdxLastScheduledToken)(OptIndex, initialStateIdx)(Int, activationMode)(Int, padSlotId)( \
      Int, runMode)(Int, maxQueryLen)(Int, residualConnection)(Int, blockSize)(Int, convMode)
#define CONVOLVE(OUT, IN_PLACE)                                                                             \
  convolve(x, weight, convStates,                                                                           \
           {queryStartLoc, cacheIndices, numAcceptedTokens, numComputedTokens, blockIdxFirstScheduledToken, \
            blockIdxLastScheduledToken, initialStateIdx},                                                   \
           {padSlotId, residualConnection, blockSize, convMode}, OUT, IN_PLACE)

ACLNN(FusedCausalConv1d, (In, x)(In, weight)(Ref, convStates)CONVOLVE_INDICES(Out, y), CONVOLVE(y, false))
ACLNN(InplaceFusedCausalConv1d, (Ref, x)(In, weight)(Ref, convStates)CONVOLVE_INDICES, CONVOLVE(x, true))
ACLNN(MaskedCausalConv1d, (In, x)(In, weight)(OptIn, maskOptional)(Out, out),
      convolve_masked(x, weight, maskOptional, out))
ACLNN(MaskedCausalConv1dBackward,
      (In, gradY)(In, x)(In, weight)(OptIn, maskOptional)(Out, gradXOut)(Out, gradWeightOut),
      convolve_masked_backward(gradY, x, weight, maskOptional, gradXOut, gradWeightOut))

#undef CONVOLVE_INDICES
#undef CONVOLVE
