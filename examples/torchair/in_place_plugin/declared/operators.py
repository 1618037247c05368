"""The plugin, declared: this is all of it. Importing the module completes the operator."""

import torch_npu  # noqa: F401 - has the operator

import opwright as ow

ops = ow.OperatorSet("npu", existing=True)

ops.declare(
    "npu_scatter_pa_cache.value(Tensor key, Tensor slot_mapping, *, Tensor? compress_lens=None, "
    "Tensor? compress_seq_offsets=None, Tensor? seq_lens=None, Tensor(a!) key_cache) -> Tensor(a!)"
)

ops.load()
