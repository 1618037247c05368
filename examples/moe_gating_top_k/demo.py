"""Routes eight tokens on the NPU, compares with the reference, and shows what is refused."""

import torch
import torch_npu  # noqa: F401 - makes the device "npu"
from operators import moe_gating_top_k

torch.manual_seed(0)
x, bias = torch.randn(8, 16), torch.randn(16)
y, expert_idx, _ = moe_gating_top_k(x.npu(), 4, bias=bias.npu(), group_count=4, k_group=2)
want = moe_gating_top_k.reference(
    x, 4, bias=bias, group_count=4, k_group=2, group_select_mode=0, routed_scaling_factor=1.0
)
torch.testing.assert_close(y.cpu(), want[0])
weights = [round(weight, 4) for weight in y[0].tolist()]
print("experts of the first token:", expert_idx[0].tolist(), "weights:", weights)

meta = torch.ops.moe_ops.moe_gating_top_k(torch.empty(10**6, 256, device="meta"), 8)
print("a million tokens, without memory:", [tuple(output.shape) for output in meta])

route = torch.compile(
    lambda tokens: moe_gating_top_k(tokens, 4)[0], backend="aot_eager", fullgraph=True
)
torch.testing.assert_close(route(x.npu()), moe_gating_top_k(x.npu(), 4)[0])
print("compiled: the same, in one graph")

try:
    moe_gating_top_k(x.npu(), 17)
except ValueError as error:
    print("refused:", error)
