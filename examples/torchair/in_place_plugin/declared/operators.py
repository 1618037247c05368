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
    shapes={"key": "T, N, D", "slot_mapping": "T", "key_cache": "P, S, N, D"},
    dtypes={"key": "float32 float16", "slot_mapping": "int32", "key_cache": "key"},
    samples=[
        ow.sample(
            key=ow.tensor(3, 2, 4),
            slot_mapping=ow.tensor(3, low=0, high=9),
            key_cache=ow.tensor(2, 5, 2, 4),
        )
    ],
    converter=convert,
)

ops.load()
