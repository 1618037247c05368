"""What ScatterPaCache computes, for the twin, which has no kernel of it; CANN has."""

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
    key_cache.flatten(0, 1)[slots.long()] = key
