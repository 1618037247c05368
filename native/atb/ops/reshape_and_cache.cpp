// native/atb/ops/reshape_and_cache.cpp
// ReshapeAndCache: keys and values of tokens go to their slots of a cache [blocks, block size, N, D]. A slot below 0 is
// not written. AtbPagedCacheLoad: the way back, from the blocks of sequences.
#include "atb/function.h"
#include "atb/named_call.h"
#include "atb/params.h"
#include "opapi/ops/kv_cache/paged_cache.h"

using namespace opwright::atb_library;  // NOLINT: as in tables of libopapi

namespace {

using Param = atb::infer::ReshapeAndCacheParam;

}  // namespace

ATB_FUNCTION(ReshapeAndCacheOperation, (In, key)(OptIn, value)(Index, slotMapping)(Ref, keyCache)(OptOut, valueCache),
             paged::write(paged::plain_pages(keyCache), key, slotMapping, "keyCache");
             if (value) paged::write(paged::plain_pages(valueCache), *value, slotMapping, "valueCache"))

namespace {

void check_tokens(const aclTensor& tokens, const char* name, const aclTensor& cache, const char* cache_name) {
  require_rank(tokens, name, {3});
  require_dtype(tokens, name, {ACL_FLOAT16, ACL_BF16, ACL_INT8});
  require_rank(cache, cache_name, {4});
  require_dtype(cache, cache_name, {tokens.dtype});
  for (const size_t dim : {1, 2}) require_size(cache, cache_name, dim + 1, tokens.sizes[dim], "as the tokens");
}

aclTensor& same_cache(Pack& pack, size_t input, size_t output, const char* name) {
  const aclTensor& given = pack.in(input, name);
  aclTensor& result = pack.out(output, name);
  require(given.data == result.data, atb::ERROR_INVALID_TENSOR_ADDR, "parameter '", name,
          "' is written in place, so input and output must be the same tensor");
  return result;
}

aclnnStatus prepare(const Param& param, const Form& form, const atb::VariantPack& variants, uint64_t* workspace_size,
                    aclOpExecutor** executor) {
  Pack pack(variants, form.inputs, form.outputs);
  const bool has_value = param.kvCacheCfg == Param::K_CACHE_V_CACHE;
  size_t next = 0;
  const aclTensor& key = pack.in(next++, "key");
  const aclTensor* const value = has_value ? &pack.in(next++, "value") : nullptr;
  aclTensor& key_cache = same_cache(pack, next++, 0, "keyCache");
  aclTensor* const value_cache = has_value ? &same_cache(pack, next++, 1, "valueCache") : nullptr;
  const aclTensor& slots = pack.in(next++, "slotMapping");
  check_tokens(key, "key", key_cache, "keyCache");
  require_rank(slots, "slotMapping", {1});
  require_dtype(slots, "slotMapping", {ACL_INT32});
  require_size(slots, "slotMapping", 0, key.sizes[0], "one for each token of 'key'");
  if (has_value) {
    check_tokens(*value, "value", *value_cache, "valueCache");
    require_size(*value, "value", 0, key.sizes[0], "as 'key'");
    for (const size_t dim : {0, 1}) {
      require_size(*value_cache, "valueCache", dim, key_cache.sizes[dim], "as 'keyCache', for slots mean both");
    }
  }
  return operations::ReshapeAndCacheOperation::prepare(&key, value, &slots, &key_cache, value_cache, workspace_size,
                                                       executor);
}

Form form_of(const Param& param) {
  require_no_reserved(param);
  require_param(param.compressType == 0, "compressType", param.compressType,
                "0 (COMPRESS_TYPE_UNDEFINED): compressed caches are not available on the twin");
  require_param(param.kvCacheCfg == Param::K_CACHE_V_CACHE || param.kvCacheCfg == Param::K_CACHE_V_BYPASS, "kvCacheCfg",
                static_cast<int>(param.kvCacheCfg),
                "0 (K_CACHE_V_CACHE), 1 (K_CACHE_V_BYPASS): caches in format NZ are not available on the twin");
  const bool has_value = param.kvCacheCfg == Param::K_CACHE_V_CACHE;
  Form form{"ReshapeAndCacheOperation", has_value ? 5U : 3U, has_value ? 2U : 1U, nullptr, nullptr};
  form.infer = [has_value](const auto& inputs, auto& outputs) {
    outputs.data()[0] = inputs[has_value ? 2 : 1];
    if (has_value) outputs.data()[1] = inputs[3];
  };
  form.prepare = [param, counts = form](const atb::VariantPack& variants, uint64_t* size, aclOpExecutor** executor) {
    return prepare(param, counts, variants, size, executor);
  };
  return form;
}

}  // namespace

ATB_OPERATION(ReshapeAndCacheParam, form_of)

extern "C" {

// libopapi's function of the same meaning.
aclnnStatus aclnnGatherPaKvCacheGetWorkspaceSize(const aclTensor* keyCache, const aclTensor* valueCache,
                                                 const aclTensor* blockTables, const aclTensor* seqLens,
                                                 aclTensor* keyRef, aclTensor* valueRef, const aclTensor* seqOffset,
                                                 const char* cacheMode, bool isSeqLensCumsum, uint64_t* workspaceSize,
                                                 aclOpExecutor** executor);

OPWRIGHT_API atb::Status AtbPagedCacheLoadGetWorkspaceSize(const aclTensor* keyCache, const aclTensor* valueCache,
                                                           const aclTensor* blockTables, const aclTensor* contextLens,
                                                           aclTensor* key, aclTensor* value, const aclTensor* seqStarts,
                                                           int8_t kvCacheCfg, bool isSeqLensCumsumType,
                                                           bool hasSeqStarts, uint64_t* workspaceSize,
                                                           atb::Operation** operation, atb::Context*) {
  return set_up_named(
      "AtbPagedCacheLoad", "AtbPagedCacheLoadGetWorkspaceSize", workspaceSize, operation,
      [&](uint64_t* size, aclOpExecutor** executor) {
        require_param(kvCacheCfg == 1, "kvCacheCfg", int{kvCacheCfg},
                      "1 (K_CACHE_V_CACHE_ND): caches in format NZ are not available on the twin");
        return aclnnGatherPaKvCacheGetWorkspaceSize(keyCache, valueCache, blockTables, contextLens, key, value,
                                                    hasSeqStarts ? seqStarts : nullptr, "Norm", isSeqLensCumsumType,
                                                    size, executor);
      },
      __builtin_return_address(0));
}

ATB_NAMED_CALL(AtbPagedCacheLoad)

}  // extern "C"
