"""Quantization in graphs: functions compiled for the twin answer what eager mode answers."""

from __future__ import annotations

import pytest

from tests.graph_engine.agreement import COMPILE, errors
from tests.twin.on_twin import output

FUNCTIONS = {
    "dynamic": "lambda x, s, q: torch_npu.npu_dynamic_quant(x)",
    "dynamic_smoothed": "lambda x, s, q: torch_npu.npu_dynamic_quant(x, smooth_scales=s)",
    "dynamic_by_channel": "lambda x, s, q: torch_npu.npu_dynamic_quant(x, quant_mode='perchannel')",
    "dynamic_by_tensor": "lambda x, s, q: torch_npu.npu_dynamic_quant(x, quant_mode='pertensor')",
    "dynamic_in_4_bits": "lambda x, s, q: torch_npu.npu_dynamic_quant(x, dst_type=torch.quint4x2)",
    "asymmetric": "lambda x, s, q: torch_npu.npu_dynamic_quant_asymmetric(x)",
    "asymmetric_in_4_bits": """lambda x, s, q: torch_npu.npu_dynamic_quant_asymmetric(
        x, dst_type=torch.quint4x2
    )""",
    "given_scales": """lambda x, s, q: torch_npu.npu_quantize(
        x, s, s * 3, torch.qint8, axis=-1, div_mode=False
    )""",
    "given_scales_in_4_bits": """lambda x, s, q: torch_npu.npu_quantize(
        x, s, None, torch.quint4x2, axis=-1, div_mode=False
    )""",
    "divided": """lambda x, s, q: torch_npu.npu_quantize(
        x.float(), s.float(), s.float().to(torch.int32), torch.quint8, axis=1
    )""",
    "back": "lambda x, s, q: torch_npu.npu_anti_quant(q, s.float(), dst_dtype=torch.float16)",
    "back_from_4_bits": """lambda x, s, q: torch_npu.npu_anti_quant(
        q.view(torch.int32), s.float()[:1], dst_dtype=torch.float16, src_dtype=torch.quint4x2
    )""",
    "by_group": """lambda x, s, q: torch_npu.npu_group_quant(
        x, torch.stack([s, s * 2]), torch.tensor([1, x.shape[0]], device="npu").int(),
        dst_dtype=torch.qint8
    )""",
    "parameters": "lambda x, s, q: torch_npu.npu_trans_quant_param(s.float(), s.float())",
    "gelu": "lambda x, s, q: torch_npu.npu_gelu_quant(x)",
    "gelu_static": """lambda x, s, q: torch_npu.npu_gelu_quant(
        x, input_scale=s, input_offset=s, quant_mode="static"
    )[0]""",
    "swiglu": """lambda x, s, q: torch_npu.npu_dequant_swiglu_quant(
        x, quant_scale=s[:16].float(), quant_mode=1, activate_left=True
    )""",
    "swiglu_of_product": """lambda x, s, q: torch_npu.npu_dequant_swiglu_quant(
        q.int() * 50, weight_scale=s.float(), activation_scale=x[:, :1].float().abs(),
        quant_scale=s[:16].float(), quant_mode=1
    )""",
    "clipped_swiglu": "lambda x, s, q: torch_npu.npu_clipped_swiglu(x, limit=1.5)",
    "norm": "lambda x, s, q: torch_npu.npu_add_rms_norm_dynamic_quant(x, x + 1, s)[::3]",
    "norm_twice": """lambda x, s, q: torch_npu.npu_add_rms_norm_dynamic_quant(
        x, x + 1, s, smooth_scale1=s, smooth_scale2=s * 2
    )""",
    "rotated_in_4_bits": """lambda x, s, q: torch_npu.npu_rotate_quant(
        x, x[:1].t() * s, dst_dtype=torch.quint4x2
    )""",
    "flat": """lambda x, s, q: torch_npu.npu_kronecker_quant(
        x.view(-1, 4, 8), s[:16].view(4, 4), torch.cat([s, s]).view(8, 8)
    )""",
    "updates": """lambda x, s, q: torch_npu.npu_quant_scatter(
        q.view(1, -1, 32), torch.zeros(1, dtype=torch.int32, device="npu"),
        x[:2].view(1, 2, 32), s.bfloat16().view(1, 1, 32) , axis=-2, quant_axis=-1
    )""",
    "without_rows": "lambda x, s, q: torch_npu.npu_dynamic_quant(x[:0])",
    "microscaling": "lambda x, s, q: torch_npu.npu_dynamic_mx_quant(x, dst_type=torch.float8_e5m2)",
    "microscaling_in_4_bits": "lambda x, s, q: torch_npu.npu_dynamic_mx_quant(x, axis=0)",
    "microscaling_both": """lambda x, s, q: torch_npu.npu_dynamic_mx_quant_with_dual_axis(
        x, dst_type=torch.float8_e4m3fn
    )""",
    "microscaling_blocks": "lambda x, s, q: torch_npu.npu_dynamic_block_mx_quant(x)",
    "microscaling_groups": """lambda x, s, q: torch_npu.npu_grouped_dynamic_mx_quant(
        x, torch.tensor([1, x.shape[0]], device="npu").int(), dst_type=torch.float8_e5m2
    )""",
    "microscaling_back": """lambda x, s, q: torch_npu.npu_anti_mx_quant(
        *torch_npu.npu_dynamic_mx_quant(x, dst_type=torch.float8_e4m3fn)
    )""",
    "microscaling_back_from_4_bits": """lambda x, s, q: torch_npu.npu_anti_mx_quant(
        *torch_npu.npu_dynamic_mx_quant(x), src_type=torch_npu.float4_e2m1fn_x2
    )""",
    "microscaling_swiglu": "lambda x, s, q: torch_npu.npu_swiglu_mx_quant(x)",
    "microscaling_norm": "lambda x, s, q: torch_npu.npu_rms_norm_dynamic_mx_quant(x, s)[:2]",
    "microscaling_sum": "lambda x, s, q: torch_npu.npu_add_rms_norm_dynamic_mx_quant(x, x, s)[:3]",
    "microscaling_levels": "lambda x, s, q: torch_npu.npu_dynamic_dual_level_mx_quant(x)",
    "blocks": "lambda x, s, q: torch_npu.npu_dynamic_block_quant(x, dst_type=torch.float8_e5m2)",
    "largest": "lambda x, s, q: torch_npu.npu_quant_max(x, s[:1].float())",
    "rotated": "lambda x, s, q: torch_npu.npu_rotate_quant(x, x[:1].t() * s, dst_dtype=torch.int8)",
}
RUNS = """[
    [torch.randn(rows, 32).half(), torch.rand(32).half() + 0.5,
     torch.randint(-128, 128, (rows, 32), dtype=torch.int8)]
    for rows in (6, 3)
]"""


@pytest.fixture(scope="module", params=[False, True], ids=["static", "dynamic"])
def found(request: pytest.FixtureRequest) -> dict[str, str]:
    runs = RUNS if request.param else f"{RUNS}[:1]"  # a fixed size is compiled for itself alone
    return errors(FUNCTIONS, arguments=runs, dynamic=request.param)


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_quantization_answers_what_eager_answers(found: dict[str, str], name: str) -> None:
    assert found[name] == ""


REFUSED = """
x = torch.randn(4, 8).half().npu()
try:
    compiled(lambda x: torch_npu.npu_dynamic_quant(x, smooth_scales=x[0, :3].clone()))(x)
    torch.npu.synchronize()
except RuntimeError as error:
    print("aclnnDynamicQuant" in str(error), flush=True)
found = compiled(torch_npu.npu_dynamic_quant)(x)
print(all(map(torch.equal, found, torch_npu.npu_dynamic_quant(x))))
"""


@pytest.mark.twin
@pytest.mark.compile
def test_what_the_function_refuses_is_reported_and_the_next_graph_runs() -> None:
    assert output(COMPILE + REFUSED).split() == ["True", "True"]
