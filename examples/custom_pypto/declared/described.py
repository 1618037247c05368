"""The operators of the wheel, described: what `opwright check` compares them with."""

import opwright as ow
from opwright.reference.lightning_indexer import lightning_indexer

ops = ow.OperatorSet("custom_pypto", existing=True)


@ops.operator(
    "add_custom(Tensor self, Tensor other) -> Tensor",
    shapes={"self": "*any", "other": "*any", "return": ow.like("self")},
    dtypes={"self": "float16 float32", "other": "self"},
    backward="reference",
)
def add_custom(self, other):
    return self + other


@ops.operator(
    "npu_lightning_indexer_pto(Tensor query, Tensor key, Tensor weights, *, "
    "Tensor? actual_seq_lengths_query=None, Tensor? actual_seq_lengths_key=None, "
    "Tensor? block_table=None, str layout_query='BSND', str layout_key='PA_BSND', "
    "int sparse_count=2048, int sparse_mode=3) -> Tensor",
    shapes={
        "query": "B, S1, 64, 128",
        "key": "P, 128, 1, 128",
        "weights": "B, S1, 64",
        "actual_seq_lengths_key": "B",
        "block_table": "B, M",
        "return": "B, S1, 1, sparse_count",
    },
    dtypes={
        **dict.fromkeys(("query", "key", "weights"), "bfloat16"),
        **dict.fromkeys(("actual_seq_lengths_key", "block_table"), "int32"),
        "return": "int32",
    },
    requires=["1 <= B <= 128", "1 <= S1 <= 4", "1 <= sparse_count <= 2048"],
    samples=[
        ow.sample(
            query=ow.tensor(2, 3, 64, 128, low=-4, high=4),  # the order of NaN is not defined
            key=ow.tensor(3, 128, 1, 128, low=-4, high=4),
            weights=ow.tensor(2, 3, 64, low=-4, high=4),
            actual_seq_lengths_key=ow.tensor(2, low=0, high=128),
            block_table=ow.tensor(2, 2, low=0, high=2),
            sparse_count=32,
        )
    ],
)
def npu_lightning_indexer_pto(query, key, weights, **options):
    return lightning_indexer(query, key, weights, **options)[0]


ARGUMENTS = (
    "Tensor x, Tensor w_dq, Tensor w_uq_qr, Tensor w_uk, Tensor w_dkv_kr, Tensor gamma_cq, "
    "Tensor gamma_ckv, Tensor sin, Tensor cos, Tensor cache_index, Tensor{} kv_cache, "
    "Tensor{} kr_cache, Tensor block_table, Tensor act_seqs, Tensor w_idx_qb, Tensor w_idx_k, "
    "Tensor w_idx_proj, Tensor in_gamma_k, Tensor in_beta_k, Tensor{} index_k_cache"
)
SHAPES = {
    "x": "B, S1, 7168",
    "w_dq": "7168, 1536",
    "w_uq_qr": "1536, 24576",
    "w_uk": "128, 128, 512",
    "w_dkv_kr": "7168, 576",
    "gamma_cq": "1536",
    "gamma_ckv": "512",
    "sin": "B, S1, 64",
    "cos": "B, S1, 64",
    "cache_index": "B, S1",
    "kv_cache": "P, 128, 1, 512",
    "kr_cache": "P, 128, 1, 64",
    "block_table": "B, M",
    "act_seqs": "B",
    "w_idx_qb": "1536, 8192",
    "w_idx_k": "7168, 128",
    "w_idx_proj": "7168, 64",
    "in_gamma_k": "128",
    "in_beta_k": "128",
    "index_k_cache": "P, 128, 1, 128",
}
INTEGERS = ("cache_index", "block_table", "act_seqs")
BLOCK = {
    "shapes": {**SHAPES, "return": "B, S1, 128, 512"},
    "dtypes": {name: "int32" if name in INTEGERS else "bfloat16" for name in SHAPES}
    | {"return": "bfloat16"},
    "layouts": dict.fromkeys(("kv_cache", "kr_cache", "index_k_cache"), "contiguous"),
    "requires": ["B == 4", "1 <= S1 <= 2", "1 <= M <= 1024", "1 <= P <= 4096"],
    "samples": [
        ow.sample(
            **{
                name: ow.tensor(
                    *(
                        {"B": 4, "S1": 1, "P": 4, "M": 1}.get(size) or int(size)
                        for size in shape.split(", ")
                    ),
                )
                for name, shape in SHAPES.items()
                if name not in INTEGERS
            },
            cache_index=ow.tensor(4, 1, low=0, high=511),
            block_table=ow.tensor(4, 1, low=0, high=3),
            act_seqs=ow.tensor(4, low=1, high=128),
        )
    ],
}


# Without the reference, which takes seconds at these sizes; the tests of the wheel have it.
WRITTEN = ARGUMENTS.format("(a!)", "(b!)", "(c!)")
ops.declare(f"npu_sparse_attention_pto({WRITTEN}) -> Tensor", **BLOCK)
ops.declare(
    f"npu_sparse_attention_pto_undeclared({ARGUMENTS.format('', '', '')}) -> Tensor", **BLOCK
)
