"""torch_npu's fused operators in max-autotune mode: what the engine answers is eager's."""

from __future__ import annotations

import pytest

from tests.graph_engine.agreement import COMPILE
from tests.twin.on_twin import output

PRELUDE = """
HALF = torch.float16

def compare(name, function, *given):
    wanted = function(*(tensor.clone() for tensor in given))
    got = compiled(function)(*(tensor.clone() for tensor in given))
    assert type(wanted) is type(got)
    for ours, theirs in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, wanted))):
        exact = theirs.dtype == torch.float32
        limit = 1e-5 if exact else 2e-3  # half precision is rounded once in both
        torch.testing.assert_close(ours, theirs, rtol=limit, atol=limit)
    print(name)

x = drawn(2, 5, 16)
"""

NORMALIZATIONS = """
compare("rms", lambda x, g: torch_npu.npu_rms_norm(x, g), x, drawn(16))
compare("rms float32", lambda x, g: torch_npu.npu_rms_norm(x, g, epsilon=1e-2),
        x.float(), drawn(16, dtype=torch.float32))
compare("rms gradient", lambda x, dy, g, r: torch.ops.npu.npu_rms_norm_backward(dy, x, g, r),
        x.float(), drawn(2, 5, 16, dtype=torch.float32), drawn(16, dtype=torch.float32),
        drawn(2, 5, 1, dtype=torch.float32))
compare("add", lambda x, y, g: torch_npu.npu_add_rms_norm(x, y, g), x, drawn(2, 5, 16), drawn(16))
compare("add and cast", lambda x, y, g: torch_npu.npu_add_rms_norm_cast(x, y, g),
        x, drawn(2, 5, 16), drawn(16))
compare("group and silu", lambda x, w, b: torch_npu.npu_group_norm_silu(x, w, b, 2, 1e-3),
        *(drawn(*sizes, dtype=torch.float32) for sizes in ((2, 4, 3, 3), (4,), (4,))))
"""

GATES = """
compare("swiglu", lambda x: torch_npu.npu_swiglu(x), x)
compare("swiglu, first axis", lambda x: torch_npu.npu_swiglu(x, 0), x)
compare("swiglu gradient", lambda x, dy: torch.ops.npu.npu_swiglu_backward(dy, x, -1),
        x, drawn(2, 5, 8))
compare("geglu", lambda x: torch_npu.npu_geglu(x), x)
compare("gelu", lambda x: torch_npu.npu_gelu(x, approximate="tanh"), x.float())
compare("fast gelu", lambda x: torch_npu.npu_fast_gelu(x), x.float())
compare("rotary", lambda x, c, s: torch_npu.npu_rotary_mul(x, c, s),
        drawn(2, 3, 4, 64), drawn(2, 3, 1, 64), drawn(2, 3, 1, 64))
compare("query and key", lambda q, k, c, s: torch_npu.npu_apply_rotary_pos_emb(q, k, c, s, "BSND"),
        drawn(2, 3, 4, 128), drawn(2, 3, 2, 128), drawn(2, 3, 1, 128), drawn(2, 3, 1, 128))
"""

ATTENTION = """
later = torch.triu(torch.ones(2048, 2048, dtype=torch.bool), 1).npu()
mask = (torch.rand(2, 1, 6, 10) > 0.7).npu()
by_head = drawn(2, 4, 6, 16), drawn(2, 2, 10, 16), drawn(2, 2, 10, 16)
joined = drawn(2, 6, 64), drawn(2, 10, 32), drawn(2, 10, 32)
infer = torch_npu.npu_fused_infer_attention_score
few = {"num_heads": 4, "num_key_value_heads": 2, "scale": 0.3}
lengths = {"actual_seq_lengths": [6, 4], "actual_seq_lengths_kv": [9, 7]}

compare("training", lambda q, k, v, m: torch_npu.npu_fusion_attention(
    q, k, v, 4, "BSH", atten_mask=m, scale=0.3)[:3], *joined, mask)
compare("training, causal", lambda q, k, v, m: torch_npu.npu_fusion_attention(
    q, k, v, 4, "BNSD", atten_mask=m, scale=0.3, sparse_mode=3)[:3], *by_head, later)
compare("lengths and mask", lambda q, k, v, m: infer(
    q, k, v, atten_mask=m, softmax_lse_flag=True, input_layout="BSH", **few, **lengths),
    *joined, mask)
compare("lengths, causal", lambda q, k, v, m: infer(
    q, k, v, atten_mask=m, softmax_lse_flag=True, input_layout="BNSD", sparse_mode=3,
    **few, **lengths), *by_head, later)
compare("band", lambda q, k, v, m: infer(
    q, k, v, atten_mask=m, input_layout="BSND", sparse_mode=4, pre_tokens=3, next_tokens=1,
    **few)[0], *(x.transpose(1, 2).contiguous() for x in by_head), later)
compare("one step", lambda q, k, v: infer(
    q, k, v, input_layout="BNSD_BSND", actual_seq_lengths_kv=[9, 7], **few)[0],
    drawn(2, 4, 1, 16), *by_head[1:])
compare("pages", lambda q, k, v, t: infer(
    q, k, v, input_layout="BSH", block_table=t, block_size=16, actual_seq_lengths_kv=[20, 7],
    **few)[0], drawn(2, 1, 64), drawn(5, 16, 32), drawn(5, 16, 32),
    torch.tensor([[3, 1], [4, -1]], dtype=torch.int32).npu())
"""


@pytest.mark.parametrize(
    ("script", "count"),
    [
        pytest.param(NORMALIZATIONS, 6, id="normalizations"),
        pytest.param(GATES, 8, id="gates"),
        pytest.param(ATTENTION, 7, id="attention"),
    ],
)
def test_fused_operators_answer_what_eager_does(script: str, count: int) -> None:
    assert len(output(COMPILE + PRELUDE + script).splitlines()) >= count
