"""Quantization in graphs: functions compiled for the twin answer what eager mode answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
import torch_npu
import torchair  # noqa: F401 - isolated tests are forked from a process that has it

from tests.graph_engine.agreement import assert_agree, compiled, run_to_the_end

if TYPE_CHECKING:
    from collections.abc import Callable

# Of x float16 rows, s float16 scales of their columns, q int8 rows; operands go by
# the names of parameters, so a lambda names them (PLW0108).
FUNCTIONS: dict[str, Callable[..., object]] = {
    "dynamic": lambda x: torch_npu.npu_dynamic_quant(x),  # noqa: PLW0108
    "dynamic_smoothed": lambda x, s: torch_npu.npu_dynamic_quant(x, smooth_scales=s),
    "dynamic_by_channel": lambda x: torch_npu.npu_dynamic_quant(x, quant_mode="perchannel"),
    "dynamic_by_tensor": lambda x: torch_npu.npu_dynamic_quant(x, quant_mode="pertensor"),
    "dynamic_in_4_bits": lambda x: torch_npu.npu_dynamic_quant(x, dst_type=torch.quint4x2),
    "asymmetric": lambda x: torch_npu.npu_dynamic_quant_asymmetric(x),  # noqa: PLW0108
    "asymmetric_in_4_bits": lambda x: torch_npu.npu_dynamic_quant_asymmetric(
        x, dst_type=torch.quint4x2
    ),
    "given_scales": lambda x, s: torch_npu.npu_quantize(
        x, s, s * 3, torch.qint8, axis=-1, div_mode=False
    ),
    "given_scales_in_4_bits": lambda x, s: torch_npu.npu_quantize(
        x, s, None, torch.quint4x2, axis=-1, div_mode=False
    ),
    "divided": lambda x, s: torch_npu.npu_quantize(
        x.float(), s.float(), s.float().to(torch.int32), torch.quint8, axis=1
    ),
    "back": lambda s, q: torch_npu.npu_anti_quant(q, s.float(), dst_dtype=torch.float16),
    "back_from_4_bits": lambda s, q: torch_npu.npu_anti_quant(
        q.view(torch.int32), s.float()[:1], dst_dtype=torch.float16, src_dtype=torch.quint4x2
    ),
    "by_group": lambda x, s: torch_npu.npu_group_quant(
        x,
        torch.stack([s, s * 2]),
        torch.tensor([1, x.shape[0]], device="npu").int(),
        dst_dtype=torch.qint8,
    ),
    "parameters": lambda s: torch_npu.npu_trans_quant_param(s.float(), s.float()),
    "gelu": lambda x: torch_npu.npu_gelu_quant(x),  # noqa: PLW0108
    "gelu_static": lambda x, s: torch_npu.npu_gelu_quant(
        x, input_scale=s, input_offset=s, quant_mode="static"
    )[0],
    "swiglu": lambda x, s: torch_npu.npu_dequant_swiglu_quant(
        x, quant_scale=s[:16].float(), quant_mode=1, activate_left=True
    ),
    "swiglu_of_product": lambda x, s, q: torch_npu.npu_dequant_swiglu_quant(
        q.int() * 50,
        weight_scale=s.float(),
        activation_scale=x[:, :1].float().abs(),
        quant_scale=s[:16].float(),
        quant_mode=1,
    ),
    "clipped_swiglu": lambda x: torch_npu.npu_clipped_swiglu(x, limit=1.5),
    "rotated_in_4_bits": lambda x, s: torch_npu.npu_rotate_quant(
        x, x[:1].t() * s, dst_dtype=torch.quint4x2
    ),
    "flat": lambda x, s: torch_npu.npu_kronecker_quant(
        x.view(-1, 4, 8), s[:16].view(4, 4), torch.cat([s, s]).view(8, 8)
    ),
    "updates": lambda x, s, q: torch_npu.npu_quant_scatter(
        q.view(1, -1, 32),
        torch.zeros(1, dtype=torch.int32, device="npu"),
        x[:2].view(1, 2, 32),
        s.bfloat16().view(1, 1, 32),
        axis=-2,
        quant_axis=-1,
    ),
    "without_rows": lambda x: torch_npu.npu_dynamic_quant(x[:0]),
    "microscaling": lambda x: torch_npu.npu_dynamic_mx_quant(x, dst_type=torch.float8_e5m2),
    "microscaling_in_4_bits": lambda x: torch_npu.npu_dynamic_mx_quant(x, axis=0),
    "microscaling_both": lambda x: torch_npu.npu_dynamic_mx_quant_with_dual_axis(
        x, dst_type=torch.float8_e4m3fn
    ),
    "microscaling_blocks": lambda x: torch_npu.npu_dynamic_block_mx_quant(x),  # noqa: PLW0108
    "microscaling_groups": lambda x: torch_npu.npu_grouped_dynamic_mx_quant(
        x, torch.tensor([1, x.shape[0]], device="npu").int(), dst_type=torch.float8_e5m2
    ),
    "microscaling_back": lambda x: torch_npu.npu_anti_mx_quant(
        *torch_npu.npu_dynamic_mx_quant(x, dst_type=torch.float8_e4m3fn)
    ),
    "microscaling_swiglu": lambda x: torch_npu.npu_swiglu_mx_quant(x),  # noqa: PLW0108
    "microscaling_norm": lambda x, s: torch_npu.npu_rms_norm_dynamic_mx_quant(x, s)[:2],
    "microscaling_sum": lambda x, s: torch_npu.npu_add_rms_norm_dynamic_mx_quant(x, x, s)[:3],
    "microscaling_levels": lambda x: torch_npu.npu_dynamic_dual_level_mx_quant(x),  # noqa: PLW0108
    "blocks": lambda x: torch_npu.npu_dynamic_block_quant(x, dst_type=torch.float8_e5m2),
    "largest": lambda x, s: torch_npu.npu_quant_max(x, s[:1].float()),
    "rotated": lambda x, s: torch_npu.npu_rotate_quant(x, x[:1].t() * s, dst_dtype=torch.int8),
}
# These are apart because some versions of TorchAir refuse them (tests/by_version.toml).
NORMS: dict[str, Callable[..., object]] = {
    "norm": lambda x, s: torch_npu.npu_add_rms_norm_dynamic_quant(x, x + 1, s)[::3],
    "norm_twice": lambda x, s: torch_npu.npu_add_rms_norm_dynamic_quant(
        x, x + 1, s, smooth_scale1=s, smooth_scale2=s * 2
    ),
}
FROM_4_BITS: dict[str, Callable[..., object]] = {
    "microscaling_back_from_4_bits": lambda x: torch_npu.npu_anti_mx_quant(
        *torch_npu.npu_dynamic_mx_quant(x), src_type=torch_npu.float4_e2m1fn_x2
    ),
}


@pytest.mark.twin
@pytest.mark.slow
@pytest.mark.isolated
@pytest.mark.parametrize(
    "functions",
    [
        pytest.param(FUNCTIONS, id="most"),
        pytest.param(NORMS, id="norms"),
        pytest.param(FROM_4_BITS, id="from_4_bits"),
    ],
)
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_compiled_quantization_answers_what_eager_answers(
    functions: dict[str, Callable[..., object]], *, dynamic: bool
) -> None:
    torch.manual_seed(7)
    runs = [
        {
            "x": torch.randn(rows, 32).half(),
            "s": torch.rand(32).half() + 0.5,
            "q": torch.randint(-128, 128, (rows, 32), dtype=torch.int8),
        }
        for rows in ((6, 3) if dynamic else (6,))  # a fixed size is compiled for itself alone
    ]
    assert_agree(functions, runs, dynamic=dynamic)


@pytest.mark.twin
@pytest.mark.compile
@pytest.mark.isolated
def test_what_the_function_refuses_is_reported_and_the_next_graph_runs() -> None:
    def refused(x: torch.Tensor) -> object:
        return torch_npu.npu_dynamic_quant(x, smooth_scales=x[0, :3].clone())

    torch.manual_seed(7)
    x = torch.randn(4, 8).half().to("npu")
    graph = compiled(refused)
    with pytest.raises(RuntimeError, match="aclnnDynamicQuant"):
        run_to_the_end(graph, x)
    found = compiled(torch_npu.npu_dynamic_quant)(x)
    assert all(map(torch.equal, found, torch_npu.npu_dynamic_quant(x)))
