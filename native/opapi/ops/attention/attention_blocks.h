// native/opapi/ops/attention/attention_blocks.h
// Long attention, head by head and a block of queries at a time: the scores that exist at once stay in the cache, and
// keys that a block may not see are left out.
#pragma once

#include "opapi/ops/attention/attention.h"

namespace opwright::opapi::attention {

// As `forward` and `backward`, for any problem; a short one is computed as a whole.
Result forward_in_blocks(const Problem& problem);
Gradients backward_in_blocks(const Problem& problem, const at::Tensor& grad, const at::Tensor& highest,
                             const at::Tensor& sum);

}  // namespace opwright::opapi::attention
