"""The computation of ScatterPaCache, for the twin, which has no kernel of it; CANN has."""

from opwright import twin


@twin.kernel("""
    REG_OP(ScatterPaCache)
        .INPUT(key, TensorType::ALL())
        .INPUT(key_cache, TensorType::ALL())
        .INPUT(slot_mapping, TensorType::IndexNumberType())
        .OPTIONAL_INPUT(compress_lens, TensorType::IndexNumberType())
        .OPTIONAL_INPUT(compress_seq_offset, TensorType::IndexNumberType())
        .OPTIONAL_INPUT(seq_lens, TensorType::IndexNumberType())
        .OUTPUT(key_cache, TensorType::ALL())
        .ATTR(cache_mode, String, "Norm")
        .OP_END_FACTORY_REG(ScatterPaCache)
""")
def scatter_pa_cache(key, key_cache, slots, compress_lens, compress_seq_offsets, seq_lens, mode):
    slots, page = slots.long(), key_cache.shape[1]
    key_cache[slots // page, slots % page] = key
