"""Step 5: functionalization, which PyTorch gets wrong for this operator.

It writes a keyword argument and returns it, so PyTorch takes it for an operator with `out=`: one
that never reads what was in the tensor. A graph would then start from an empty cache. Here the
operator becomes, in graphs, one that returns nothing, which PyTorch functionalizes as it should.
"""

import torch
import torch_npu  # noqa: F401 - registers the operator
from torch._subclasses.functional_tensor import FunctionalTensorMode
from torch.library import Library, impl, register_torch_dispatch

fragment = Library("npu", "FRAGMENT")
fragment.define(
    "npu_scatter_pa_cache_write(Tensor key, Tensor slot_mapping, *, Tensor? compress_lens=None, "
    "Tensor? compress_seq_offsets=None, Tensor? seq_lens=None, Tensor(a!) key_cache) -> ()"
)


@impl(fragment, "npu_scatter_pa_cache_write", "PrivateUse1")
def npu_scatter_pa_cache_write(*args, **kwargs):
    torch.ops.npu.npu_scatter_pa_cache.value(*args, **kwargs)


@register_torch_dispatch("npu::npu_scatter_pa_cache.value", FunctionalTensorMode)
def npu_scatter_pa_cache_functionalization(mode, operator, types, args=(), kwargs=None):
    with mode:
        torch.ops.npu.npu_scatter_pa_cache_write(*args, **kwargs)
    return kwargs["key_cache"]
