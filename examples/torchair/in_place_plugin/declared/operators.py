"""The plugin, declared: this is all of it. Importing the module completes the operator."""

import torch_npu  # noqa: F401 - has the operator

import opwright as ow

ops = ow.OperatorSet("npu", existing=True)


def convert(
    key, slot_mapping, *, compress_lens=None, compress_seq_offsets=None, seq_lens=None, key_cache
):
    from torchair.ge import custom_op

    inputs = {
        "key": key,
        "key_cache": key_cache,
        "slot_mapping": slot_mapping,
        "compress_lens": compress_lens,
        "compress_seq_offset": compress_seq_offsets,
        "seq_lens": seq_lens,
    }
    custom_op("ScatterPaCache", inputs=inputs, outputs=["key_cache"])


ops.declare(
    "npu_scatter_pa_cache.value(Tensor key, Tensor slot_mapping, *, Tensor? compress_lens=None, "
    "Tensor? compress_seq_offsets=None, Tensor? seq_lens=None, Tensor(a!) key_cache) -> Tensor(a!)",
    converter=convert,
)

ops.load()
