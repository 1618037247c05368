"""What aclnnScatterPaCache computes, for the twin, which has no kernel of it; CANN has."""

from opwright import twin


@twin.kernel(
    "aclnnScatterPaCache(const aclTensor *key, aclTensor *keyCacheRef, "
    "const aclTensor *slotMapping, const aclTensor *compressLensOptional, "
    "const aclTensor *compressSeqOffsetOptional, const aclTensor *seqLensOptional, "
    "char *cacheMode)"
)
def scatter_pa_cache(key, key_cache, slots, compress_lens, compress_seq_offsets, seq_lens, mode):
    key_cache.flatten(0, 1)[slots.long()] = key
