// native/atb/ops/self_attention.h
// SelfAttention over packed tokens, for atb::CreateOperation and for AtbSelfAttentionPrefixEncoder.
#pragma once

#include "atb/operation.h"
#include "atb/params.h"
#include "nnopbase/objects.h"

namespace opwright::atb_library::self_attention {

struct Operands {
  const aclTensor &query, &key, &value;
  const aclTensor* block_tables;  // where key and value are caches of blocks
  const aclTensor* mask;
  const aclTensor* slopes;
  const aclIntArray& query_lengths;
  const aclIntArray* key_lengths;  // or as the query's
  aclTensor& out;
};

// Throws what CreateOperation answers.
void check(const atb::infer::SelfAttentionParam& param);
bool has_mask(const atb::infer::SelfAttentionParam& param) noexcept;
bool has_slopes(const atb::infer::SelfAttentionParam& param) noexcept;
// Throws what Setup answers.
aclnnStatus prepare(const atb::infer::SelfAttentionParam& param, const Operands& operands, uint64_t* workspace_size,
                    aclOpExecutor** executor);

}  // namespace opwright::atb_library::self_attention
