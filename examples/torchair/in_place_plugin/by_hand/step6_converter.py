"""Step 6: the converter of the operator that graphs have since step 5."""

import torch
from torchair import register_fx_node_ge_converter
from torchair.ge import custom_op

import step5_functionalization  # noqa: F401 - defines it


@register_fx_node_ge_converter(torch.ops.npu.npu_scatter_pa_cache_write.default)
def convert_npu_scatter_pa_cache_write(
    key, slot_mapping, *, compress_lens=None, compress_seq_offsets=None, seq_lens=None, key_cache
):
    inputs = {
        "key": key,
        "key_cache": key_cache,
        "slot_mapping": slot_mapping,
        "compress_lens": compress_lens,
        "compress_seq_offset": compress_seq_offsets,
        "seq_lens": seq_lens,
    }
    custom_op("ScatterPaCache", inputs=inputs, outputs=["key_cache"])
