// native/opapi/ops/attention/attention_blocks.h
// Attention in blocks of some heads and queries, several blocks at once: the scores of a block stay in the cache, and
// keys that it may not see are left out.
#pragma once

#include "opapi/ops/attention/attention.h"

namespace opwright::opapi::attention {

// As `forward` and `backward`, for any problem; a small one is computed as a whole.
Result forward_in_blocks(const Problem& problem);
Gradients backward_in_blocks(const Problem& problem, const at::Tensor& grad, const at::Tensor& highest,
                             const at::Tensor& sum);

}  // namespace opwright::opapi::attention
