"""The memory of torch_npu's caching allocator."""

from __future__ import annotations

import torch_npu


def beyond_the_cache(size: int) -> int:
    """Return how many bytes to ask for, so that at least `size` of them are the device's.

    Tensors of other tests may live, and keep the rest of their segments in torch_npu's cache.
    """
    return int(torch_npu.npu.memory_reserved() - torch_npu.npu.memory_allocated()) + size
