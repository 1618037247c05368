"""Step 4: Meta of an operator that torch_npu has in eager only. It returns what it writes."""

import torch_npu  # noqa: F401 - registers the operator
from torch.library import Library, impl

m = Library("npu", "IMPL", "Meta")


@impl(m, "npu_scatter_pa_cache.value")
def npu_scatter_pa_cache_meta(
    key, slot_mapping, *, compress_lens=None, compress_seq_offsets=None, seq_lens=None, key_cache
):
    return key_cache
